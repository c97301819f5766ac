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
	"gascity/runtime"
)

// errTimeLimit is the cause when a script is killed for its time.
var errTimeLimit = fmt.Errorf("it does not end in time: %w", context.DeadlineExceeded)

// errOutput is the cause when a script is killed for what it prints.
var errOutput = errors.New("it prints more than can be read")

// processSpec is one process of the script.
type processSpec struct {
	args  []string
	stdin []byte
	limit time.Duration // of the process; zero means ctx alone bounds it
	most  int           // bytes of standard output
	grace time.Duration // between SIGTERM and SIGKILL
	alone bool          // what is left of its process group is killed
}

// errNotRun says that no process was made: nothing has happened.
var errNotRun = errors.New("it was not run")

// processResult is how a process of the script ended.
type processResult struct {
	out       []byte
	stderr    string
	code      int
	inputRead bool // the script has taken all of its input, or had none
	written   int  // bytes of the input that went into the pipe
}

const (
	// pipeGrace is how long background processes may hold the output open after the
	// script has exited.
	pipeGrace = 500 * time.Millisecond
	// pipeHolds is at least what fits into a pipe.
	pipeHolds = 1 << 20
	// stderrKept is how much of standard error's end is kept.
	stderrKept = 8 << 10
)

// run runs the script once. The error says that it was not run, or was killed; the
// ending is valid beside an error, too. What a script exits with is no error here.
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

// child is a running script with our ends of its pipes.
type child struct {
	cmd                   *osexec.Cmd
	stdin, stdout, stderr *os.File
}

// launch starts the script in a process group of its own.
func (p *Provider) launch(o processSpec) (*child, error) {
	c := &child{cmd: osexec.Command(p.path, o.args...)} //nolint:noctx // its group is killed, see wait
	c.cmd.Dir = p.cfg.Dir
	// The death of this process in the middle of the input looks like the input's end.
	c.cmd.Env = append(slices.Clone(p.cfg.Env), fmt.Sprint(script.VariableSize, "=", len(o.stdin)))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if o.args[0] == script.OpWatch {
		killWithParent(c.cmd.SysProcAttr)
	}
	var theirs []*os.File
	err := func() error {
		for _, pipe := range []struct {
			ours **os.File
			give func(r, w *os.File) (mine, its *os.File)
		}{
			{&c.stdin, func(r, w *os.File) (*os.File, *os.File) { c.cmd.Stdin = r; return w, r }},
			{&c.stdout, func(r, w *os.File) (*os.File, *os.File) { c.cmd.Stdout = w; return r, w }},
			{&c.stderr, func(r, w *os.File) (*os.File, *os.File) { c.cmd.Stderr = w; return r, w }},
		} {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			mine, its := pipe.give(r, w)
			*pipe.ours, theirs = mine, append(theirs, its)
		}
		return c.cmd.Start()
	}()
	for _, f := range theirs {
		f.Close() //nolint:errcheck,gosec // the child's end of a pipe
	}
	if err != nil {
		c.closeAll()
		return nil, fmt.Errorf("%w: %w: %w", runtime.ErrRuntimeUnavailable, errNotRun, err)
	}
	return c, nil
}

func (c *child) closeAll() {
	for _, f := range []*os.File{c.stdin, c.stdout, c.stderr} {
		if f != nil {
			f.Close() //nolint:errcheck,gosec // our end of a pipe; closed twice is closed
		}
	}
}

// wait feeds the script, reads what it prints and waits for its end.
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
	out, stderr := &head{most: o.most, over: func() { stop(errOutput) }}, &tail{most: stderrKept}
	pipes.Go(func() { e.written, e.inputRead = feed(c.stdin, o.stdin) })
	pipes.Go(func() { drain(out, c.stdout) })
	pipes.Go(func() { drain(stderr, c.stderr) })
	err := c.end(ctx, o)
	c.closePipes(&pipes)
	e.out, e.stderr, e.code = out.kept, string(stderr.kept), c.cmd.ProcessState.ExitCode()
	return e, err
}

// end waits for the exit of the script and kills its group when ctx ends first, or
// afterwards if the order says so. The error is why it was killed.
func (c *child) end(ctx context.Context, o processSpec) error {
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

// signal reaches the whole group; one that is gone is fine.
func (c *child) signal(sig syscall.Signal) {
	_ = syscall.Kill(-c.cmd.Process.Pid, sig) // ESRCH: gone; EPERM: not ours any more
}

// closePipes closes our ends, at once if nothing holds the other ones, otherwise after a
// moment.
func (c *child) closePipes(pipes *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		pipes.Wait()
	}()
	c.stdin.SetWriteDeadline(time.Now()) //nolint:errcheck,gosec // a reader of it now is not the script
	moment := time.NewTimer(pipeGrace)
	defer moment.Stop()
	select {
	case <-done:
	case <-moment.C:
	}
	for _, f := range []*os.File{c.stdout, c.stderr} {
		f.SetReadDeadline(time.Now()) //nolint:errcheck,gosec // closing follows
	}
	<-done
	c.closeAll()
}

// feed writes the input and closes it.
func feed(w *os.File, data []byte) (taken int, all bool) {
	taken, err := w.Write(data)
	w.Close() //nolint:errcheck,gosec // the script sees the end of its input
	return taken, err == nil
}

// drain reads to the end of the output, or to its deadline. What the script has
// written before it ended counts, however late we come to read it: a machine that
// stands still for a moment loses nothing.
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
	pipe.Read(func(fd uintptr) bool { //nolint:errcheck,gosec // it never waits
		if n, err := syscall.Read(int(fd), buf); err == nil && n > 0 {
			w.Write(buf[:n]) //nolint:errcheck,gosec // into memory
		}
		return true
	})
}

// head keeps the beginning of what is written and reports more than that, once.
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

// tail keeps the end of what is written.
type tail struct {
	kept []byte
	most int
}

func (t *tail) Write(p []byte) (int, error) {
	if len(p) >= t.most {
		t.kept = append(t.kept[:0], p[len(p)-t.most:]...)
		return len(p), nil
	}
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// trimmed is text output without its trailing line ends.
func trimmed(out []byte) string { return string(bytes.TrimRight(out, "\r\n")) }
