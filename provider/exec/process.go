package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	osexec "os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/internal/driver/script"
	"gascity/internal/proc"
	"gascity/runtime"
)

// errTimeLimit is the cause when gc kills a script at its time limit.
var errTimeLimit = fmt.Errorf("it did not exit within its time limit: %w", context.DeadlineExceeded)

// errOutput is the cause when gc kills a script that prints too much.
var errOutput = errors.New("it printed more than the limit")

// processSpec describes one process of the script.
type processSpec struct {
	args  []string
	stdin []byte
	limit time.Duration // time limit of the process; zero means none except ctx
	most  int           // maximum of standard output, in bytes
	grace time.Duration // time between SIGTERM and SIGKILL
	alone bool          // kill the rest of the process group after the exit
}

// errNotRun reports that no process was started, so nothing was done.
var errNotRun = errors.New("the script was not started")

// processResult is the result of a process of the script.
type processResult struct {
	out       []byte
	stderr    string
	code      int
	inputRead bool // the whole input went into the pipe, or there was none
	written   int  // number of input bytes that went into the pipe
}

const (
	// pipeGrace is how long gc reads the output after the exit of the script, while background
	// processes hold it open.
	pipeGrace = 500 * time.Millisecond
	// pipeHolds is not less than the capacity of a pipe, in bytes.
	pipeHolds = 1 << 20
	// stderrKept is how many bytes of the end of standard error are kept.
	stderrKept = 8 << 10
)

// run runs the script once. The error means that the script was not started, or was killed; the
// result is valid with an error too. A nonzero exit code is not an error.
func (p *Provider) run(ctx context.Context, o processSpec) (processResult, error) {
	if err := context.Cause(ctx); err != nil {
		return processResult{code: -1, inputRead: true}, fmt.Errorf("%w: %w", errNotRun, err)
	}
	c, err := p.launch(o)
	if err != nil {
		return processResult{code: -1, inputRead: true}, err
	}
	return c.wait(ctx, o)
}

// child is a running script with gc's ends of its pipes.
type child struct {
	cmd *osexec.Cmd
	proc.Pipes
}

// launch starts the script in its own process group.
func (p *Provider) launch(o processSpec) (*child, error) {
	c := &child{cmd: osexec.Command(p.path, o.args...)} //nolint:noctx // its group is killed, see wait
	c.cmd.Dir = p.cfg.Dir
	// If this process is killed while it writes the input, the script reads the end of its input
	// too early. With the size the script can check that its input is complete.
	c.cmd.Env = append(slices.Clone(p.cfg.Env), fmt.Sprint(script.VariableSize, "=", len(o.stdin)))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.args[0] == script.OpWatch {
		killWithParent(c.cmd.SysProcAttr)
	}
	var err error
	if c.Pipes, err = proc.StartWithPipes(c.cmd); err != nil {
		return nil, fmt.Errorf("%w: %w: %w", runtime.ErrRuntimeUnavailable, errNotRun, err)
	}
	return c, nil
}

// wait writes the input, reads the output and waits for the exit of the script.
func (c *child) wait(ctx context.Context, o processSpec) (processResult, error) {
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.limit, errTimeLimit)
		defer cancel()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var e processResult
	var pipes sync.WaitGroup
	out, stderr := &head{most: o.most, over: func() { stop(errOutput) }}, &proc.Tail{Most: stderrKept}
	pipes.Go(func() { e.written, e.inputRead = feed(c.Stdin, o.stdin) })
	pipes.Go(func() { drain(out, c.Stdout) })
	pipes.Go(func() { drain(stderr, c.Stderr) })
	err := c.waitOrKill(ctx, o)
	c.closePipes(&pipes)
	e.out, e.stderr, e.code = out.kept, string(stderr.Bytes()), c.cmd.ProcessState.ExitCode()
	return e, err
}

// waitOrKill waits for the exit of the script. If ctx ends first, it kills the process group and returns
// the cause. After a normal exit it kills the rest of the group if o.alone is set.
func (c *child) waitOrKill(ctx context.Context, o processSpec) error {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		c.cmd.Wait() //nolint:errcheck,gosec // the process state has the result
	}()
	defer func() { <-exited }()
	select {
	case <-exited:
		if o.alone {
			c.signal(syscall.SIGKILL)
		}
		return nil
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	if !errors.Is(cause, errOutput) {
		c.signal(syscall.SIGTERM)
		grace := time.NewTimer(o.grace)
		defer grace.Stop()
		select {
		case <-exited:
		case <-grace.C:
		}
	}
	c.signal(syscall.SIGKILL)
	return cause
}

// signal sends sig to the whole process group. It does nothing if the group does not exist any
// more.
func (c *child) signal(sig syscall.Signal) {
	_ = syscall.Kill(-c.cmd.Process.Pid, sig) // ESRCH: the group is gone; EPERM: the id belongs to other processes now
}

// closePipes waits until the pipes are read, at most pipeGrace, and closes gc's ends.
func (c *child) closePipes(pipes *sync.WaitGroup) {
	c.Stdin.SetWriteDeadline(time.Now()) //nolint:errcheck,gosec // the script has exited and reads no input
	late := time.AfterFunc(pipeGrace, func() {
		for _, f := range []*os.File{c.Stdout, c.Stderr} {
			f.SetReadDeadline(time.Now()) //nolint:errcheck,gosec // closing follows
		}
	})
	pipes.Wait()
	late.Stop()
	c.Close()
}

// feed writes the input and closes the pipe. all reports whether everything was written.
func feed(w *os.File, data []byte) (written int, all bool) {
	written, err := w.Write(data)
	w.Close() //nolint:errcheck,gosec // the script sees the end of its input
	return written, err == nil
}

// drain copies the output until its end or the read deadline. At the deadline it still reads what
// is in the pipe, because the script wrote that before it exited, and this process may be late on a
// slow machine.
func drain(w io.Writer, r *os.File) {
	_, err := io.Copy(w, r)
	if !errors.Is(err, os.ErrDeadlineExceeded) || r.SetReadDeadline(time.Time{}) != nil {
		return
	}
	pipe, err := r.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, pipeHolds)
	pipe.Read(func(fd uintptr) bool { //nolint:errcheck,gosec // the function never blocks
		if n, err := syscall.Read(int(fd), buf); err == nil && n > 0 {
			w.Write(buf[:n]) //nolint:errcheck,gosec // into memory
		}
		return true
	})
}

// head keeps the beginning of what is written, up to most bytes. It calls over once if more is
// written.
type head struct {
	kept     []byte
	most     int
	over     func()
	reported bool
}

func (h *head) Write(p []byte) (int, error) {
	room := h.most - len(h.kept)
	if len(p) > room && !h.reported {
		h.reported = true
		h.over()
	}
	h.kept = append(h.kept, p[:min(len(p), max(room, 0))]...)
	return len(p), nil
}

// trimmed returns text output without its trailing line ends.
func trimmed(out []byte) string { return string(bytes.TrimRight(out, "\r\n")) }
