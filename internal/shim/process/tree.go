package process

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

// Tree is the set of all processes that an agent started. One goroutine reaps
// them for the life of the
// process, so there is one tree in it.
type Tree struct {
	self   proc.ID
	mu     sync.Mutex
	token  string // the instance token, in every member's environment
	root   int
	ended  chan End
	notify chan struct{} // closed and replaced whenever a process was reaped
}

// End is the end of the process that was started.
type End struct {
	PID    int
	Comm   string // its name at the end
	Status syscall.WaitStatus
}

// NewTree makes this process the one that adopts and reaps all that its children
// leave. token is the value of [MarkKey] in their environment.
func NewTree(token string) (*Tree, error) {
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	t := &Tree{self: self, token: token, notify: make(chan struct{})}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() { // lives as long as the process
		for range ended {
			t.reap()
		}
	}()
	return t, nil
}

// SetToken says that the members have another token from now on. The tree is empty.
func (t *Tree) SetToken(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
}

// Start begins the root process; its end arrives on the channel.
func (t *Tree) Start(begin func() (proc.ID, error)) (proc.ID, <-chan End, error) {
	t.mu.Lock() // reap must not collect it before it is known
	defer t.mu.Unlock()
	root, err := begin()
	if err != nil {
		return root, nil, err
	}
	t.root, t.ended = root.PID, make(chan End, 1)
	return root, t.ended, nil
}

// reap collects all children that have ended.
func (t *Tree) reap() {
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
			t.ended <- End{PID: pid, Comm: comm, Status: status}
			t.root = 0
		}
	}
	if reaped {
		close(t.notify)
		t.notify = make(chan struct{})
	}
}

// Changed is closed when the next process has been reaped.
func (t *Tree) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notify
}

// members returns the live processes of the tree, parents first.
func (t *Tree) members() ([]proc.Info, error) {
	all, err := proc.Tree(t.self.PID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(i proc.Info) bool { return i.PID == t.self.PID || i.Ended() })
	return t.addDetached(all)
}

// SurvivingDescendants returns the processes that carry on as the agent after its first process
// has ended: in its session, not a shell, and matching the names, or, without
// names, called what the agent was called.
func (t *Tree) SurvivingDescendants(end End, names []string) ([]proc.ID, error) {
	descendants, err := t.findSurvivingDescendants(end, names)
	if err == nil && len(descendants) == 0 && !t.empty() {
		return t.findSurvivingDescendants(end, names) // one whose parent ended during the first look was in no tree
	}
	return descendants, err
}

func (t *Tree) findSurvivingDescendants(end End, names []string) ([]proc.ID, error) {
	all, err := t.members()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{end.Comm}
	}
	var descendants []proc.ID
	for _, info := range all {
		if info.SID != end.PID || slices.Contains(shells, info.Comm) {
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

// shells never count as an agent that carries on.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"}

// MarkKey is the environment variable that marks every process of a tree.
const MarkKey = "GC_INSTANCE_TOKEN"

// StopReport is what a stop found and did.
type StopReport struct {
	Found     int   `json:"found"`  // processes of the tree when the stop began
	Killed    int   `json:"killed"` // of these, ended by SIGKILL
	Survivors []int `json:"survivors,omitempty"`
}

// KillLimit bounds how long processes get to end that were sent SIGKILL.
const KillLimit = 10 * time.Second

// Stop ends the whole tree: SIGTERM, with SIGHUP for those who mind only that, and
// SIGKILL after grace, repeated until nothing is left.
func (t *Tree) Stop(grace time.Duration) (StopReport, error) {
	members, err := t.members()
	if err != nil {
		return StopReport{}, err
	}
	report := StopReport{Found: len(members)}
	if grace > 0 {
		t.signalAll(members)
		t.waitEmpty(grace)
	}
	deadline := time.Now().Add(KillLimit)
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

// signalAll asks all processes to end. An interactive shell ignores SIGTERM and ends by
// SIGHUP; a program that handles SIGTERM must not be disturbed by another signal
// while it does its last work. What is stopped hears nothing before it goes on.
func (t *Tree) signalAll(members []proc.Info) {
	hangup := slices.DeleteFunc(slices.Clone(members), func(m proc.Info) bool { return !stopsOnlyOnHangup(m) })
	stopped := slices.DeleteFunc(slices.Clone(members), func(m proc.Info) bool { return m.State != proc.StateStopped })
	t.signal(members, syscall.SIGTERM)
	t.signal(hangup, syscall.SIGHUP)
	t.signal(stopped, syscall.SIGCONT)
}

// signal sends to the deepest first, so that no parent sees a child end that it
// would start again before it gets the signal itself.
func (t *Tree) signal(members []proc.Info, sig syscall.Signal) {
	for _, m := range slices.Backward(members) {
		_ = proc.Signal(m.ID, sig) // gone in the meantime is what we want
	}
}

// pollInterval is how often wait looks of its own accord: not every process of the
// tree is our child everywhere.
const pollInterval = 20 * time.Millisecond

// waitEmpty returns as soon as nothing is left, at the latest after the time.
func (t *Tree) waitEmpty(limit time.Duration) {
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
