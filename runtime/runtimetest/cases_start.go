package runtimetest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"gascity/runtime"
)

func startCases() []Case {
	return slices.Concat(commandCases(), workDirCases(), nameCases())
}

// commandCases returns the cases about the command and the environment of a Start.
func commandCases() []Case {
	return []Case{
		prove("start.runs", "Start creates the named session and starts its agent once; the session runs when Start returns.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if !w.Provider.IsRunning(s.Name) {
				t.Errorf("IsRunning(%s) = false after its start", s.Name)
			}
			if n := len(s.Await(LedgerStart, 1)); n != 1 {
				t.Errorf("the agent was started %d times, want once", n)
			}
		}),
		prove("start.command", "Command is a shell command.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true}, func(cfg *runtime.Config) {
				cfg.Command = `export GC_CASE="by $((6*7))"; ` + cfg.Command
			})
			if got := s.Environ()["GC_CASE"]; got != "by 42" {
				t.Errorf("the shell set GC_CASE to %q, want %q", got, "by 42")
			}
		}),
		prove("start.no-command", "An empty Command starts a default shell, and an empty Config is valid.", func(t T, w *World) {
			name := w.Name("a")
			if err := w.Provider.Start(w.ctx, name, runtime.Config{}); err != nil {
				t.Fatalf("Start of the empty Config = %v, want nil", err)
			}
			if !w.Provider.IsRunning(name) {
				t.Errorf("the default shell does not run")
			}
		}),
		prove("start.env", "Env reaches the agent byte for byte.", func(t T, w *World) {
			want := map[string]string{"GC_CASE_TEXT": "a 'b' \"c\" $HOME `d` \\\n☃ ;", "GC_CASE_DASH": "-x=y"}
			s := w.Start("a", Behaviour{PrintEnv: true}, func(cfg *runtime.Config) { cfg.Env = with(cfg.Env, want) })
			got := s.Environ()
			for key, value := range want {
				if got[key] != value {
					t.Errorf("%s = %q in the agent, want %q", key, got[key], value)
				}
			}
		}),
		prove("start.env-unset", "An empty value in Env unsets the variable.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true}, func(cfg *runtime.Config) {
				cfg.Env = with(cfg.Env, map[string]string{"HOME": ""})
			})
			if got, set := s.Environ()["HOME"]; set {
				t.Errorf("HOME = %q in the agent, want it unset", got)
			}
		}),
	}
}

// workDirCases returns the cases about the working directory and PreStart.
func workDirCases() []Case {
	return []Case{
		prove("start.work-dir", "The agent starts in WorkDir.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if got, want := s.Await(LedgerStart, 1)[0].Dir, realPath(s.Agent.Config.WorkDir); realPath(got) != want {
				t.Errorf("the agent started in %q, want %q", got, want)
			}
		}),
		prove("start.work-dir-missing", "A WorkDir that does not exist after PreStart is an error, and no agent is started.", func(t T, w *World) {
			s := w.Prepare("a", Behaviour{})
			s.Agent.Config.WorkDir = filepath.Join(s.Agent.Config.WorkDir, "none")
			if err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config); err == nil {
				t.Errorf("Start in a missing folder = nil, want an error")
			}
			s.nothingLeft()
			if n := len(s.Ledger()); n > 0 {
				t.Errorf("the agent ran and wrote %d entries", n)
			}
		}),
		prove("start.work-dir-made", "PreStart may create WorkDir.", func(t T, w *World) {
			s := w.Prepare("a", Behaviour{})
			dir := filepath.Join(s.Agent.Config.WorkDir, "made")
			s.Agent.Config.WorkDir, s.Agent.Config.PreStart = dir, []string{"mkdir -p " + shellQuote(dir)}
			if err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config); err != nil {
				t.Fatalf("Start = %v, want nil", err)
			}
			if got := s.Await(LedgerStart, 1)[0].Dir; realPath(got) != realPath(dir) {
				t.Errorf("the agent started in %q, want %q", got, dir)
			}
		}),
		prove("start.pre-start", "PreStart commands run in order, before the agent.", func(t T, w *World) {
			s := w.Prepare("a", Behaviour{})
			trace := filepath.Join(w.Folder(), "trace")
			s.Agent.Config.PreStart = []string{
				"echo 1 >> " + shellQuote(trace),
				"test -e " + shellQuote(s.Agent.Ledger) + " || echo 2 >> " + shellQuote(trace),
			}
			if err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config); err != nil {
				t.Fatalf("Start = %v, want nil", err)
			}
			if got, _ := w.ReadFile(trace); got != "1\n2\n" {
				t.Errorf("the file that the commands write contains %q, want %q", got, "1\n2\n")
			}
		}),
		prove("start.pre-start-failure", "A failing PreStart command aborts the start with the command's output, before any process of the agent exists.", preStartFailure),
	}
}

// nameCases returns the cases about the session name of a Start, and concurrent Starts.
func nameCases() []Case {
	return []Case{
		prove("start.invalid-name", "An invalid name gives ErrInvalidName before any side effect.", func(t T, w *World) {
			marker := filepath.Join(w.Folder(), "marker")
			for _, name := range []string{"", "a.b", "a/b", "../a", "-a", "a b", "a:b", "a=b", "ä", "a\n", "a\x00", strings.Repeat("a", runtime.MaxNameLen+1)} {
				agent := w.Agent(Behaviour{})
				agent.Config.PreStart = []string{"touch " + shellQuote(marker)}
				expect(t, runtime.ErrInvalidName, w.Provider.Start(w.ctx, name, agent.Config), "Start(%q)", name)
			}
			if w.Exists(marker) {
				t.Errorf("pre_start ran for an invalid name")
			}
		}),
		prove("start.duplicate", "Start returns ErrSessionExists if a live session has the name, without any side effect, and does not change that session.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			pid, marker, other := s.PID(), filepath.Join(w.Folder(), "marker"), w.Agent(Behaviour{})
			other.Config.PreStart = []string{"touch " + shellQuote(marker)}
			expect(t, runtime.ErrSessionExists, w.Provider.Start(w.ctx, s.Name, other.Config), "a second Start")
			if w.Exists(marker) {
				t.Errorf("pre_start of the second Start ran")
			}
			if !w.Alive(pid) || !w.Provider.IsRunning(s.Name) {
				t.Errorf("the first session did not survive the second Start")
			}
			s.Nudge("still here")
			s.AwaitPrompt("still here")
		}),
		prove("start.duplicate-race", "Of twenty concurrent Starts of one name exactly one succeeds and nineteen return ErrSessionExists.", func(_ T, w *World) {
			s := w.Prepare("a", Behaviour{})
			s.race(20, func(int) error { return w.Provider.Start(w.ctx, s.Name, s.Agent.Config) })
		}),
		prove("start.duplicate-processes", "Of several concurrent Starts of one name by different processes exactly one succeeds.", func(_ T, w *World) {
			s := w.Prepare("a", Behaviour{})
			s.race(6, func(i int) error {
				if i%2 == 0 {
					return w.Provider.Start(w.ctx, s.Name, s.Agent.Config)
				}
				return w.harness.Elsewhere(w.ctx, w.Dir, s.Name, s.Agent.Config)
			})
		}).needs(NeedElsewhere),
		prove("start.independent", "Calls for different names do not wait for each other.", func(t T, w *World) {
			slow, gate, quick := w.Prepare("slow", Behaviour{}), w.gate(), w.Prepare("quick", Behaviour{})
			slow.Agent.Config.PreStart = []string{gate.command}
			ctx, cancel := context.WithCancel(w.ctx)
			ended := startAsync(ctx, w.Provider, slow)
			defer func() {
				cancel()
				t.Logf("the slow Start ended with %v", awaitResult(w, "the end of the slow Start", ended))
			}()
			gate.reached()
			expect(t, nil, awaitResult(w, "a Start beside a slow one", startAsync(ctx, w.Provider, quick)), "Start")
			quick.Nudge("go on")
			quick.AwaitPrompt("go on")
			select {
			case err := <-ended:
				t.Errorf("the other Start ended early: %v", err)
				ended <- err
			default:
			}
		}),
	}
}

// preStartFailure checks that a failing PreStart command aborts the start, and that nothing is left.
func preStartFailure(t T, w *World) {
	s := w.Prepare("a", Behaviour{})
	marker := filepath.Join(w.Folder(), "marker")
	s.Agent.Config.PreStart = []string{"echo no worktree today >&2; exit 3", "touch " + shellQuote(marker)}
	err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config)
	if err == nil || !strings.Contains(err.Error(), "no worktree today") {
		t.Errorf("Start = %v, want an error with the command's output", err)
	}
	if w.Exists(marker) {
		t.Errorf("the next pre_start command ran")
	}
	if n := len(s.Ledger()); n > 0 {
		t.Errorf("the agent ran and wrote %d entries", n)
	}
	s.nothingLeft()
	s.startsAgain()
}

// race calls start count times concurrently. It checks that exactly one call succeeds with one
// agent, and that the others return ErrSessionExists.
func (s *Session) race(count int, start func(i int) error) {
	s.w.t.Helper()
	errs := make([]error, count)
	var wait sync.WaitGroup
	ready := make(chan struct{})
	for i := range count {
		wait.Go(func() {
			<-ready
			errs[i] = start(i)
		})
	}
	close(ready)
	wait.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		expect(s.w.t, runtime.ErrSessionExists, err, "a Start that lost the race")
	}
	if started := len(s.Await(LedgerStart, 1)); won != 1 || started != 1 {
		s.w.t.Errorf("%d Starts succeeded and %d agents were started, want one and one", won, started)
	}
}

// with returns the variables of more and of env; if both have a variable, that of more counts.
func with(env, more map[string]string) map[string]string {
	all := maps.Clone(more)
	maps.Copy(all, env)
	maps.Copy(all, more)
	return all
}

// realPath resolves symbolic links if the directory is on this machine.
func realPath(path string) string {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
