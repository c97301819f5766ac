package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/desk"
	"gascity/internal/text"
)

// maxPrompt is the size of the longest prompt in bytes.
const maxPrompt = 1 << 20

func nudgeCommand(a *app) *cobra.Command {
	var req client.NudgeRequest
	cmd := &cobra.Command{
		Use:   "nudge AGENT TEXT|-",
		Short: "Give an agent a prompt",
		Long: `Delivers the text, byte for byte, and says what became of it. With "-" it is read from standard
input, one line end at its end left out. Exit status: 0 the agent took it, 5 nothing shows that it did
(do not send it again blindly), 4 refused before the first byte, 3 no such session, or it does not run.`,
		Example: "  gc nudge worker 'fix the failing test'\n  gc nudge worker - < task.md",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return desk.Usage(cmd, "the prompt has to be one argument: put it in quotes")
			}
			return desk.Between(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := a.prompt(cmd, args[1])
			if err != nil {
				return err
			}
			req.Text = prompt
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				result, err := c.Nudge(cmd.Context(), args[0], req)
				if errors.Is(err, client.ErrLost) {
					result, err = client.Receipt{State: "unconfirmed", Reason: "the controller went away meanwhile"}, nil
				}
				if err != nil {
					return err
				}
				return a.tellNudge(args[0], result)
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
	cmd.Flags().StringVar(&req.Instance, "instance", "", "only for this `incarnation`, as gc session show tells it")
	return a.Listing(cmd)
}

// prompt returns the text of an argument, or standard input for "-".
func (a *app) prompt(cmd *cobra.Command, arg string) (string, error) {
	prompt := arg
	if arg == "-" {
		input, err := io.ReadAll(io.LimitReader(a.Stdin, maxPrompt+2))
		if err != nil {
			return "", fmt.Errorf("cannot read the prompt: %w", err)
		}
		prompt = strings.TrimSuffix(string(input), "\n")
	}
	switch {
	case prompt == "":
		return "", desk.Usage(cmd, "the prompt is empty")
	case len(prompt) > maxPrompt:
		return "", desk.Usage(cmd, "the prompt has more than %d bytes; put it into a file and name that", maxPrompt)
	}
	return prompt, nil
}

// tellNudge says what became of a prompt; only a submitted one is a success.
func (a *app) tellNudge(name string, r client.Receipt) error {
	if a.JSON {
		if err := a.Document(r); err != nil {
			return err
		}
	}
	status, sentence := nudgeEnd(name, r)
	if !a.JSON || status != desk.Done {
		a.Talk("%s", text.OneLine(sentence))
	}
	if status != desk.Done {
		return desk.Said(status)
	}
	return nil
}

func nudgeEnd(name string, r client.Receipt) (status int, sentence string) {
	detail := r.Reason
	if detail != "" {
		detail = ": " + detail
	}
	switch r.State {
	case "submitted":
		return desk.Done, fmt.Sprintf("%s took the prompt (%s)", name, text.FirstOf(r.Evidence, "confirmed"))
	case "unconfirmed":
		return desk.TimedOut, fmt.Sprintf("gc: %s may have got the prompt, but nothing shows that it took it%s; look with: gc peek %s", name, detail, name)
	case "refused":
		if r.Reason == "content" { // no other time makes this text another one
			return desk.Refused, fmt.Sprintf("gc: %s was not prompted, nothing was sent%s", name, detail)
		}
		return desk.Refused, fmt.Sprintf("gc: %s was not prompted, nothing was sent%s; try again later", name, detail)
	case "absent":
		return desk.NotFound, fmt.Sprintf("gc: %s is not there to be prompted%s", name, detail)
	case "unsupported":
		return desk.Failed, fmt.Sprintf("gc: %s takes no prompts%s", name, detail)
	}
	return desk.Failed, fmt.Sprintf("gc: the prompt for %s is %s%s", name, r.State, detail)
}

func interruptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "interrupt AGENT",
		Short: "Ask an agent to abandon its turn",
		Args:  desk.Between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				done, err := c.Interrupt(cmd.Context(), args[0])
				return a.tellDone(done, err, "interrupted "+args[0])
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
}

func keysCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "keys AGENT KEY...",
		Short:   "Press keys in an agent's terminal",
		Long:    `Sends key events by their tmux names (Enter, Escape, Up, C-c, F1; a single character is itself).`,
		Example: "  gc keys worker Down Enter",
		Args:    desk.Between(2, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				done, err := c.Keys(cmd.Context(), args[0], client.KeysRequest{Keys: args[1:]})
				if errors.Is(err, client.ErrInvalid) {
					err = fmt.Errorf("%w; text is sent with: gc nudge", err)
				}
				return a.tellDone(done, err, fmt.Sprintf("pressed %s in %s", text.Count(len(args)-1, "key"), args[0]))
			})
		},
		ValidArgsFunction: a.CompleteAgent,
	}
}

func copyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "copy AGENT SOURCE [DESTINATION]",
		Short:   "Copy a file or folder into an agent's work folder",
		Long:    `DESTINATION is relative to the work folder and cannot leave it; without it the folder itself.`,
		Example: "  gc copy worker notes.md docs/notes.md",
		Args:    desk.Between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := client.CopyRequest{Src: a.Path(args[1])}
			if len(args) > 2 {
				req.RelDst = args[2]
			}
			if err := exists(req.Src, args[1]); err != nil {
				return err
			}
			return a.OnTarget(cmd.Context(), args[0], func(c *client.Client) error {
				done, err := c.Copy(cmd.Context(), args[0], req)
				return a.tellDone(done, err, fmt.Sprintf("copied %s to %s", args[1], args[0]))
			})
		},
		ValidArgsFunction: a.CompleteAgentThenFiles,
	}
}

// tellDone says what a verb did. A verb that did nothing was refused.
func (a *app) tellDone(done client.Done, err error, success string) error {
	if err != nil {
		return err
	}
	if !done.Changed {
		return fmt.Errorf("%w: nothing was done: %s", client.ErrRefused, text.FirstOf(done.Detail, "no reason was given"))
	}
	a.Talk("%s", success)
	return nil
}
