package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"
)

// ErrSurvivors reports that processes of a tree are still alive after [KillTree].
var ErrSurvivors = errors.New("processes survived")

const (
	defaultGrace    = 2 * time.Second
	killWait        = 5 * time.Second // for processes to exit after SIGKILL
	minPollInterval = 2 * time.Millisecond
	maxPollInterval = 50 * time.Millisecond // the interval grows up to this
	maxFreezes      = 100                   // bounds the attempts to stop or read a tree that keeps forking
)

// KillOptions are the options of [KillTree]. The zero value is useful.
type KillOptions struct {
	// Grace is the time between SIGTERM and SIGKILL. Zero means 2 s; a negative value means no SIGTERM.
	Grace time.Duration
	// MarkKey and MarkValue are an environment variable with which the processes of the tree were started. Processes of the
	// calling user that have it belong to the tree even if they have left it. If one of the two is empty, environments are
	// not searched.
	MarkKey, MarkValue string
}

// KillReport is the result of [KillTree].
type KillReport struct {
	Found      int    // number of processes that belonged to the tree
	Terminated int    // number of these that SIGTERM was sent to
	Killed     int    // number of these that SIGKILL was sent to
	Survivors  []Info // processes that are still alive
}

// KillTree stops a process and all its descendants. It sends SIGTERM to children before their parents and waits for the grace.
// Then it sends SIGSTOP to parents before their children, until no new process appears, and then SIGKILL. It is for systems and
// cases without a subreaper.
//
// The tree consists of the root, its descendants, the members of sessions and process groups that one of these leads, all
// processes that belonged to it earlier, and all processes with the mark of the options. A signal is sent only to a process
// whose start time was checked, and never to the caller. Without a mark, a process that left the tree, its sessions and groups
// before the call is not found.
//
// If the root does not exist any more, the rest of the tree is stopped, and that is no error. The error is [ErrSurvivors] if
// processes are still alive, the cause of ctx if it ended first (no more signals are sent then), or a failure to list
// processes. The report is valid in all cases. A zombie counts as gone, because its parent waits for it. A nil opts is the zero
// value.
func KillTree(ctx context.Context, root ID, opts *KillOptions) (KillReport, error) {
	if opts == nil {
		opts = &KillOptions{}
	}
	if root.PID <= 1 || root.PID == os.Getpid() {
		return KillReport{}, &Error{Op: "kill tree of", PID: root.PID, Err: errors.New("gc never kills process 1 or itself")}
	}
	h := &treeKiller{
		opts: opts, self: os.Getpid(),
		members: map[ID]bool{root: true}, leaders: map[int]uint64{},
	}
	h.refresh = h.findMembers
	return h.kill(ctx, root)
}

// KillDescendants stops all descendants of a subreaper, see [IsSubreaper], as KillTree does, but not the subreaper itself. No
// descendant can leave its tree while it runs, so no other process is looked at. grace is [KillOptions.Grace].
//
// The error is [ErrGone] if the subreaper exits meanwhile, and [ErrUnsteady] if its tree changes so fast that it cannot be read:
// then descendants that were not found may run, and [KillTree] must search for them.
func KillDescendants(ctx context.Context, subreaper ID, grace time.Duration) (KillReport, error) {
	h := &treeKiller{opts: &KillOptions{Grace: grace}, self: os.Getpid()}
	h.refresh = func() error { return h.findDescendants(subreaper) }
	return h.kill(ctx, subreaper)
}

// ErrUnsteady reports that a tree of processes changes so fast that it cannot be read completely.
var ErrUnsteady = errors.New("the processes change too fast")

// treeKiller is one run of [KillTree] or [KillDescendants]. Only one goroutine uses it.
type treeKiller struct {
	opts    *KillOptions
	self    int
	refresh func() error // updates alive and seen

	members map[ID]bool    // processes that belonged to the tree at some time
	leaders map[int]uint64 // session or group ID -> start time of the member that leads it
	alive   []Info         // live members at the last refresh, parents before children

	seen, termed, killed map[ID]bool
}

// kill runs the treeKiller and returns its report. root is the process that an error names.
func (h *treeKiller) kill(ctx context.Context, root ID) (KillReport, error) {
	h.seen, h.termed, h.killed = map[ID]bool{}, map[ID]bool{}, map[ID]bool{}
	err := h.run(ctx)
	if err == nil && len(h.alive) > 0 {
		err = fmt.Errorf("kill tree of %s: %w: %v", root, ErrSurvivors, h.alive)
	}
	return KillReport{
		Found: len(h.seen), Terminated: len(h.termed), Killed: len(h.killed),
		Survivors: h.alive,
	}, err
}

// run sends SIGTERM, waits for the grace, and then sends SIGKILL until the tree is gone or killWait has passed.
func (h *treeKiller) run(ctx context.Context) error {
	if err := h.refresh(); err != nil || len(h.alive) == 0 {
		return err
	}
	if h.opts.Grace >= 0 {
		for _, info := range slices.Backward(h.alive) {
			h.signal(info, syscall.SIGTERM, h.termed)
		}
		done, err := h.wait(ctx, cmp.Or(h.opts.Grace, defaultGrace), h.resume)
		if done || err != nil {
			return err
		}
	}
	deadline := time.Now().Add(killWait)
	for ctx.Err() == nil {
		if err := h.freeze(); err != nil {
			return err
		}
		for _, info := range slices.Backward(h.alive) {
			h.signal(info, syscall.SIGKILL, h.killed)
		}
		done, err := h.wait(ctx, 100*time.Millisecond, func(Info) {})
		if done || err != nil || time.Now().After(deadline) {
			return err
		}
	}
	return context.Cause(ctx)
}

// freeze sends SIGSTOP to all processes of the tree, so that none can fork while the others are killed. If it fails, it lets
// them continue.
func (h *treeKiller) freeze() error {
	frozen := map[ID]bool{}
	for range maxFreezes {
		if err := h.refresh(); err != nil {
			for id := range frozen {
				_ = Signal(id, syscall.SIGCONT) // the process may have exited
			}
			return err
		}
		before := len(frozen)
		for _, info := range h.alive {
			if !frozen[info.ID] {
				h.signal(info, syscall.SIGSTOP, nil)
				frozen[info.ID] = true
			}
		}
		if len(frozen) == before {
			return nil
		}
	}
	return nil // the tree forks too fast; SIGKILL is still sent to all known processes
}

// resume lets a stopped process continue, so that it handles its SIGTERM.
func (h *treeKiller) resume(info Info) {
	if info.State == StateStopped && h.termed[info.ID] {
		h.signal(info, syscall.SIGCONT, nil)
	}
}

// wait waits until no process of the tree is alive (true) or limit has passed (false). It calls the function each for every live process
// after each refresh.
func (h *treeKiller) wait(ctx context.Context, limit time.Duration, each func(Info)) (bool, error) {
	over := time.NewTimer(limit)
	defer over.Stop()
	pause := minPollInterval
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		if err := h.refresh(); err != nil || len(h.alive) == 0 {
			return len(h.alive) == 0, err
		}
		for _, info := range h.alive {
			each(info)
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-over.C:
			return false, h.refresh()
		case <-next.C:
			pause = min(pause+pause/2, maxPollInterval)
			next.Reset(pause)
		}
	}
}

// signal sends a signal and adds the process to sent if that succeeded. Errors are ignored: the next refresh shows which
// processes are alive.
func (h *treeKiller) signal(info Info, sig syscall.Signal, sent map[ID]bool) {
	if Signal(info.ID, sig) == nil && sent != nil {
		sent[info.ID] = true
	}
}

// findDescendants reads the tree of a subreaper and updates alive and seen. Only a complete reading can show that none is alive.
func (h *treeKiller) findDescendants(subreaper ID) error {
	for range maxFreezes {
		tree, complete, err := agreedTree(subreaper.PID)
		if err == nil && !complete {
			tree, err = readTree(subreaper.PID)
		}
		if err != nil {
			return err
		}
		if len(tree) == 0 || tree[0].ID != subreaper || tree[0].Ended() {
			return &Error{Op: "list tree of", PID: subreaper.PID, Err: ErrGone}
		}
		h.alive = Live(tree, subreaper.PID, h.self)
		for _, info := range h.alive {
			h.seen[info.ID] = true
		}
		if complete || len(h.alive) > 0 {
			return nil
		}
	}
	return &Error{Op: "list tree of", PID: subreaper.PID, Err: ErrUnsteady}
}

// findMembers reads all processes and updates members, alive and seen.
func (h *treeKiller) findMembers() error {
	all, err := list()
	if err != nil {
		return err
	}
	if err := h.adoptMarked(); err != nil {
		return err
	}
	h.dropEmptyGroups(all)
	for h.grow(all) {
	}
	h.alive = h.alive[:0]
	for _, info := range all {
		if h.members[info.ID] && !info.Ended() {
			h.alive = append(h.alive, info)
			h.seen[info.ID] = true
		}
	}
	sortByDepth(h.alive)
	return nil
}

// adoptMarked adds the processes with the mark of the options to the members, except those whose environment cannot be read.
func (h *treeKiller) adoptMarked() error {
	if h.opts.MarkKey == "" || h.opts.MarkValue == "" { // an empty value would find every process that has the variable
		return nil
	}
	marked, err := FindByEnv(h.opts.MarkKey, h.opts.MarkValue)
	if _, incomplete := errors.AsType[*UnreadableError](err); err != nil && !incomplete {
		return err
	}
	for _, m := range marked {
		h.members[m.ID] = m.PID != h.self
	}
	return nil
}

// dropEmptyGroups removes sessions and groups that have no members any more, and those whose ID belongs to another leader now.
// Their IDs may be reused by other processes. The kernel does not reuse the ID of a session or group that has a member.
func (h *treeKiller) dropEmptyGroups(all []Info) {
	used := map[int]bool{}
	for _, info := range all {
		used[info.SID], used[info.PGID] = true, true
	}
	for _, info := range all {
		if start, ok := h.leaders[info.PID]; ok && start != info.Start {
			delete(h.leaders, info.PID)
		}
	}
	maps.DeleteFunc(h.leaders, func(number int, _ uint64) bool { return !used[number] })
}

// grow adds the descendants of members, and the members of sessions and groups that a member leads. It reports whether it added
// any.
func (h *treeKiller) grow(all []Info) bool {
	byPID := make(map[int]Info, len(all))
	for _, info := range all {
		byPID[info.PID] = info
		if h.members[info.ID] && (info.SID == info.PID || info.PGID == info.PID) {
			h.leaders[info.PID] = info.Start
		}
	}
	grown := false
	for _, info := range all {
		if h.members[info.ID] || info.PID == h.self {
			continue
		}
		parent, ok := byPID[info.PPID]
		child := ok && h.members[parent.ID] && info.Start >= parent.Start
		if child || h.isLedByMember(info.SID, info) || h.isLedByMember(info.PGID, info) {
			h.members[info.ID] = true
			grown = true
		}
	}
	return grown
}

// isLedByMember reports whether a member leads the session or group number, and the process is not older than that leader.
func (h *treeKiller) isLedByMember(number int, info Info) bool {
	start, ok := h.leaders[number]
	return ok && info.Start >= start
}

// sortByDepth sorts parents before children.
func sortByDepth(infos []Info) {
	parent := make(map[int]int, len(infos))
	for _, info := range infos {
		parent[info.PID] = info.PPID
	}
	depth := func(pid int) int {
		n := 0
		for next, ok := parent[pid]; ok && n <= len(infos); next, ok = parent[next] {
			n++
		}
		return n
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(depth(a.PID)-depth(b.PID), a.PID-b.PID)
	})
}
