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

	"gascity/internal/tmuxctl"
	"gascity/internal/tmuxhost"
	"gascity/runtime"
)

// Attach keeps the contract of runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal keeps the contract of runtime.Attacher by a tmux client of the city's
// server, also inside another tmux. The keys are the server's own: C-b d and C-\ leave,
// and other ones cannot be asked for.
func (p *Provider) AttachTerminal(ctx context.Context, name string, opts runtime.AttachOptions) error {
	const op = "attach to"
	s, err := p.live(ctx, op, name)
	if err != nil {
		return err
	}
	if len(opts.DetachKeys) > 0 && !slices.Equal(opts.DetachKeys, []string{"C-b d", `C-\`}) {
		return &runtime.Error{Op: op, Session: name, Err: fmt.Errorf("other detach keys than tmux's own: %w", errors.ErrUnsupported)}
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return &runtime.Error{Op: op, Session: name, Err: errors.New("standard input and output are no terminal")}
	}
	if err := p.client(ctx, s.record, opts); err != nil {
		return fold(op, name, err)
	}
	p.farewell(s.record)
	return nil
}

// client runs the person's client. It has the person's environment: only terminals matter
// in it, and the server takes none of it over.
func (p *Provider) client(ctx context.Context, r *record, opts runtime.AttachOptions) error {
	binary, err := tmuxctl.LookUp(p.cfg.Binary, tmuxhost.Value(p.cfg.Environ, "PATH"))
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

// farewell says why the attach ended, where tmux does not.
func (p *Provider) farewell(r *record) {
	ctx, cancel := bounded()
	defer cancel()
	s, err := p.see(ctx, r.Name)
	switch {
	case err != nil:
	case s.record == nil || s.record.token != r.token || s.state == nil:
		fmt.Fprintf(os.Stderr, "[%s was stopped]\n", r.Name)
	case s.state.Dead:
		fmt.Fprintf(os.Stderr, "[%s %s]\n", r.Name, s.state.Exit)
	}
}
