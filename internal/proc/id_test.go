package proc

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestIDSurvivesItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ID{PID: rapid.IntRange(1, 1<<30).Draw(t, "pid"), Start: rapid.Uint64().Draw(t, "start")}
		got, err := ParseID(want.String())
		if err != nil || got != want {
			t.Fatalf("ParseID(%q) = %v, %v", want, got, err)
		}
	})
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"1@2", "@", "1@", "-1@2", "0@0", "1@-2", "1@2@3", "１@2", "1 @2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err == nil && id.PID < 1 {
			t.Errorf("ParseID(%q) gave pid %d", s, id.PID)
		}
	})
}

func TestStatOfOneselfAgreesWithTheSystem(t *testing.T) {
	info, err := Stat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	if info.PPID != os.Getppid() || info.PGID != syscall.Getpgrp() || info.SID != sid || info.UID != os.Geteuid() {
		t.Errorf("Stat = %+v, system says ppid %d, group %d, session %d, uid %d",
			info, os.Getppid(), syscall.Getpgrp(), sid, os.Geteuid())
	}
	if self, err := Self(); err != nil || self != info.ID {
		t.Errorf("Self = %v, %v; Stat gave %v", self, err, info.ID)
	}
	if alive, err := Alive(info.ID); !alive || err != nil {
		t.Errorf("this process is alive=%v, %v", alive, err)
	}
	all, err := List()
	if err != nil || !slices.ContainsFunc(all, func(i Info) bool { return i.ID == info.ID }) {
		t.Errorf("List does not contain this process (%v)", err)
	}
}

func TestRecycledPidIsAnotherProcess(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	for _, other := range []ID{{id.PID, id.Start - 1}, {id.PID, id.Start + 1}, {id.PID, 0}} {
		if alive, err := Alive(other); alive || err != nil {
			t.Errorf("Alive(%v) = %v, %v for a pid that belongs to %v", other, alive, err, id)
		}
		if err := Signal(other, syscall.SIGKILL); !errors.Is(err, ErrGone) {
			t.Errorf("Signal(%v) = %v, want ErrGone", other, err)
		}
		if err := WaitGone(t.Context(), other); err != nil {
			t.Errorf("WaitGone(%v) = %v", other, err)
		}
	}
	if alive, err := Alive(id); !alive || err != nil {
		t.Errorf("the real process was hit: alive=%v, %v", alive, err)
	}
}

func TestGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	pid := cmd.Process.Pid
	if _, err := Stat(pid); !errors.Is(err, ErrGone) {
		t.Errorf("Stat = %v, want ErrGone", err)
	}
	if alive, err := Alive(ID{PID: pid}); alive || err != nil {
		t.Errorf("Alive = %v, %v", alive, err)
	}
	for name, call := range map[string]func() error{
		"Argv":           func() error { _, err := Argv(pid); return err },
		"Environ":        func() error { _, err := Environ(pid); return err },
		"Tree":           func() error { _, err := Tree(pid); return err },
		"AnyNamedInTree": func() error { _, err := AnyNamedInTree(pid, []string{"x"}); return err },
		"Signal":         func() error { return Signal(ID{PID: pid}, 0) },
	} {
		if err := call(); !errors.Is(err, ErrGone) {
			t.Errorf("%s = %v, want ErrGone", name, err)
		}
	}
}

func TestImpossiblePidsAreRefused(t *testing.T) {
	for _, pid := range []int{0, -1} {
		if _, err := Stat(pid); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("Stat(%d) = %v, want a refusal", pid, err)
		}
		if err := Signal(ID{PID: pid}, 0); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("Signal(%d) = %v, want a refusal", pid, err)
		}
	}
}

func TestZombieIsDead(t *testing.T) {
	h := start(t, "sleep")
	id := h.ready(t, 1)[0]
	if err := Signal(id, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The helper is not collected before the end of the test.
	eventually(t, "it becomes a zombie", func() bool {
		info, err := Stat(id.PID)
		return err == nil && info.State == StateZombie && info.ID == id
	})
	if alive, err := Alive(id); alive || err != nil {
		t.Errorf("Alive(zombie) = %v, %v", alive, err)
	}
	if err := Signal(id, syscall.SIGTERM); !errors.Is(err, ErrGone) {
		t.Errorf("Signal(zombie) = %v, want ErrGone", err)
	}
	if err := WaitGone(t.Context(), id); err != nil {
		t.Errorf("WaitGone(zombie) = %v", err)
	}
	if args, err := Argv(id.PID); len(args) != 0 || err != nil {
		t.Errorf("Argv(zombie) = %q, %v", args, err)
	}
}

func TestStoppedIsAlive(t *testing.T) {
	id := start(t, "sleep").ready(t, 1)[0]
	if err := Signal(id, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is stopped", func() bool {
		info, err := Stat(id.PID)
		return err == nil && info.State == StateStopped
	})
	if alive, err := Alive(id); !alive || err != nil {
		t.Errorf("Alive(stopped) = %v, %v", alive, err)
	}
}

func TestBootIDIsStable(t *testing.T) {
	first, err := BootID()
	second, _ := BootID()
	if err != nil || first == "" || first != second || strings.ContainsAny(first, "\n ") {
		t.Errorf("BootID = %q, then %q, %v", first, second, err)
	}
}

func TestErrorNamesTheProcess(t *testing.T) {
	_, err := Stat(1 << 29)
	var e *Error
	if !errors.As(err, &e) || e.PID != 1<<29 || !strings.Contains(err.Error(), "536870912") {
		t.Errorf("error %v does not name the process", err)
	}
}
