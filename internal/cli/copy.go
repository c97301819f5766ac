package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/fsutil"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// copyIn is the output of gc copy --json for a copy to an agent.
type copyIn struct {
	Agent       string `json:"agent"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// copyOut is the output of gc copy --json for a copy from an agent.
type copyOut struct {
	fsutil.UnpackReport

	Agent  string `json:"agent"`
	Source string `json:"source"`
}

func copyCommand(a *app) *cobra.Command {
	var instance string
	cmd := &cobra.Command{
		Use:   "copy {AGENT SOURCE [DESTINATION] | SOURCE AGENT:PATH | AGENT:PATH DESTINATION}",
		Short: "Copy files to or from an agent's working directory",
		Long: `Paths on the agent's side are relative to its working directory and must be inside it; without a path
the whole directory is copied. When you copy from an agent, DESTINATION is an existing directory or the
name of the copy; existing files are replaced. Symbolic links that point outside of the copied files are
left out. A copy from an agent comes directly from the agent's host, not through the controller.
If the source does not exist, the exit status is 3.`,
		Example: "  gc copy worker notes.md docs/notes.md\n  gc copy worker:report.md .",
		Args:    cmdenv.Between(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent, inside, far := strings.Cut(args[0], ":")
			if far && len(args) == 2 {
				return a.OnTarget(cmd.Context(), agent, func(c *client.Client) error {
					return a.copyOut(cmd.Context(), c, copyOut{Agent: agent, Source: inside}, args[1], instance)
				})
			}
			req := copyIn{args[0], args[1], cmdenv.First(args[2:])}
			if agent, inside, far := strings.Cut(args[1], ":"); far && len(args) == 2 && errors.Is(cmdenv.Exists(a.Path(args[1]), ""), client.ErrNotFound) {
				req = copyIn{agent, args[0], inside}
			}
			return a.copyIn(cmd.Context(), req, instance)
		},
		ValidArgsFunction: a.CompleteAgentThenFiles,
	}
	cmdenv.InstanceFlag(cmd, &instance)
	return a.AddJSONFlag(cmd)
}

// copyIn copies a local file or directory to an agent.
func (a *app) copyIn(ctx context.Context, req copyIn, instance string) error {
	src := a.Path(req.Source)
	if err := cmdenv.Exists(src, req.Source); err != nil {
		return err
	}
	return a.OnTarget(ctx, req.Agent, func(c *client.Client) error {
		done, err := c.Copy(ctx, req.Agent, client.CopyRequest{Src: src, RelDst: req.Destination, Instance: instance})
		if err == nil && a.JSON && done.Changed {
			return a.PrintJSON(req)
		}
		return a.PrintDone(done, err, fmt.Sprintf("copied %s to %s", req.Source, req.Agent))
	})
}

// copyOut copies a file or directory out of an agent's working directory to destination. It connects to the agent's
// runtime provider directly, not through the controller. A non-empty instance must be the one that runs.
func (a *app) copyOut(ctx context.Context, c *client.Client, what copyOut, destination, instance string) error {
	s, err := c.Session(ctx, what.Agent)
	switch {
	case err != nil:
		return err
	case instance != "" && instance != s.Instance:
		return fmt.Errorf("%w: %s runs as another instance than the one of --instance: %s", client.ErrRefused, s.Name, cmp.Or(s.Instance, "none"))
	}
	provider, err := a.daemon.Provider(ctx, c.Root, s.Provider)
	if err != nil {
		return err
	}
	what.Source = cmp.Or(what.Source, ".")
	what.UnpackReport, err = a.receive(what.Agent+":"+what.Source, a.Path(destination), func(w io.Writer) error {
		return runtime.CopyFrom(ctx, provider, s.Session, what.Source, w)
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the runtime provider %s cannot copy files from its sessions; use its own tool", client.ErrUnsupported, s.Provider)
	case errors.Is(err, runtime.ErrSessionNotFound):
		return fmt.Errorf("%w: the session %s of %s is not running: it is %s", client.ErrNotFound, s.Session, what.Agent, s.State)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", client.ErrNotFound, err)
	case err != nil:
		return err
	}
	for _, link := range what.Left {
		a.Messagef("not copied: the link %s points outside of the copied files", link)
	}
	a.Messagef("copied %s to %s: %s, %s", what.Agent+":"+what.Source, what.Path, textfmt.Count(what.Files, "file"), render.Size(what.Bytes))
	return a.PrintIfJSON(what)
}

// receive unpacks the archive that send writes into destination. On a terminal it prints the
// number of received bytes every second.
func (a *app) receive(name, destination string, send func(io.Writer) error) (fsutil.UnpackReport, error) {
	out, in := io.Pipe()
	var work sync.WaitGroup
	var failed error // the error of send; read only after the work is done
	work.Go(func() {
		failed = send(in)
		in.CloseWithError(failed)
	})
	counted := &counter{from: out}
	ended := make(chan struct{})
	if a.IsTerminal(a.Stderr) {
		work.Go(func() { a.printProgress(name, counted, ended) })
	}
	report, err := fsutil.UnpackArchive(counted, destination)
	out.CloseWithError(errors.Join(err, os.ErrClosed)) // makes send return if it has not yet
	close(ended)
	work.Wait()
	if failed != nil && errors.Is(err, failed) {
		err = failed // the reading side only reports the same error again
	}
	return report, err
}

// progressInterval is the time between two updates of the progress line.
const progressInterval = time.Second

// printProgress prints the number of received bytes until ended is closed.
func (a *app) printProgress(name string, c *counter, ended <-chan struct{}) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for shown := false; ; shown = true {
		select {
		case <-ticker.C:
			a.Progress(name + ": " + render.Size(c.n.Load()))
		case <-ended:
			if shown {
				a.Progress("")
			}
			return
		}
	}
}

// counter is a reader that counts the bytes read through it.
type counter struct {
	from io.Reader
	n    atomic.Int64 // bytes read so far
}

// Read implements [io.Reader].
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	return n, err
}
