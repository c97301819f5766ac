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

	"gascity/internal/driver"
	"gascity/internal/proc"
	"gascity/runtime"
)

// Attach implements runtime.Input.
func (p *Provider) Attach(name string) error {
	return p.AttachTerminal(context.Background(), name, runtime.AttachOptions{}) //nolint:forbidigo // the contract's method has no ctx
}

// AttachTerminal implements runtime.Attacher. It runs a tmux client of the city's server, also inside
// another tmux. The detach keys are those of the server, C-b d and C-\. AttachTerminal refuses options that
// name other keys.
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
		return &runtime.Error{Op: op, Session: name, Err: fmt.Errorf("detach keys of a tmux session cannot be changed; use C-b d or C-\\: %w", errors.ErrUnsupported)}
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return &runtime.Error{Op: op, Session: name, Err: errors.New("standard input and output are not a terminal")}
	}
	if err := p.client(ctx, r, opts); err != nil {
		if _, now, look := p.queryState(ctx, name); look == nil && now == nil {
			err = errEnded // tmux prints the reason; its exit status does not contain one
		}
		return fold(op, name, err)
	}
	p.printReason(r)
	return nil
}

// errEnded reports that a person's client ended because of what it was connected to.
var errEnded = errors.New("the session has ended, or its tmux server; gc status shows more")

// queryState reads the record and the state of a session. It runs a tmux process for the query and opens no
// control client, because an attach makes only two queries and needs no notifications. The state is nil if
// there is no such session.
func (p *Provider) queryState(ctx context.Context, name string) (*record, *paneState, error) {
	if runtime.ValidateName(name) != nil {
		return nil, nil, nil //nolint:nilerr // such a session cannot exist
	}
	r, err := readRecord(p.dir(name))
	if err != nil || r == nil || r.Pane == "" {
		return nil, nil, err
	}
	s, err := p.server.QueryState(ctx, r.target(), r.hash(), r.Pane)
	if errors.Is(err, errNotOurs) {
		return r, nil, nil
	}
	return r, &s, err
}

// client runs a tmux client on the standard streams until it exits or ctx ends. The client gets the person's
// environment, which describes the terminal. The server copies nothing from it (attach-session -E).
func (p *Provider) client(ctx context.Context, r *record, opts runtime.AttachOptions) error {
	binary, err := findProgram(p.cfg.Binary, proc.Getenv(p.cfg.Environ, "PATH"))
	if err != nil {
		return err
	}
	args := []string{"-u", "-S", p.server.socket, "attach-session", "-E", "-t", r.Session}
	if opts.ReadOnly {
		args = append(args, "-r")
	}
	client := exec.CommandContext(ctx, binary, args...)
	client.Env = slices.DeleteFunc(slices.Clone(p.cfg.Environ), func(entry string) bool {
		return strings.HasPrefix(entry, "TMUX=") || strings.HasPrefix(entry, "TMUX_PANE=")
	})
	client.Stdin, client.Stdout, client.Stderr = os.Stdin, os.Stdout, os.Stderr
	client.Cancel = func() error { return client.Process.Signal(syscall.SIGHUP) } // it restores the terminal
	client.WaitDelay = 2 * time.Second
	err = client.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// printReason prints to standard error why the attach ended, in the cases in which tmux does not print it.
func (p *Provider) printReason(r *record) {
	ctx, cancel := driver.CallContext()
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
