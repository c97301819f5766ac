package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"gascity/internal/tmux/control"
	"gascity/internal/tmux/server"
	"gascity/runtime"
)

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal implements runtime.Attacher by a tmux client of the city's
// server, also inside another tmux. The keys are the server's own: C-b d and C-\ leave,
// and other ones cannot be asked for.
func (p *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	const op = "attach to"
	p.panes.releaseListener()
	r, s, err := p.queryState(ctx, name)
	if err == nil && (s == nil || s.Dead) {
		err = runtime.ErrSessionNotFound
	}
	if err != nil {
		return fold(op, name, err)
	}
	if len(opts.DetachKeys) > 0 && !slices.Equal(opts.DetachKeys, []string{"C-b d", `C-\`}) {
		return &runtime.Error{Op: op, Session: name, Err: fmt.Errorf("other detach keys than tmux's own: %w", errors.ErrUnsupported)}
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return &runtime.Error{Op: op, Session: name, Err: errors.New("standard input and output are not a terminal")}
	}
	if err := p.client(ctx, r, opts); err != nil {
		if _, now, look := p.queryState(ctx, name); look == nil && now == nil {
			err = errEnded // tmux says how, and its exit status nothing
		}
		return fold(op, name, err)
	}
	p.printReason(r)
	return nil
}

// errEnded reports that a person's client ended because of what it was connected to.
var errEnded = errors.New("the session has ended, or its tmux server; gc status shows more")

// queryState looks at a session by a process of tmux: who is attached asks twice and hears nothing,
// and has no use for a control client. The state is nil if there is no such session.
func (p *Provider) queryState(ctx context.Context, name string) (*record, *server.State, error) {
	if runtime.ValidateName(name) != nil {
		return nil, nil, nil //nolint:nilerr // such a session cannot exist
	}
	r, err := readRecord(p.dir(name))
	if err != nil || r == nil || r.Pane == "" {
		return nil, nil, err
	}
	s, err := p.server.QueryState(ctx, r.target(), r.hash(), r.Pane)
	if errors.Is(err, server.ErrNotOurs) {
		return r, nil, nil
	}
	return r, &s, err
}

// client runs the person's client. It has the person's environment: only terminals matter
// in it, and the server takes none of it over.
func (p *Provider) client(ctx context.Context, r *record, opts runtime.AttachOptions) error {
	binary, err := control.FindProgram(p.cfg.Binary, server.Value(p.cfg.Environ, "PATH"))
	if err != nil {
		return err
	}
	args := []string{"-u", "-S", p.server.Socket(), "attach-session", "-E", "-t", r.Session}
	if opts.ReadOnly {
		args = append(args, "-r")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = slices.DeleteFunc(slices.Clone(p.cfg.Environ), func(entry string) bool {
		return strings.HasPrefix(entry, "TMUX=") || strings.HasPrefix(entry, "TMUX_PANE=")
	})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGHUP) } // it restores the terminal
	cmd.WaitDelay = 2 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// printReason says why the attach ended, where tmux does not.
func (p *Provider) printReason(r *record) {
	ctx, cancel := bounded()
	defer cancel()
	now, s, err := p.queryState(ctx, r.Name)
	switch {
	case err != nil:
	case now == nil || now.token != r.token || s == nil:
		fmt.Fprintf(os.Stderr, "[%s was stopped]\n", r.Name)
	case s.Dead:
		fmt.Fprintf(os.Stderr, "[%s %s]\n", r.Name, s.Exit)
	}
}
