package proc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestParseStat(t *testing.T) {
	const rest = " S 41 42 43 0 -1 4194304 102 0 0 0 0 0 0 0 20 0 1 0 45614 3133440 413"
	want := Info{ID: ID{PID: 4711, Start: 45614}, PPID: 41, PGID: 42, SID: 43, State: StateSleeping}
	for _, comm := range []string{"cat", "a) b (c", "", ") S 1 2 3 (", "new\nline", "((", "))", "2.1.29", " "} {
		want.Comm = comm
		got, err := parseStat([]byte("4711 (" + comm + ")" + rest + "\n"))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("comm %q: %v\n%s", comm, err, diff)
		}
	}
}

func TestFirstThreadEndedIsNoZombie(t *testing.T) {
	for threads, want := range map[string]State{"1": StateZombie, "2": StateSleeping} {
		line := "7 (x) Z 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 " + threads + " 0 99 0 0"
		if got, err := parseStat([]byte(line)); err != nil || got.State != want {
			t.Errorf("%s threads: %v, %v, want %v", threads, got.State, err, want)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b (c) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0"))
	f.Add([]byte("7 (x) "))
	f.Add([]byte(")("))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parseStat(data); err == nil && !strings.Contains(string(data), ")") {
			t.Errorf("accepted %q", data)
		}
	})
}

// A rename changes neither identity nor start time, whatever the name contains.
func TestRenamedProcessKeepsItsIdentity(t *testing.T) {
	for _, name := range []string{"2.1.29", "a) b (c", "x y  z", ") Z 1 1 1"} {
		id := start(t, "comm="+name+",sleep").ready(t, 1)[0]
		info, err := Stat(id.PID)
		if err != nil || info.Comm != name || info.PPID != os.Getpid() || info.SID != id.PID {
			t.Errorf("renamed to %q: %+v, %v", name, info, err)
		}
		if alive, err := Alive(id); !alive || err != nil {
			t.Errorf("renamed to %q: alive=%v, %v", name, alive, err)
		}
	}
}

func TestTreeByChildrenAndByListAgree(t *testing.T) {
	h := start(t, "child,setsid,sleep")
	h.ready(t, 3)
	byChildren, err := readTree(h.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	byList, err := treeFromList(h.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(byChildren) != 3 || !sameParents(byChildren, byList) {
		t.Errorf("tree by children %v, by list %v, want 3 processes", byChildren, byList)
	}
}

// The tree of a process that starts and collects children all the time has each process that lives throughout.
func TestTreeOfABusyParentIsComplete(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & sleep 1000 & while :; do (:) & (:) & (:) & (:) & wait -n 2>/dev/null || :; done; :")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = KillTree(context.WithoutCancel(t.Context()), ID{cmd.Process.Pid, statOf(t, cmd.Process.Pid).Start}, &KillOptions{Grace: -1})
		_ = cmd.Wait()
	})
	names := []string{"sleep"}
	eventually(t, "both run", func() bool {
		tree, err := Tree(cmd.Process.Pid)
		return err == nil && countNamed(tree, names) == 2
	})
	for range 100 {
		tree, err := Tree(cmd.Process.Pid)
		if n := countNamed(tree, names); err != nil || n != 2 {
			t.Fatalf("the tree has %d of 2 processes: %v", n, err)
		}
		if fits, err := AnyNamedInTree(cmd.Process.Pid, names); !fits || err != nil {
			t.Fatalf("AnyNamedInTree = %v, %v", fits, err)
		}
	}
}

// Processes that have left the tree of their parents, their session and their environment stay descendants of a subreaper.
func TestKillDescendantsOfASubreaper(t *testing.T) {
	h := start(t, "subreaper,child,setsid,daemon,forker,sleep")
	h.ready(t, 4)
	root := rootOf(t, h)
	if !IsSubreaper(root) {
		t.Fatal("the helper is no subreaper")
	}
	report, err := KillDescendants(t.Context(), root, 50*time.Millisecond)
	if err != nil || report.Found < 3 || report.Killed < 3 || len(report.Survivors) != 0 {
		t.Errorf("report %+v, %v", report, err)
	}
	tree, err := Tree(root.PID)
	if live := Live(tree, root.PID); err != nil || len(live) != 0 {
		t.Errorf("left behind: %v, %v", live, err)
	}
	if alive, err := Alive(root); !alive || err != nil {
		t.Errorf("the subreaper was stopped: %v", err)
	}
}

// Without its subreaper, descendants may be anywhere.
func TestKillDescendantsOfAnEndedSubreaper(t *testing.T) {
	h := start(t, "subreaper,daemon,sleep")
	h.ready(t, 2)
	root := rootOf(t, h)
	if err := Signal(root, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := WaitGone(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := KillDescendants(t.Context(), root, -1); !errors.Is(err, ErrGone) {
		t.Errorf("KillDescendants = %v, want ErrGone", err)
	}
	if IsSubreaper(root) {
		t.Error("a process that has exited is a subreaper")
	}
}

// The children of a subreaper have its variable and are none.
func TestChildIsNoSubreaper(t *testing.T) {
	h := start(t, "subreaper,child,sleep")
	for _, id := range h.ready(t, 2) {
		if got := IsSubreaper(id); got != (id.PID == h.cmd.Process.Pid) {
			t.Errorf("IsSubreaper(%v) = %v", id, got)
		}
	}
}

func countNamed(tree []Info, names []string) (n int) {
	for _, info := range tree {
		if fits, err := Named(info, names); fits && err == nil {
			n++
		}
	}
	return n
}

func statOf(t *testing.T, pid int) Info {
	t.Helper()
	info, err := Stat(pid)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Without pidfds the fallback gives the same answers.
func TestWaitByLooking(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	time.AfterFunc(20*time.Millisecond, func() { unix.Kill(id.PID, unix.SIGKILL) })
	if err := waitByPolling(t.Context(), id); err != nil {
		t.Error(err)
	}
	assertGone(t, id)
}

// List is one cheap pass: a machine of 1,000 processes costs it a few milliseconds. The
// measure is relative, because the machine may be busy: it must beat one run of ps by far.
func TestListIsCheaperThanAFork(t *testing.T) {
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip(err)
	}
	const rounds = 5
	var ps, own time.Duration
	for range rounds {
		begin := time.Now()
		if err := exec.Command("ps", "-eo", "pid,ppid,comm").Run(); err != nil {
			t.Skip(err)
		}
		ps += time.Since(begin)
		begin = time.Now()
		if _, err := List(); err != nil {
			t.Fatal(err)
		}
		own += time.Since(begin)
	}
	if own > ps {
		t.Errorf("List took %v, ps %v", own/rounds, ps/rounds)
	}
}

func BenchmarkList(b *testing.B) {
	n := 0
	for b.Loop() {
		all, err := List()
		if err != nil {
			b.Fatal(err)
		}
		n = len(all)
	}
	b.ReportMetric(float64(n), "processes")
}

func BenchmarkFindByEnv(b *testing.B) {
	for b.Loop() {
		if _, err := FindByEnv("GC_PROC_NO_SUCH_KEY", ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlive(b *testing.B) {
	self, err := Self()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if alive, err := Alive(self); !alive || err != nil {
			b.Fatal(err)
		}
	}
}
