package shim

import (
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"gascity/internal/proc"
)

// tree is the set of all processes that an agent started. One goroutine reaps
// them for the life of the shim.
type tree struct {
	self  proc.ID
	token string // the instance token, in every member's environment

	mu     sync.Mutex
	root   int
	ended  chan rootEnd
	notify chan struct{} // closed and replaced whenever a process was reaped
}

// rootEnd is the end of the process that was started.
type rootEnd struct {
	pid    int
	comm   string // its name at the end
	status syscall.WaitStatus
}

func newTree(token string) (*tree, error) {
	if err := becomeSubreaper(); err != nil {
		return nil, err
	}
	self, err := proc.Self()
	if err != nil {
		return nil, err
	}
	t := &tree{self: self, token: token, notify: make(chan struct{})}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() { // lives as long as the process
		for range ended {
			t.reap()
		}
	}()
	return t, nil
}

// watch names the root process; its end arrives on the channel.
func (t *tree) watch(pid int) <-chan rootEnd {
	t.mu.Lock()
	t.root, t.ended = pid, make(chan rootEnd, 1)
	ch := t.ended
	t.mu.Unlock()
	t.reap() // it may have ended before
	return ch
}

// reap collects all children that have ended.
func (t *tree) reap() {
	t.mu.Lock()
	defer t.mu.Unlock()
	reaped := false
	for {
		var status syscall.WaitStatus
		comm := ""
		if info, err := proc.Stat(t.root); err == nil {
			comm = info.Comm
		}
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		reaped = true
		if pid == t.root {
			t.ended <- rootEnd{pid: pid, comm: comm, status: status}
		}
	}
	if reaped {
		close(t.notify)
		t.notify = make(chan struct{})
	}
}

// changed is closed when the next process has been reaped.
func (t *tree) changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.notify
}

// members returns the live processes of the tree, parents first.
func (t *tree) members() ([]proc.Info, error) {
	all, err := proc.Tree(t.self.PID)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(i proc.Info) bool { return i.PID == t.self.PID || i.Ended() })
	return t.strays(all)
}

// heirs returns the processes that carry on as the agent after its first process
// has ended: in its session, not a shell, and matching the names, or, without
// names, called what the agent was called.
func (t *tree) heirs(end rootEnd, names []string) []proc.ID {
	all, err := t.members()
	if err != nil {
		return nil
	}
	if len(names) == 0 {
		names = []string{end.comm}
	}
	var heirs []proc.ID
	for _, info := range all {
		if info.SID != end.pid || slices.Contains(shells, info.Comm) {
			continue
		}
		argv, err := proc.Argv(info.PID)
		if err == nil && (info.Comm == end.comm && end.comm != "" || proc.Match(info, argv, names)) {
			heirs = append(heirs, info.ID)
		}
	}
	return heirs
}

// shells never count as an agent that carries on.
var shells = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh"}

// killLimit bounds how long processes get to end that were sent SIGKILL.
const killLimit = 10 * time.Second

// stop ends the whole tree: SIGTERM, soon after it SIGHUP for those who mind only
// that, and SIGKILL after grace, repeated until nothing is left.
func (t *tree) stop(grace time.Duration) (StopReport, error) {
	members, err := t.members()
	if err != nil {
		return StopReport{}, err
	}
	report := StopReport{Found: len(members)}
	if grace > 0 {
		t.signal(members, syscall.SIGTERM)
		if !t.wait(min(grace, 200*time.Millisecond)) {
			t.signal(members, syscall.SIGHUP)
			t.signal(members, syscall.SIGCONT)
			t.wait(grace)
		}
	}
	deadline := time.Now().Add(killLimit)
	killed := map[proc.ID]bool{}
	for {
		members, err = t.members()
		if err != nil || len(members) == 0 || time.Now().After(deadline) {
			break
		}
		for _, m := range members {
			killed[m.ID] = true
		}
		t.signal(members, syscall.SIGKILL)
		t.wait(20 * time.Millisecond)
	}
	report.Killed = len(killed)
	for _, m := range members {
		report.Survivors = append(report.Survivors, m.PID)
	}
	return report, err
}

// signal sends to the deepest first, so that no parent sees a child end that it
// would start again before it is told itself.
func (t *tree) signal(members []proc.Info, sig syscall.Signal) {
	for _, m := range slices.Backward(members) {
		_ = proc.Signal(m.ID, sig) // gone in the meantime is what we want
	}
}

// wait returns true as soon as nothing is left, false after the time.
func (t *tree) wait(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		changed := t.changed()
		if members, err := t.members(); err == nil && len(members) == 0 {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}
