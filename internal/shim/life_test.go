package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/internal/proc"
	"gascity/internal/statedir"
)

// marked counts the processes of a session.
func marked(t *testing.T, name string) int {
	t.Helper()
	found, err := proc.FindByEnv(proc.TokenKey, "token-of-"+name)
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// An interactive shell ignores SIGTERM. It ends at once all the same.
func TestInteractiveShellEndsAtOnce(t *testing.T) {
	f := testFleet(t)
	for _, shell := range []string{"bash", "sh"} {
		s := spec(shell, "")
		s.Argv = []string{shell, "-i"}
		s.Env = append(s.Env, "PS1=ready>", "ENV=", "HOME="+t.TempDir())
		c := start(t, f, s)
		if err := c.Send(t.Context(), []byte("sleep 1000 & echo up$?\r")); err != nil {
			t.Fatal(err)
		}
		frameWith(t, c, "up0")
		began := time.Now()
		report, err := f.Stop(t.Context(), shell, nil, 30*time.Second)
		if err != nil || report.Killed > 0 || report.Found < 2 {
			t.Errorf("%s: stop: %+v, %v; want two found, none killed", shell, report, err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v to end", shell, took)
		} else {
			t.Logf("%s ended in %v", shell, took)
		}
	}
}

// An agent that does its last work after SIGTERM gets its grace, undisturbed.
func TestGraceIsGiven(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	saved := filepath.Join(t.TempDir(), "saved")
	s := spec("saving", fmt.Sprintf(`trap 'sleep 1 && touch %s; exit' TERM; echo up; while :; do sleep 0.05; done`, saved))
	frameWith(t, start(t, f, s), "up")
	if _, err := f.Stop(t.Context(), "saving", nil, 30*time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(saved); err != nil {
		t.Errorf("the agent was not let finish: %v", err)
	}
}

// Relaunches at once, also against a stop, leave one agent or none, and never an
// unknown one.
func TestRacingRelaunches(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("race", "cat"))
	argv := []string{"/bin/sh", "-c", "trap '' HUP; exec sleep 1000"}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := c.Relaunch(t.Context(), argv, 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	waitFor(t, "the last agent", func() bool { return marked(t, "race") == 1 })
	for range 10 {
		s := spec("race", "trap '' HUP; exec sleep 1000")
		wg.Go(func() {
			err := c.Relaunch(t.Context(), argv, 0)
			if err != nil && !errors.Is(err, ErrExited) && !errors.Is(err, ErrNoShim) {
				t.Error(err)
			}
		})
		if _, err := f.Stop(t.Context(), "race", nil, 0); err != nil {
			t.Fatal(err)
		}
		expectNothing(t, f, "race")
		wg.Wait()
		c = start(t, f, s)
	}
}

// The end of the previous agent is not taken for that of the next.
func TestRelaunchOfWhatIsJustEnding(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("again", "exit 3"))
	for range 30 {
		if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "sleep 0.00$(($$ % 9)); exit 3"}, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "echo here; exec sleep 1000"}, time.Second); err != nil {
		t.Fatal(err)
	}
	frameWith(t, c, "here")
	for range 20 {
		if s, err := c.State(t.Context()); err != nil || s.Exit != nil {
			t.Fatalf("the new agent is said to have ended: %+v, %v", s.Exit, err)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// A relaunch that fails leaves a session that has ended, not one without an agent.
func TestFailedRelaunch(t *testing.T) {
	f := testFleet(t)
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := spec("failed", "cat")
	s.Dir = dir
	c := start(t, f, s)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Relaunch(t.Context(), s.Argv, 0); err == nil {
		t.Fatal("a relaunch in a folder that does not exist succeeds")
	}
	if state, err := c.State(t.Context()); err != nil || state.Exit == nil {
		t.Errorf("after a failed relaunch: %+v, %v; want ended", state.Exit, err)
	}
	if err := c.Send(t.Context(), []byte("x")); !errors.Is(err, ErrExited) {
		t.Errorf("Send: %v, want ErrExited", err)
	}
}

// The record of a previous agent's end does not stand for one that lives and lost its
// shim.
func TestRelaunchRemovesTheCorpse(t *testing.T) {
	f := testFleet(t)
	c := start(t, f, spec("corpse", "exit 3"))
	waitFor(t, "the record of the end", func() bool { return !statedir.NotExists(statedir.For(f.opts.Dir, "corpse").ExitRecord()) })
	if err := c.Relaunch(t.Context(), []string{"/bin/sh", "-c", "trap '' HUP; while :; do sleep 1000; done"}, 0); err != nil {
		t.Fatal(err)
	}
	s, err := c.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(s.Shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss", func() bool {
		s, err := f.Observe(t.Context(), "corpse")
		return err == nil && s.IsLost()
	})
	if _, err := f.Stop(t.Context(), "corpse", nil, 0); err != nil {
		t.Fatal(err)
	}
	expectNothing(t, f, "corpse")
}

// An exit that cannot be written down is not lost: the shim stays until it can.
func TestExitOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := testFleet(t)
	c := start(t, f, spec("fulldisk", "echo last words; read x; exit 7"))
	frameWith(t, c, "last words")
	inTheWay := statedir.For(f.opts.Dir, "fulldisk").ExitRecord() + ".new"
	if err := os.MkdirAll(filepath.Join(inTheWay, "fulldisk"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Keys(t.Context(), []string{"Enter"}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the exit", func() bool { s, err := c.State(t.Context()); return err == nil && s.Exit != nil })
	<-time.After(lingerSeen + 500*time.Millisecond)
	if s, err := c.State(t.Context()); err != nil || s.Exit == nil || s.Exit.Code != 7 {
		t.Fatalf("the shim left although nothing else knows the exit: %+v, %v", s.Exit, err)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the record of the end", func() bool {
		s, err := f.Observe(t.Context(), "fulldisk")
		return err == nil && s.ExitRecord != nil && s.ExitRecord.Exit.Code == 7
	})
}

// A program that overwrote its environment is an orphan all the same.
func TestOrphanWithoutItsMark(t *testing.T) {
	f := testFleet(t)
	frameWith(t, start(t, f, spec("unmarked", "exec env -i /bin/sh -c \"trap '' HUP; echo up; while :; do sleep 1000; done\"")), "up")
	if n := marked(t, "unmarked"); n > 0 {
		t.Fatalf("%d processes have the mark, want none", n)
	}
	s, err := f.Observe(t.Context(), "unmarked")
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(s.Record.Shim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the loss", func() bool { s, err := f.Observe(t.Context(), "unmarked"); return err == nil && s.IsLost() })
	if _, err := f.Start(t.Context(), spec("unmarked", "cat")); !errors.Is(err, ErrOrphanProcesses) {
		t.Errorf("Start beside it: %v, want ErrOrphans", err)
	}
	if _, err := f.Stop(t.Context(), "unmarked", nil, 0); err != nil {
		t.Fatal(err)
	}
	if alive, err := proc.Alive(s.Record.Root); err != nil || alive {
		t.Errorf("the orphan is alive (%v) after the stop", err)
	}
}

// Many who only look do not make a free name look taken.
func TestLookersDoNotTakeTheName(t *testing.T) {
	f := testFleet(t)
	dir := statedir.For(f.opts.Dir, "seen")
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir.Lock(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					if _, err := dir.IsLocked(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for range 20 {
		claim, _, err := f.Claim(t.Context(), "seen")
		if err != nil {
			t.Error(err)
			break
		}
		if err := claim.Release(); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}
