package channel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/internal/agentcli"
	"gascity/internal/proc"
)

// Command is the hidden command of gc that runs this program:
//
//	gc agent-channel FAMILY PROGRAM ARGUMENT...
const Command = "agent-channel"

// The environment variables of an agent with a channel.
const (
	// VariableServed is set for the server. This program reports the agent's start, so its hooks do
	// not.
	VariableServed = "GC_CHANNEL_SERVED"

	variableFolder = "GC_HOOK_DIR" // the session's own directory
)

const (
	// serverGrace is how long the server may take to exit after the end of its input, clientGrace
	// how long the terminal client may take to exit after SIGTERM.
	serverGrace = 3 * time.Second
	clientGrace = 3 * time.Second
	// flushTimeout is how long the program waits at its exit for unsent reports.
	flushTimeout = 2 * time.Second

	exitFailed = 1
	exitUsage  = 2
)

// Options are the arguments, files and environment of [Run].
type Options struct {
	Args           []string // FAMILY PROGRAM ARGUMENT...
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Version        string // of gc
}

// Called reports whether args, the arguments of gc, start this program, and returns the arguments
// after the command.
func Called(args []string) ([]string, bool) {
	if len(args) >= 3 && args[0] == Command {
		return args[1:], true
	}
	return nil, false
}

// Run runs the agent CLI as a server and a client and returns the exit status of the client. If gc
// cannot set that up, Run starts the agent CLI as one process, without a channel; its prompts are
// then typed.
func Run(ctx context.Context, opts Options) int {
	if len(opts.Args) < 2 {
		fmt.Fprintln(opts.Stderr, "gc: only gc starts this program; do not call it")
		return exitUsage
	}
	family, program, args := opts.Args[0], opts.Args[1], opts.Args[2:]
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	defer signal.Stop(signals)
	h := &host{opts: opts, family: family, program: program, signals: signals}
	status, err := h.serve(ctx, args)
	stopped, ok := errors.AsType[*stoppedError](err)
	if err != nil && !ok {
		h.print("the agent runs without its native channel, and prompts are typed: " + err.Error())
		status, err = h.runClient(nil, args)
		stopped, ok = errors.AsType[*stoppedError](err)
	}
	switch {
	case ok:
		return 128 + int(stopped.signal)
	case err != nil:
		h.print(err.Error())
		return exitFailed
	}
	return status
}

// host is one run of this program.
type host struct {
	opts            Options
	family, program string
	signals         <-chan os.Signal
}

// stoppedError means that a signal stopped this program.
type stoppedError struct{ signal syscall.Signal }

// Error returns the name of the signal.
func (e *stoppedError) Error() string { return "stopped by " + e.signal.String() }

// errUnused means that the client exited before it showed a conversation.
var errUnused = errors.New("the terminal client could not use the server")

// print writes a message to the terminal. It erases what the client has drawn below its cursor, so the
// message is the last output, which the city reports when the agent exits. The client may have left the
// terminal in raw mode, in which a line feed does not return to the first column.
func (h *host) print(text string) {
	fmt.Fprint(h.opts.Stderr, "\r\n\x1b[Jgc: "+strings.ReplaceAll(text, "\n", "\r\n")+"\r\n")
}

// getenv returns the value of an environment variable; empty if it is not set.
func (h *host) getenv(name string) string { return proc.Getenv(h.opts.Environ, name) }

// serve runs the server and the client until the client exits, and returns the client's exit
// status. An error means that the server or the client could not be used, or that a signal stopped
// this program.
func (h *host) serve(ctx context.Context, args []string) (status int, err error) {
	channel, ok := agentcli.ChannelOf(h.family)
	if !ok {
		return 0, errors.New("the agent CLI has no channel")
	}
	at, err := listen(ctx, h.getenv(variableFolder))
	if err != nil {
		return 0, err
	}
	defer at.close()
	serverArgs, clientArgs, ok := channel.Split(args, at.path)
	if !ok {
		return 0, errors.New("the command line of the agent has an option or a subcommand that gc does not know")
	}
	r := newReporter(h.getenv, h.family, h.opts.Version)
	s, err := startServer(h.program, serverArgs, append(slices.Clone(h.opts.Environ), VariableServed+"=1"), r.reportChange)
	if err != nil {
		return 0, err
	}
	defer s.stop(serverGrace)
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer at.close()
	defer cancel()
	work.Go(func() { _ = at.serve(ctx, s) }) // it ends when the socket is closed
	if r != nil {
		r.server = s
		work.Go(func() { r.sendReports(ctx) })
		work.Go(func() { r.listen(ctx) })
	}
	status, err = h.runClient(s, clientArgs)
	if r != nil {
		r.finish()
	}
	return status, err
}

// runClient runs the client until it or the server exits, or this program gets a signal that stops
// it. It returns the exit status of the client. The error says that the client was stopped by a
// signal, or that it ended before it showed a conversation. Without a server, which is nil then, the
// agent CLI runs as one process.
func (h *host) runClient(s *server, args []string) (status int, err error) {
	client, ended, err := h.start(args)
	if err != nil {
		return 0, err
	}
	var gone chan struct{}
	if s != nil {
		gone = s.done
	}
	for {
		select {
		case err := <-ended:
			if status := exitStatus(client, err); status == 0 || s == nil || s.used() {
				return status, nil
			}
			return 0, errUnused
		case <-gone:
			h.end(client, ended)
			why := "its server exited"
			if text := strings.ToValidUTF8(s.tail.String(), "?"); text != "" {
				why += ": " + text
			}
			if !s.used() {
				return 0, errors.New(why)
			}
			h.print("the agent exits: " + why)
			return exitFailed, nil
		case sig := <-h.signals:
			if sig == syscall.SIGINT || sig == syscall.SIGQUIT {
				continue // from the terminal, which also sends it to the client
			}
			h.end(client, ended)
			return 0, &stoppedError{sig.(syscall.Signal)} //nolint:forcetypeassert // signals of this system
		}
	}
}

// used reports whether the client has shown a conversation through this server.
func (s *server) used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.thread != ""
}

// start starts the agent CLI with the terminal as its input and output. The channel that it returns
// gets the result when the process exits.
func (h *host) start(args []string) (*exec.Cmd, <-chan error, error) {
	cmd := exec.Command(h.program, args...) //nolint:noctx // [host.end] stops it
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.opts.Environ, h.opts.Stdin, h.opts.Stdout, h.opts.Stderr
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it ends with the process
	return cmd, ended, nil
}

// end stops the client: it sends SIGTERM, and SIGKILL if the client has not exited after
// [clientGrace].
func (h *host) end(cmd *exec.Cmd, ended <-chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that it has exited
	wait := time.NewTimer(clientGrace)
	defer wait.Stop()
	select {
	case <-ended: //nolint:errcheck // its exit status does not matter
	case <-wait.C:
		_ = cmd.Process.Kill() // an error means that it has exited
		<-ended                //nolint:errcheck // its exit status does not matter
	}
}

// exitStatus returns the exit status of a process like a shell does: 128 plus the number of the
// signal if a signal ended it.
func exitStatus(cmd *exec.Cmd, err error) int {
	if err == nil {
		return 0
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return max(1, cmd.ProcessState.ExitCode())
}
