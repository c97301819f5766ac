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

// ErrSurvivors says that processes of a tree outlived [KillTree].
var ErrSurvivors = errors.New("processes survived")

const (
	defaultGrace    = 2 * time.Second
	killWait        = 5 * time.Second // for the kernel to take down what was killed
	minPollInterval = 2 * time.Millisecond
	maxPollInterval = 50 * time.Millisecond // looks become rarer up to this
	maxFreezes      = 100                   // passes to stop a tree that forks while it is stopped
)

// KillOptions changes how [KillTree] works. The zero value is useful.
type KillOptions struct {
	// Grace is how long the tree has to end by itself after SIGTERM. Default 2 s;
	// negative means no SIGTERM at all.
	Grace time.Duration
	// MarkKey and MarkValue name an environment entry that the processes of the tree
	// were started with. Processes of the calling user that carry it belong to the
	// tree even when they have left it. Without a key there is no such sweep.
	MarkKey, MarkValue string
}

// KillReport is the result for a process tree.
type KillReport struct {
	Found      int    // different processes that belonged to the tree
	Terminated int    // of these, how many were sent SIGTERM
	Killed     int    // of these, how many were sent SIGKILL
	Survivors  []Info // those that live on
	Unreadable []int  // processes of this user whose mark could not be read, see [UnreadableError]
}

// KillTree ends a process with everything that descends from it: SIGTERM from the leaves to
// the root, a bounded wait, then SIGSTOP from the root to the leaves until nothing new
// appears, and SIGKILL. It is for places without a subreaper.
//
// To the tree belong the root, its descendants, the members of sessions and process groups
// that one of these leads, what was seen to belong once, and what carries the mark of the
// options. A signal goes only to a process whose start time was verified, never to the
// caller. Without a mark, a process that left tree, session and group before the call is
// not found.
//
// A root that is gone already is no error: the rest is ended. The error is [ErrSurvivors] when
// processes are left, the cause of ctx when it ended first (nothing more is signalled then),
// or a failure to list processes; the census is true in each case. A zombie counts as gone:
// its parent collects it. A nil opts is the zero value.
func KillTree(ctx context.Context, root ID, opts *KillOptions) (KillReport, error) {
	if opts == nil {
		opts = &KillOptions{}
	}
	if root.PID <= 1 || root.PID == os.Getpid() {
		return KillReport{}, &Error{Op: "kill tree of", PID: root.PID, Err: errors.New("refused")}
	}
	h := &treeKiller{
		opts: opts, root: root, self: os.Getpid(),
		members: map[ID]bool{root: true}, leaders: map[int]uint64{},
		seen: map[ID]bool{}, termed: map[ID]bool{}, killed: map[ID]bool{},
	}
	err := h.run(ctx)
	if err == nil && len(h.alive) > 0 {
		err = fmt.Errorf("kill tree of %s: %w: %v", root, ErrSurvivors, h.alive)
	}
	return KillReport{
		Found: len(h.seen), Terminated: len(h.termed), Killed: len(h.killed),
		Survivors: h.alive, Unreadable: h.unreadable,
	}, err
}

// treeKiller is one run of [KillTree]; one goroutine owns it.
type treeKiller struct {
	opts *KillOptions
	root ID
	self int

	members    map[ID]bool    // belonged to the tree at some look
	leaders    map[int]uint64 // session or group number -> start of the member that leads it
	alive      []Info         // of the last look, parents before children
	unreadable []int

	seen, termed, killed map[ID]bool
}

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

// freeze stops every process of the tree, so that none can fork its way out while the
// others are killed. If it fails, they go on.
func (h *treeKiller) freeze() error {
	frozen := map[ID]bool{}
	for range maxFreezes {
		if err := h.refresh(); err != nil {
			for id := range frozen {
				_ = Signal(id, syscall.SIGCONT) // it may have ended
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
	return nil // it forks faster than it can be stopped; SIGKILL still goes to all that is known
}

// resume lets a stopped process hear its SIGTERM.
func (h *treeKiller) resume(info Info) {
	if info.State == StateStopped && h.termed[info.ID] {
		h.signal(info, syscall.SIGCONT, nil)
	}
}

// wait looks until the tree is gone (true) or the time is over (false), and calls each
// for what lives at every look.
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
			pause = min(2*pause, maxPollInterval)
			next.Reset(pause)
		}
	}
}

// signal records a process in sent if it could be signalled. A failure needs no
// handling here: the next look shows what lives, and the census reports it.
func (h *treeKiller) signal(info Info, sig syscall.Signal, sent map[ID]bool) {
	if Signal(info.ID, sig) == nil && sent != nil {
		sent[info.ID] = true
	}
}

// refresh makes one pass over the machine and refreshes members and living.
func (h *treeKiller) refresh() error {
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

func (h *treeKiller) adoptMarked() error {
	if h.opts.MarkKey == "" {
		return nil
	}
	marked, err := FindByEnv(h.opts.MarkKey, h.opts.MarkValue)
	var unreadable *UnreadableError
	switch {
	case errors.As(err, &unreadable):
		h.unreadable = unreadable.PIDs
	case err != nil:
		return err
	default:
		h.unreadable = nil
	}
	for _, m := range marked {
		h.members[m.ID] = m.PID != h.self
	}
	return nil
}

// dropEmptyGroups drops sessions and groups without members, and those whose number now belongs
// to another leader: from then on the number may mean somebody else's. While a session or
// group has a member, the kernel does not give its number away.
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

// grow adds descendants and fellows in sessions and groups of known members. It is true
// while there were new ones.
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

// isLedByMember reports whether a member leads this session or group and is not younger
// than the process in it.
func (h *treeKiller) isLedByMember(number int, info Info) bool {
	start, ok := h.leaders[number]
	return ok && info.Start >= start
}

// sortByDepth puts parents before children.
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
