package shim

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// childTree is the set of all processes that an agent started. One goroutine reaps all children of this process until it
// exits, so a process has at most one tree.
type childTree struct {
	self   proc.ID
	mu     sync.Mutex
	token  string // the instance token, in every member's environment
	root   int
	ended  chan childEnd
	notify chan struct{} // closed and replaced whenever a process was reaped
}

// childEnd describes how the root process exited.
type childEnd struct {
	PID    int
	Comm   string // process name when it exited
	Status syscall.WaitStatus
}

// newChildTree makes this process the parent of orphaned descendants, where the system supports that, and reaps all its children.
// token is the value of [proc.TokenKey] in their environment.
func newChildTree(token string) (*childTree, error) {
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	t := &childTree{self: self, token: token, notify: make(chan struct{})}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() { // runs until the process exits
		for range ended {
			t.reap()
		}
	}()
	return t, nil
}

// SetToken sets the token that new members have. The tree must be empty.
func (t *childTree) SetToken(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
}

// Start calls begin, which starts the root process. The exit of the root process is sent on the channel.
func (t *childTree) Start(begin func() (proc.ID, error)) (proc.ID, <-chan childEnd, error) {
	t.mu.Lock() // reap must not collect it before it is known
	defer t.mu.Unlock()
	root, err := begin()
	if err != nil {
		return root, nil, err
	}
	t.root, t.ended = root.PID, make(chan childEnd, 1)
	return root, t.ended, nil
}

// reap collects the exit status of all child processes that have exited, until none is left to collect. It reports the
// exit of the root process and wakes callers that wait for a change of the tree.
func (t *childTree) reap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	reaped := false
	for {
		var status syscall.WaitStatus
		comm := ""
		if t.root != 0 {
			if info, err := proc.Stat(t.root); err == nil {
				comm = info.Comm
			}
		}
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		reaped = true
		if pid == t.root {
			t.ended <- childEnd{PID: pid, Comm: comm, Status: status}
			t.root = 0
		}
	}
	if reaped {
		close(t.notify)
		t.notify = make(chan struct{})
	}
}

// Changed returns a channel that is closed when the next process has been reaped.
func (t *childTree) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notify
}

// members returns the live processes of the tree, parents first.
func (t *childTree) members() ([]proc.Info, error) {
	all, err := proc.Tree(t.self.PID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(i proc.Info) bool { return i.PID == t.self.PID || i.Ended() })
	return t.addDetached(all)
}

// SurvivingDescendants returns the processes that continue as the agent after its first process has exited. Such a process is
// in the terminal session of the first process and is not a shell. Its name matches names or is the name of the first process.
func (t *childTree) SurvivingDescendants(end childEnd, names []string) ([]proc.ID, error) {
	descendants, err := t.findSurvivingDescendants(end, names)
	if err == nil && len(descendants) == 0 && !t.empty() {
		return t.findSurvivingDescendants(end, names) // a process whose parent exited during the first scan may have been missed
	}
	return descendants, err
}

// findSurvivingDescendants searches the tree once for the processes that SurvivingDescendants returns.
func (t *childTree) findSurvivingDescendants(end childEnd, names []string) ([]proc.ID, error) {
	all, err := t.members()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{end.Comm}
	}
	var descendants []proc.ID
	for _, info := range all {
		if info.SID != end.PID || info.IsShell() {
			continue
		}
		argv, err := proc.Argv(info.PID)
		if errors.Is(err, proc.ErrGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if info.Comm == end.Comm && end.Comm != "" || proc.Match(info, argv, names) {
			descendants = append(descendants, info.ID)
		}
	}
	return descendants, nil
}

// StopReport is the result of a stop.
type StopReport struct {
	Found     int   `json:"found"`  // processes of the tree when the stop began
	Killed    int   `json:"killed"` // number of processes that SIGKILL was sent to
	Survivors []int `json:"survivors,omitempty"`
}

// killLimit bounds the wait for processes to exit after SIGKILL.
const killLimit = 10 * time.Second

// Stop stops all processes of the tree: it sends SIGTERM, also SIGHUP to processes that stop only on that, and after grace
// SIGKILL, repeated until no process is left or killLimit has passed.
func (t *childTree) Stop(grace time.Duration) (StopReport, error) {
	members, err := t.members()
	if err != nil {
		return StopReport{}, err
	}
	report := StopReport{Found: len(members)}
	if grace > 0 {
		t.signalAll(members)
		t.waitEmpty(grace)
	}
	deadline := time.Now().Add(killLimit)
	killed := map[proc.ID]bool{}
	for !t.empty() && time.Now().Before(deadline) {
		if members, err = t.members(); err != nil {
			return report, err
		}
		for _, m := range members {
			killed[m.ID] = true
		}
		t.signal(members, syscall.SIGKILL)
		t.waitEmpty(20 * time.Millisecond)
	}
	report.Killed = len(killed)
	if t.empty() {
		return report, nil
	}
	members, err = t.members()
	for _, m := range members {
		report.Survivors = append(report.Survivors, m.PID)
	}
	return report, err
}

// signalAll sends SIGTERM to all processes. An interactive shell ignores SIGTERM and exits on SIGHUP, so it gets SIGHUP too. A
// program that handles SIGTERM gets no other signal that could disturb its cleanup. Stopped processes get SIGCONT, because they
// handle no signal before they continue.
func (t *childTree) signalAll(members []proc.Info) {
	hangup := slices.DeleteFunc(slices.Clone(members), func(m proc.Info) bool { return !m.StopsOnlyOnHangup() })
	stopped := slices.DeleteFunc(slices.Clone(members), func(m proc.Info) bool { return m.State != proc.StateStopped })
	t.signal(members, syscall.SIGTERM)
	t.signal(hangup, syscall.SIGHUP)
	t.signal(stopped, syscall.SIGCONT)
}

// signal sends the signal to children before their parents, so that a parent does not restart a child before it gets the signal
// itself.
func (t *childTree) signal(members []proc.Info, sig syscall.Signal) {
	for _, m := range slices.Backward(members) {
		_ = proc.Signal(m.ID, sig) // an error means that the process has exited
	}
}

// pollInterval is the time between two checks of waitEmpty: on some systems not every process of the tree is a child of this
// process.
const pollInterval = 20 * time.Millisecond

// waitEmpty waits until no process of the tree is left, but at most for limit. It does not report which of the two
// happened.
func (t *childTree) waitEmpty(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		changed := t.Changed()
		if t.empty() {
			return
		}
		select {
		case <-changed:
		case <-look.C:
		case <-timer.C:
			return
		}
	}
}
