package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/fsutil/archive"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// copyIn is what gc copy --json prints of what went to an agent.
type copyIn struct {
	Agent       string `json:"agent"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

// copyOut is what it prints of what came from one.
type copyOut struct {
	archive.Report

	Agent  string `json:"agent"`
	Source string `json:"source"`
}

func copyCommand(a *app) *cobra.Command {
	var instance string
	cmd := &cobra.Command{
		Use:   "copy {AGENT SOURCE [DESTINATION] | SOURCE AGENT:PATH | AGENT:PATH DESTINATION}",
		Short: "Copy files to or from an agent's working directory",
		Long: `Paths on the agent's side are relative to its working directory and cannot leave it; without a path it
is the directory itself. When copying from an agent, DESTINATION may be a directory, else it is the name
of the copy; existing files are replaced. Links that lead out of what is copied are left out. A copy
from an agent does not pass through the controller: it streams from wherever the agent runs.`,
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

func (a *app) copyOut(ctx context.Context, c *client.Client, what copyOut, destination, instance string) error {
	s, err := c.Session(ctx, what.Agent)
	switch {
	case err != nil:
		return err
	case instance != "" && instance != s.Instance:
		return fmt.Errorf("%w: %s is another instance by now: %s", client.ErrRefused, s.Name, textfmt.FirstOf(s.Instance, "none"))
	}
	daemon, err := a.daemon()
	if err != nil {
		return err
	}
	provider, err := daemon.Provider(ctx, c.Root, s.Provider)
	if err != nil {
		return err
	}
	if what.Source == "" {
		what.Source = "."
	}
	what.Report, err = a.receive(what.Agent+":"+what.Source, a.Path(destination), func(w io.Writer) error {
		return runtime.CopyFrom(ctx, provider, s.Session, what.Source, w)
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w: the provider %s cannot copy out of its sessions; use its own tool", client.ErrUnsupported, s.Provider)
	case errors.Is(err, runtime.ErrSessionNotFound):
		return fmt.Errorf("%w: the session %s of %s is not there, it is %s", client.ErrNotFound, s.Session, what.Agent, s.State)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", client.ErrNotFound, err)
	case err != nil:
		return err
	}
	for _, link := range what.Left {
		a.Messagef("left out: the link %s leads out of what is copied", link)
	}
	a.Messagef("copied %s to %s: %s, %s", what.Agent+":"+what.Source, what.Path, textfmt.Count(what.Files, "file"), render.Size(what.Bytes))
	if a.JSON {
		return a.PrintJSON(what)
	}
	return nil
}

// receive unpacks what send writes, and prints how much has come if that takes long
// and a person watches.
func (a *app) receive(name, destination string, send func(io.Writer) error) (archive.Report, error) {
	out, in := io.Pipe()
	sent := make(chan struct{})
	var failed error // of the sender; read once sent is closed
	go func() {
		defer close(sent)
		failed = send(in)
		in.CloseWithError(failed)
	}()
	counted := &counter{from: out}
	ended := make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		if a.IsTerminal(a.Stderr) {
			a.count(name, counted, ended)
		}
	}()
	report, err := archive.Unpack(counted, destination)
	out.CloseWithError(errors.Join(err, os.ErrClosed)) // ends the sender, if it has not ended
	<-sent
	close(ended)
	<-told
	if failed != nil && errors.Is(err, failed) {
		err = failed // the archive ended early because of it, which says nothing more
	}
	return report, err
}

const countEach = time.Second

func (a *app) count(name string, c *counter, ended <-chan struct{}) {
	ticker := time.NewTicker(countEach)
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

// counter counts what is read.
type counter struct {
	from io.Reader
	n    atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n.Add(int64(n))
	return n, err
}
