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

// Claim is the right to start a session of one name. No other process can start
// it, and nothing of it runs, until the claim is started or given up.
type Claim struct {
	fleet *Fleet
	name  string
	dir   statedir.Folder
	lock  *os.File // nil once given up
}

// Claim takes the name. [ErrNameInUse] if a live session has it, also one whose folder was removed, which
// can be reached again then; an [*UnreachableError] if it cannot. What is left of one
// whose agent has ended is removed. [ErrOrphanProcesses] if a previous instance's shim was
// killed and its processes still run: stop the session first. fresh says that nothing was on
// the disk of a previous instance.
func (f *Fleet) Claim(ctx context.Context, name string) (claim *Claim, fresh bool, err error) {
	dir := statedir.For(f.opts.Dir, name)
	if statedir.NotExists(dir.Lock()) { // its shim may live all the same: there must not be two
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
	token, _ := dir.Token() // none: nothing of it can run
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

// checkOrphans returns [ErrOrphanProcesses] if processes of a lost session are known to live.
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

// Start starts a shim for spec, whose name is the claim's, and returns once its
// agent's process exists. The claim passes to the shim. If ctx ends or anything
// fails, nothing is left and the claim is given up.
func (c *Claim) Start(ctx context.Context, spec Spec) (*Client, error) {
	if err := c.fleet.spawn(ctx, c.dir, c.lock, spec); err != nil {
		return nil, errors.Join(err, c.undo())
	}
	err := c.lock.Close() // the shim has its own
	c.lock = nil
	return c.fleet.client(c.name, c.dir, spec.Instance), err
}

// undo removes the folder of a start that failed. The shim has released it, or
// still ends and removes it itself.
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

// Release gives the name back and removes its folder. After a start, or twice, it
// does nothing.
func (c *Claim) Release() error {
	if c.lock == nil {
		return nil
	}
	err := errors.Join(c.dir.Remove(), c.lock.Close())
	c.lock = nil
	return err
}

// Start is [Fleet.Claim] and [Claim.Start] in one.
func (f *Fleet) Start(ctx context.Context, spec Spec) (*Client, error) {
	claim, _, err := f.Claim(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	return claim.Start(ctx, spec)
}

// claimTries bounds how often a lock is tried that is never held for long.
const claimTries = 10

// removeEnded sends away the shim of a session whose agent has ended. [ErrNameInUse] if the
// agent lives, or somebody else is starting or ending it; nil if the lock may be
// free now. It may also have been held only by somebody who looked.
func (f *Fleet) removeEnded(ctx context.Context, name string) error {
	sight, err := f.Observe(ctx, name)
	switch {
	case err != nil:
		return err
	case sight.Busy, sight.Client != nil && sight.State.Exit == nil:
		return ErrNameInUse
	case sight.Client == nil:
		return nil
	}
	if err := sight.Client.release(ctx); err != nil && !errors.Is(err, ErrNoShim) {
		return err
	}
	return proc.WaitGone(ctx, sight.Record.Shim)
}

// spawn runs the shim and waits for its report.
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
	cmd.Env = []string{"GOTRACEBACK=single"} // a shim needs no environment; the agent's is in the spec
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
	_, _ = stdin.Close(), reportEnd.Close() // the child's ends
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
	} else if said, readErr := os.ReadFile(dir.Errors()); readErr == nil && len(bytes.TrimSpace(said)) > 0 {
		err = fmt.Errorf("%w; the shim said: %s", err, bytes.TrimSpace(said))
	}
	return errors.Join(err, f.children.end(pid))
}

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

// children are the shims that this process has started. They are no part of its
// life, but when one ends while this process lives, it must be collected.
type children struct {
	mu   sync.Mutex
	pids map[int]chan struct{} // closed when the process has ended
	sigs chan os.Signal
	done chan struct{}
}

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

func (c *children) start(cmd *exec.Cmd) (pid int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	pid = cmd.Process.Pid
	c.pids[pid] = make(chan struct{})
	return pid, cmd.Process.Release() // reap collects it
}

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

// endLimit bounds how long a shim may take to take down what it had begun.
const endLimit = 15 * time.Second

// end asks a shim to end, with its agent, and waits for it.
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
	timer := time.NewTimer(endLimit)
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("shim %d does not end", pid)
	}
}
