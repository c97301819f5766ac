package shim

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// Claim is the right to start a session with one name. Until the claim is started or released, no other process can start that
// session, and no process of it runs.
type Claim struct {
	fleet *Fleet
	name  string
	dir   statedir.Folder
	lock  *os.File // nil once given up
}

// Claim acquires the right to start the session. It returns [ErrNameInUse] if a live session has the name, also if the folder
// of that session was removed and created again. It returns an [*UnreachableError] if such a folder cannot be created again,
// and [ErrOrphanProcesses] if the shim of a previous instance was killed and its processes still run: the caller must stop the
// session first. Files of an agent that has exited are removed. fresh reports that there was no record of a previous instance
// on disk.
func (f *Fleet) Claim(ctx context.Context, name string) (claim *Claim, fresh bool, err error) {
	dir := statedir.For(f.opts.Dir, name)
	if statedir.NotExists(dir.Lock()) { // its shim may still run: a session must not have two
		if _, err := f.adopt(ctx, dir); err != nil {
			return nil, false, wrap(name, err)
		}
	}
	lock, err := dir.Claim()
	for try := 0; errors.Is(err, ErrNameInUse) && try < claimTries; try++ {
		if err = f.removeEnded(ctx, name); err == nil {
			lock, err = dir.Claim()
		}
	}
	if errors.Is(err, ErrNameInUse) {
		err = fmt.Errorf("session %q: %w", name, ErrNameInUse)
	}
	if err != nil {
		return nil, false, err
	}
	token, _ := dir.Token() // without a token no process of the instance can run
	left, err := f.readLeftovers(dir, token)
	if err == nil && left.IsLost() {
		err = left.checkOrphans()
	}
	if err == nil {
		err = dir.Clear()
	}
	if err != nil {
		return nil, false, errors.Join(err, lock.Close())
	}
	return &Claim{fleet: f, name: name, dir: dir, lock: lock}, left.Record == nil, nil
}

// checkOrphans returns [ErrOrphanProcesses] if processes of a lost session still run.
func (s Observation) checkOrphans() error {
	pids, err := s.Orphans()
	var unreadable *proc.UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		return err
	}
	if len(pids) > 0 {
		return fmt.Errorf("session %q: %w: %v; stop the session first", s.Record.Name, ErrOrphanProcesses, pids)
	}
	return nil
}

// Start starts a shim for spec, whose Name must be the claim's, and returns when the agent's process exists. The claim then
// belongs to the shim. If ctx ends or an error occurs, Start removes everything that it created and releases the claim.
func (c *Claim) Start(ctx context.Context, spec Spec) (*Client, error) {
	if err := c.fleet.spawn(ctx, c.dir, c.lock, spec); err != nil {
		return nil, errors.Join(err, c.undo())
	}
	err := c.lock.Close() // the shim has its own copy
	c.lock = nil
	return c.fleet.client(c.name, c.dir, spec.Instance), err
}

// undo releases the claim of a failed start and removes the folder. If the shim still runs, the folder is locked and the shim
// removes it.
func (c *Claim) undo() error {
	err := c.lock.Close()
	c.lock = nil
	again, claimErr := c.dir.Claim()
	if errors.Is(claimErr, ErrNameInUse) {
		return err
	}
	if claimErr != nil {
		return errors.Join(err, claimErr)
	}
	return errors.Join(err, c.dir.Remove(), again.Close())
}

// Release releases the name and removes its folder. After Start or another Release it does nothing.
func (c *Claim) Release() error {
	if c.lock == nil {
		return nil
	}
	err := errors.Join(c.dir.Remove(), c.lock.Close())
	c.lock = nil
	return err
}

// claimTries bounds the attempts to acquire a lock that other processes hold only for a short time.
const claimTries = 10

// removeEnded makes the shim exit if the agent of the session has exited. It returns [ErrNameInUse] if the agent runs, or if
// another process is starting or stopping it. It returns nil if the lock may be free now, for example because another process
// held it only to test it.
func (f *Fleet) removeEnded(ctx context.Context, name string) error {
	observed, err := f.Observe(ctx, name)
	switch {
	case err != nil:
		return err
	case observed.Busy && observed.ExitRecord != nil:
		return proc.WaitGone(ctx, observed.Record.Shim) // it is about to exit
	case observed.Busy, observed.Client != nil && observed.State.Exit == nil:
		return ErrNameInUse
	case observed.Client == nil:
		return nil
	}
	if err := observed.Client.release(ctx); err != nil && !errors.Is(err, ErrNoShim) {
		return err
	}
	return proc.WaitGone(ctx, observed.Record.Shim)
}

// spawn starts the shim process and waits for its report.
func (f *Fleet) spawn(ctx context.Context, dir statedir.Folder, lock *os.File, spec Spec) error {
	body, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	stderr, err := os.OpenFile(dir.Errors(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd := exec.Command(f.opts.Command[0], append(f.opts.Command[1:len(f.opts.Command):len(f.opts.Command)], string(dir))...) //nolint:noctx // it outlives the start
	cmd.Dir = "/"
	cmd.Env = []string{"GOTRACEBACK=single"} // the shim itself needs no environment; the agent's environment is in the spec
	cmd.Stderr = stderr
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, stdinEnd, err := os.Pipe()
	if err != nil {
		return err
	}
	report, reportEnd, err := os.Pipe()
	if err != nil {
		return errors.Join(err, stdin.Close(), stdinEnd.Close())
	}
	defer report.Close()
	cmd.Stdin, cmd.Stdout = stdin, reportEnd
	pid, err := f.children.start(cmd)
	_, _ = stdin.Close(), reportEnd.Close() // the child has these ends
	if err != nil {
		return errors.Join(fmt.Errorf("cannot run the shim: %w", err), stdinEnd.Close())
	}
	stop := context.AfterFunc(ctx, func() {
		_ = stdinEnd.SetWriteDeadline(time.Unix(1, 0))
		_ = report.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	_, err = stdinEnd.Write(body)
	err = errors.Join(err, stdinEnd.Close())
	if err == nil {
		err = readReport(report)
	}
	if err == nil && ctx.Err() == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	} else if output, readErr := os.ReadFile(dir.Errors()); readErr == nil && len(bytes.TrimSpace(output)) > 0 {
		err = fmt.Errorf("%w; its log says: %s", err, bytes.TrimSpace(output))
	}
	return errors.Join(err, f.children.end(pid))
}

// readReport reads the shim's start report and returns its error.
func readReport(r *os.File) error {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the shim did not start: %w", err)
	}
	var report startReport
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		return fmt.Errorf("the shim reported %q: %w", strings.TrimSpace(line), err)
	}
	if !report.OK {
		return errors.New(report.Error)
	}
	return nil
}

// children are the shims that this process has started. They may run longer than this process. A shim that exits earlier must
// be reaped.
type children struct {
	mu   sync.Mutex
	pids map[int]chan struct{} // closed when the process has exited
	sigs chan os.Signal
	done chan struct{}
}

// run starts the goroutine that reaps exited shims.
func (c *children) run() {
	c.pids, c.sigs, c.done = map[int]chan struct{}{}, make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(c.sigs, syscall.SIGCHLD)
	go func() {
		defer close(c.done)
		for range c.sigs {
			c.reap()
		}
	}()
}

func (c *children) close() {
	signal.Stop(c.sigs)
	close(c.sigs)
	<-c.done
}

// start starts a shim and returns its pid.
func (c *children) start(cmd *exec.Cmd) (pid int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	c.pids[pid] = make(chan struct{})
	return pid, cmd.Process.Release() // reap waits for it
}

// reap waits for all shims that have exited, without blocking.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid, ended := range c.pids {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		if got == pid || errors.Is(err, syscall.ECHILD) {
			delete(c.pids, pid)
			close(ended)
		}
	}
}

// endLimit bounds the wait for a shim to stop its processes and exit.
const endLimit = 15 * time.Second

// end sends SIGTERM to a shim and waits until it has exited. The shim stops its agent first.
func (c *children) end(pid int) error {
	c.mu.Lock()
	ended, running := c.pids[pid]
	c.mu.Unlock()
	if !running {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-ended:
		return nil
	case <-time.After(endLimit):
		return fmt.Errorf("the shim (process %d) did not exit", pid)
	}
}
