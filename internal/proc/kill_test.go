package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func assertGone(t *testing.T, ids ...ID) {
	t.Helper()
	for _, id := range ids {
		if alive, err := Alive(id); alive || err != nil {
			t.Errorf("process %v: alive=%v, %v", id, alive, err)
		}
	}
}

func TestKillTreeEndsDeafSetsidAndDaemonProcesses(t *testing.T) {
	key, mark := "GC_PROC_TEST_KILL", fmt.Sprintf("k%d", os.Getpid())
	h := start(t, "child,setsid,daemon,sleep", key+"="+mark)
	ids := h.ready(t, 4)
	bystander := start(t, "sleep", key+"=other").ready(t, 1)[0]
	root := rootOf(t, h)
	census, err := KillTree(t.Context(), root, &KillOptions{Grace: time.Second, MarkKey: key, MarkValue: mark}) // the polite one needs time on a busy machine
	if err != nil {
		t.Fatal(err)
	}
	assertGone(t, ids...)
	if census.Found != 4 || census.Terminated != 4 || census.Killed != 3 || len(census.Survivors) != 0 {
		t.Errorf("census %+v, want 4 found and termed, 3 deaf ones killed", census)
	}
	if alive, err := Alive(bystander); !alive || err != nil {
		t.Errorf("a process of another tree was ended (%v)", err)
	}
	if left := found(t, key, mark); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without a mark, what the root left in its own session is still found.
func TestKillTreeFindsOrphansOfTheSession(t *testing.T) {
	h := start(t, "orphan,sleep")
	ids := h.ready(t, 2)
	root := rootOf(t, h)
	if tree, err := Tree(root.PID); err != nil || len(tree) != 1 {
		t.Fatalf("tree %v, %v; want an orphan outside of it", tree, err)
	}
	if _, err := KillTree(t.Context(), root, &KillOptions{Grace: 20 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	assertGone(t, ids...)
}

func TestKillTreeLetsThePoliteEndThemselves(t *testing.T) {
	h := start(t, "sleep")
	root := h.ready(t, 1)[0]
	if err := Signal(root, syscall.SIGSTOP); err != nil { // a stopped process must hear SIGTERM too
		t.Fatal(err)
	}
	census, err := KillTree(t.Context(), root, &KillOptions{Grace: waitLimit})
	if err != nil || census.Found != 1 || census.Terminated != 1 || census.Killed != 0 {
		t.Errorf("census %+v, %v", census, err)
	}
	assertGone(t, root)
}

// Processes that fork themselves out of tree and session while they are being killed.
func TestKillTreeCatchesAForker(t *testing.T) {
	key, mark := "GC_PROC_TEST_FORK", fmt.Sprintf("f%d", os.Getpid())
	h := start(t, "forker,sleep", key+"="+mark)
	first := <-h.lines
	root := rootOf(t, h)
	census, err := KillTree(t.Context(), root, &KillOptions{Grace: -1, MarkKey: key, MarkValue: mark})
	if err != nil {
		t.Fatalf("%+v: %v (first: %s)", census, err, first)
	}
	if census.Terminated != 0 || census.Killed == 0 || census.Killed > census.Found { // some end by themselves
		t.Errorf("census %+v", census)
	}
	if left := found(t, key, mark); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestKillTreeOfAnotherInstanceTouchesNothing(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	census, err := KillTree(t.Context(), ID{PID: id.PID, Start: id.Start + 1}, nil)
	if err != nil || census.Found != 0 {
		t.Errorf("census %+v, %v", census, err)
	}
	if alive, _ := Alive(id); !alive {
		t.Error("the new owner of the pid was ended")
	}
}

func TestKillTreeRefusesInitAndItself(t *testing.T) {
	self, _ := Self()
	for _, id := range []ID{{PID: 0}, {PID: -1}, {PID: 1}, self} {
		if _, err := KillTree(t.Context(), id, nil); err == nil {
			t.Errorf("KillTree(%v) was not refused", id)
		}
	}
}

func TestKillTreeStopsWhenItsContextEnds(t *testing.T) {
	h := start(t, "deaf,sleep")
	root := h.ready(t, 1)[0]
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	census, err := KillTree(ctx, root, &KillOptions{Grace: waitLimit})
	if !errors.Is(err, why) || len(census.Survivors) != 1 || census.Survivors[0].ID != root {
		t.Errorf("census %+v, %v", census, err)
	}
	if alive, _ := Alive(root); !alive {
		t.Error("it was killed although no caller waited for it")
	}
}

func rootOf(t *testing.T, h *helper) ID {
	t.Helper()
	info, err := Stat(h.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.ID
}

func TestWaitGoneReturnsAtTheEndAndNotBefore(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	result := make(chan error, 1)
	go func() { result <- WaitGone(t.Context(), id) }()
	select {
	case err := <-result:
		t.Fatalf("WaitGone = %v while the process lives", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-result:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waitLimit):
		t.Error("WaitGone did not notice the end")
	}
	assertGone(t, id)
}

func TestWaitGoneObeysItsContext(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(why) })
	if err := WaitGone(ctx, id); !errors.Is(err, why) {
		t.Errorf("WaitGone = %v, want the cause of ctx", err)
	}
	if err := WaitGone(ctx, id); !errors.Is(err, why) {
		t.Errorf("WaitGone = %v, want the cause of an ended ctx", err)
	}
}

func TestPeerUID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	uid, pid, err := PeerUID(server)
	if err != nil || uid != os.Getuid() || pid != os.Getpid() {
		t.Errorf("peer is user %d process %d, %v", uid, pid, err)
	}
	client.Close()
	server.Close()
	if _, _, err := PeerUID(server); err == nil {
		t.Error("a closed connection has credentials")
	}
}
