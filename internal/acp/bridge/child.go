package bridge

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stderrKept is how many bytes at the end of the agent's standard error are kept for messages.
const stderrKept = 4096

// drainTime is how long to wait for the last output of an agent that has exited. Its background processes may keep the pipes
// open.
const drainTime = 500 * time.Millisecond

// child is the process of the agent, which leads a process group of its own.
type child struct {
	cmd            *exec.Cmd
	in             io.WriteCloser
	out            io.ReadCloser
	transcript     *transcript
	errors         io.ReadCloser
	stderr         sync.WaitGroup
	ended          chan struct{} // closed when the process has exited
	mu             sync.Mutex
	tail           []byte // the last bytes of standard error
	closeStdinOnce sync.Once
}

// startChild starts the agent: command, with sh.
func startChild(command string, env []string, p *transcript) (*child, error) {
	c := &child{cmd: exec.Command("/bin/sh", "-c", command), transcript: p, ended: make(chan struct{})} //nolint:noctx // it lives as long as this program
	c.cmd.Env = slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, SpecVariable+"=") })
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // the child has its own copies
		}
	}()
	var ours [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		ours[i] = r
		their := w
		if i == 0 {
			ours[i], their = w, r
		}
		theirs = append(theirs, their)
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	c.in, c.out, c.errors = ours[0], ours[1], ours[2]
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.stderr.Go(c.readErrors)
	go func() { // ends with the process
		_ = c.cmd.Wait() // the exit status is in c.cmd.ProcessState
		close(c.ended)
	}()
	return c, nil
}

// readErrors prints the agent's standard error line by line and keeps the end of it.
func (c *child) readErrors() {
	r := bufio.NewReaderSize(c.errors, 64<<10)
	for {
		line, err := r.ReadSlice('\n') // a long line is read in pieces
		if len(line) > 0 {
			c.transcript.line(string(line))
			c.mu.Lock()
			c.tail = append(c.tail, line...)
			c.tail = c.tail[max(0, len(c.tail)-stderrKept):]
			c.mu.Unlock()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// lastErrors returns the end of the agent's standard error, for a message.
func (c *child) lastErrors() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(c.tail), "?"))
}

// drain waits until all output of the agent was read, at most drainTime. served is closed when its standard output was read.
func (c *child) drain(served <-chan struct{}) {
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	all := make(chan struct{})
	go func() {
		<-served
		c.stderr.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-limit.C:
	}
	_ = c.out.Close() // other processes hold the other ends; their output is not needed
	_ = c.errors.Close()
	<-all
}

// closeStdin closes the standard input of the agent, which ends the connection.
func (c *child) closeStdin() {
	c.closeStdinOnce.Do(func() { _ = c.in.Close() }) // an error does not matter
}

// signal sends a signal to all processes of the agent's process group.
func (c *child) signal(sig syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, sig) } // an error means that the processes have exited

// end stops the agent: it closes its standard input, sends SIGTERM, and then SIGKILL. It waits for grace between these steps;
// zero means 1 s.
func (c *child) end(grace time.Duration) {
	c.closeStdin()
	for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
		if sig != 0 {
			c.signal(sig)
		}
		wait := time.NewTimer(cmp.Or(grace, time.Second))
		select {
		case <-c.ended:
			wait.Stop()
			return
		case <-wait.C:
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
		exitBySignal(sig)
		fallthrough
	default: // for other signals the Go runtime would print a stack trace
		return 128 + int(sig)
	}
}
