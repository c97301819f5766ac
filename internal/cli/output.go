package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
)

func peekCommand(a *app) *cobra.Command {
	var lines int
	cmd := &cobra.Command{
		Use:   "peek AGENT",
		Short: "What an agent shows",
		Long:  `Prints the visible screen of an agent, or the last lines that it printed. It works after its end too.`,
		Args:  between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onTarget(cmd.Context(), args[0], func(c *client.Client) error {
				out, err := c.Peek(cmd.Context(), args[0], lines)
				if err != nil {
					return err
				}
				if a.json {
					return a.document(out)
				}
				a.printText(out.Text)
				return nil
			})
		},
		ValidArgsFunction: a.completeAgents,
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 0, "how many lines, from the scrollback too (default: the visible screen)")
	return a.listing(cmd)
}

// printText prints an agent's text; a terminal is protected from it.
func (a *app) printText(text string) {
	if a.IsTerminal(a.Stdout) {
		text = block(text)
	}
	fmt.Fprint(a.Stdout, text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		fmt.Fprintln(a.Stdout)
	}
}

func logsCommand(a *app) *cobra.Command {
	var follow, raw bool
	var since string
	cmd := &cobra.Command{
		Use:   "logs AGENT",
		Short: "Everything that an agent printed",
		Long: `Prints the recorded output of an agent, of former incarnations too as far as it is kept. Control
sequences are left out, which suits programs that print line by line; of a full-screen program use
gc peek, or --raw to get each byte.`,
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := moment(a.Now(), since)
			if err != nil {
				return err
			}
			return a.onTarget(cmd.Context(), args[0], func(c *client.Client) error {
				return a.logs(cmd.Context(), c, args[0], client.LogQuery{Since: from, Follow: follow}, raw)
			})
		},
		ValidArgsFunction: a.completeAgents,
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is printed from now on")
	cmd.Flags().StringVar(&since, "since", "", "only what is younger: a duration such as 5m, or a time")
	cmd.Flags().BoolVar(&raw, "raw", false, "with control sequences")
	return cmd
}

func (a *app) logs(ctx context.Context, c *client.Client, name string, q client.LogQuery, raw bool) error {
	body, err := c.Logs(ctx, name, q)
	if err != nil {
		return err
	}
	defer body.Close()
	out := a.Stdout
	if !raw {
		out = &stripper{out: a.Stdout}
	}
	_, err = io.Copy(out, body)
	switch {
	case ctx.Err() != nil && q.Follow:
		return nil // to interrupt it is how following ends
	case errors.Is(err, os.ErrClosed):
		return nil
	case err != nil:
		return fmt.Errorf("the log of %s broke off: %w", name, err)
	}
	return nil
}

// stripper leaves control sequences out of a stream: ECMA-48 escape, control
// and string sequences, and control characters but line end and tab.
type stripper struct {
	out   io.Writer
	state stripState
}

type stripState int

const (
	inText      stripState = iota
	afterEscape            // ESC was read
	inEscape               // intermediate bytes of an escape sequence
	inControl              // CSI: until a byte of 0x40 to 0x7e
	inString               // OSC, DCS, APC, PM, SOS: until BEL or ST
	inStringEnd            // ESC inside a string: ST if a backslash follows
)

const (
	escape = 0x1b
	bell   = 0x07
)

func (s *stripper) Write(p []byte) (int, error) {
	kept := make([]byte, 0, len(p))
	for _, b := range p {
		if s.state == inText && keep(b) {
			kept = append(kept, b)
		}
		s.state = s.next(b)
	}
	if _, err := s.out.Write(kept); err != nil {
		return 0, err
	}
	return len(p), nil
}

func keep(b byte) bool { return b == '\n' || b == '\t' || b >= ' ' && b != 0x7f }

func (s *stripper) next(b byte) stripState {
	switch s.state {
	case inText:
		if b == escape {
			return afterEscape
		}
		return inText
	case afterEscape, inEscape:
		return s.inEscape(b)
	case inControl:
		if b >= 0x40 && b <= 0x7e {
			return inText
		}
	case inString:
		switch b {
		case bell:
			return inText
		case escape:
			return inStringEnd
		}
	case inStringEnd:
		if b == '\\' {
			return inText
		}
		return inString
	}
	return s.state
}

func (s *stripper) inEscape(b byte) stripState {
	switch {
	case b == escape:
		return afterEscape
	case b >= 0x20 && b <= 0x2f:
		return inEscape
	case s.state == inEscape:
		return inText
	case b == '[':
		return inControl
	case strings.IndexByte("]P_^X", b) >= 0:
		return inString
	}
	return inText
}
