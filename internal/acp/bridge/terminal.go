package bridge

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"gascity/internal/acp"
)

// Limits of commands that are run for an agent.
const (
	maxTerminals   = 64
	outputDefault  = 1 << 20
	outputMost     = 16 << 20
	terminalLinger = 500 * time.Millisecond // time for background processes to close the output after the command has exited
)

// terminal is one command that was started for the agent, in a process group of its own. The
// protocol calls it a terminal, but it has none.
type terminal struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the command has exited

	mu     sync.Mutex
	output []byte
	limit  int
	cut    bool
	status acp.ExitStatus // valid after done is closed
}

// Write adds a piece of the command's output and keeps only the last limit bytes. It implements
// io.Writer.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.output = append(t.output, p...)
	if over := len(t.output) - t.limit; over > 0 {
		for over < len(t.output) && !utf8.RuneStart(t.output[over]) {
			over++
		}
		t.output, t.cut = slices.Clone(t.output[over:]), true
	}
	return len(p), nil
}

// isVariable reports whether name is a valid name of an environment variable.
func isVariable(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// create starts a command for the agent and returns its ID.
func (w *clientTools) create(p acp.TerminalParams) (acp.TerminalRef, error) {
	dir := cmp.Or(p.Cwd, w.dir)
	if _, err := w.inside(dir); err != nil {
		return acp.TerminalRef{}, err
	}
	for _, v := range p.Env {
		if !isVariable(v.Name) { // the guard reads the name as an argument of env, so an option must not be possible
			return acp.TerminalRef{}, acp.InvalidParams(strconv.Quote(v.Name) + " is not the name of an environment variable: want letters, digits and _")
		}
	}
	t := &terminal{done: make(chan struct{}), limit: min(cmp.Or(max(p.OutputByteLimit, 0), outputDefault), outputMost)}
	t.cmd = exec.Command(p.Command, p.Args...) //nolint:noctx // stopped by kill, release and the exit of the agent
	if len(p.Args) == 0 {                      // agents put a whole shell line into Command
		t.cmd = exec.Command("/bin/sh", "-c", p.Command) //nolint:noctx // stopped by kill, release and the exit of the agent
	}
	t.cmd.Dir, t.cmd.Env = dir, slices.Clone(w.env)
	for _, v := range p.Env {
		t.cmd.Env = append(t.cmd.Env, v.Name+"="+v.Value)
	}
	t.cmd.Stdout, t.cmd.Stderr = t, t
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	t.cmd.WaitDelay = terminalLinger
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.terminals) >= maxTerminals {
		return acp.TerminalRef{}, errors.New("no more terminals: release those that have ended")
	}
	if err := t.cmd.Start(); err != nil {
		return acp.TerminalRef{}, err
	}
	go t.await()
	w.count++
	id := "t" + strconv.Itoa(w.count)
	w.terminals[id] = t
	return acp.TerminalRef{TerminalID: id}, nil
}

// await waits until the command has exited and stores its exit status.
func (t *terminal) await() {
	_ = t.cmd.Wait() // the exit status is in t.cmd.ProcessState
	t.mu.Lock()
	defer t.mu.Unlock()
	if status, ok := t.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.status.Signal = new(status.Signal().String())
	} else {
		t.status.Code = new(t.cmd.ProcessState.ExitCode())
	}
	close(t.done)
}

// end kills all processes of the command and waits until it has exited.
func (t *terminal) end() {
	select {
	case <-t.done:
		return
	default:
	}
	_ = syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) // an error means that the processes have exited
	<-t.done
}

// terminal returns the command with the given ID. If there is none, it returns an error for the
// agent.
func (w *clientTools) terminal(id string) (*terminal, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.terminals[id]; t != nil {
		return t, nil
	}
	return nil, &acp.Error{Code: acp.CodeResourceNotFound, Message: "there is no terminal " + id}
}

// output returns the output of a command so far, and its exit status if it has exited.
func (w *clientTools) output(p acp.TerminalRef) (acp.TerminalOutput, error) {
	t, err := w.terminal(p.TerminalID)
	if err != nil {
		return acp.TerminalOutput{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	out := acp.TerminalOutput{Output: string(t.output), Truncated: t.cut}
	if t.status != (acp.ExitStatus{}) {
		out.Exit = new(t.status)
	}
	return out, nil
}

// wait waits until a command has exited and returns its exit status.
func (w *clientTools) wait(ctx context.Context, p acp.TerminalRef) (acp.ExitStatus, error) {
	t, err := w.terminal(p.TerminalID)
	if err != nil {
		return acp.ExitStatus{}, err
	}
	select {
	case <-t.done:
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.status, nil
	case <-ctx.Done():
		return acp.ExitStatus{}, &acp.Error{Code: acp.CodeCancelled, Message: "cancelled"}
	}
}

// kill kills a command. Its output can still be read.
func (w *clientTools) kill(p acp.TerminalRef) error {
	t, err := w.terminal(p.TerminalID)
	if err == nil {
		t.end()
	}
	return err
}

// release kills a command and forgets its output.
func (w *clientTools) release(p acp.TerminalRef) error {
	t, err := w.terminal(p.TerminalID)
	if err != nil {
		return err
	}
	t.end()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.terminals, p.TerminalID)
	return nil
}
