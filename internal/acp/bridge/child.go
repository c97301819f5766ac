package bridge

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// drainTime is how long to wait for the last output of an agent that has exited. Its background processes may keep the pipes
// open.
const drainTime = 500 * time.Millisecond

// child is the process of the agent, which leads a process group of its own.
type child struct {
	cmd *exec.Cmd
	proc.Pipes
	transcript *transcript
	reading    sync.WaitGroup // reads standard error
	ended      chan struct{}  // closed when the process has exited
	tail       proc.Tail      // the end of standard error, for messages
}

// startChild starts the agent: command, with sh.
func startChild(command string, env []string, p *transcript) (*child, error) {
	c := &child{cmd: exec.Command("/bin/sh", "-c", command), transcript: p, ended: make(chan struct{})} //nolint:noctx // it lives as long as this program
	c.cmd.Env = env
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if c.Pipes, err = proc.StartWithPipes(c.cmd); err != nil {
		return nil, err
	}
	c.reading.Go(c.readErrors)
	go func() { // ends with the process
		_ = c.cmd.Wait() // the exit status is in c.cmd.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// readErrors prints the agent's standard error line by line and keeps the end of it.
func (c *child) readErrors() {
	r := bufio.NewReaderSize(c.Stderr, 64<<10)
	for {
		line, err := r.ReadSlice('\n') // a long line is read in pieces
		if len(line) > 0 {
			c.transcript.line(string(line))
			_, _ = c.tail.Write(line) // never fails
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// drain waits until all output of the agent was read, at most drainTime. served is closed when its standard output was read.
func (c *child) drain(served <-chan struct{}) {
	closeOutput := func() { // other processes may hold the other ends; their output is not needed
		_ = c.Stdout.Close()
		_ = c.Stderr.Close()
	}
	late := time.AfterFunc(drainTime, closeOutput)
	<-served
	c.reading.Wait()
	late.Stop()
	closeOutput()
}

// signal sends a signal to all processes of the agent's process group.
func (c *child) signal(sig syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, sig) } // an error means that the processes have exited

// exitsWithin waits until the agent exits, at most for d, and reports whether it did.
func (c *child) exitsWithin(d time.Duration) bool {
	select {
	case <-c.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// end stops the agent: it closes its standard input, sends SIGTERM, and then SIGKILL. It waits 1 s after each step.
func (c *child) end() {
	_ = c.Stdin.Close() // it may be closed already
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			c.signal(sig)
		}
		if c.exitsWithin(time.Second) {
			return
		}
	}
}

// exitLikeAgent makes this process end like the agent has ended. If a signal killed the agent, this process sends that signal to
// itself. Otherwise exitLikeAgent returns the exit code for this process.
func (c *child) exitLikeAgent() int {
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return c.cmd.ProcessState.ExitCode()
	}
	switch sig := status.Signal(); sig {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE:
		signal.Reset(sig)
		if syscall.Kill(os.Getpid(), sig) == nil {
			<-time.After(time.Second) // wait for the signal to be delivered
		}
		fallthrough
	default: // for other signals the Go runtime would print a stack trace
		return 128 + int(sig)
	}
}
