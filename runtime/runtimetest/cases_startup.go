package runtimetest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/runtime"
)

// identityCases returns the cases about the identity in the agent's environment.
func identityCases() []Case {
	return []Case{
		prove("start.identity", "The agent finds GC_SESSION_NAME, GC_INSTANCE_TOKEN and GC_DIR in its environment.", func(t T, w *World) {
			s := w.Start("a", Behaviour{PrintEnv: true})
			env := s.Environ()
			if env["GC_SESSION_NAME"] != s.Name || env["GC_INSTANCE_TOKEN"] == "" || env["GC_DIR"] != s.Agent.Config.WorkDir {
				t.Errorf("GC_SESSION_NAME = %q, GC_DIR = %q, GC_INSTANCE_TOKEN has %d bytes; want %q, %q and some",
					env["GC_SESSION_NAME"], env["GC_DIR"], len(env["GC_INSTANCE_TOKEN"]), s.Name, s.Agent.Config.WorkDir)
			}
		}),
		prove("start.token", "Each instance has its own instance token.", func(t T, w *World) {
			first, second := w.Start("a", Behaviour{PrintEnv: true}), w.Start("b", Behaviour{PrintEnv: true})
			seen := map[string]bool{first.Environ()["GC_INSTANCE_TOKEN"]: true, second.Environ()["GC_INSTANCE_TOKEN"]: true}
			first.Stop()
			again := w.Start("a", Behaviour{PrintEnv: true})
			if seen[again.Environ()["GC_INSTANCE_TOKEN"]] = true; len(seen) != 3 {
				t.Errorf("three instances have only %d different tokens", len(seen))
			}
		}),
	}
}

// startupCases returns the cases about readiness, the end of the start-up and the first prompt.
func startupCases() []Case {
	return append([]Case{
		prove("start.ready", "Start returns when the agent has shown ReadyPromptPrefix.", func(t T, w *World) {
			s := w.Start("a", Behaviour{SlowStart: 500 * time.Millisecond})
			out, err := w.Provider.Peek(s.Name, 0)
			if err != nil || !strings.Contains("\n"+out, "\n"+s.Agent.Config.ReadyPromptPrefix) {
				t.Errorf("Start returned before %q was to be seen: %q, %v", s.Agent.Config.ReadyPromptPrefix, out, err)
			}
		}),
		prove("start.fire-and-forget", "Without any hint a start does not wait for the agent to be ready.", func(_ T, w *World) {
			s := w.Prepare("a", Behaviour{Hang: true})
			s.Agent.Config.ReadyPromptPrefix = ""
			s.startsWithoutWaiting()
		}),
		prove("start.one-shot", "Start does not wait for the readiness of a one-shot command, and its exit during start-up is not a failure.", func(_ T, w *World) {
			hanging := w.Prepare("hang", Behaviour{Hang: true})
			hanging.Agent.Config.Lifecycle = runtime.LifecycleOneShot
			hanging.startsWithoutWaiting()
			w.Start("quick", Behaviour{Hang: true, ExitAfter: time.Millisecond, ExitCode: 2}, func(cfg *runtime.Config) {
				cfg.Lifecycle = runtime.LifecycleOneShot
			}).AwaitEnd()
		}),
		prove("start.died", "If the agent exits before start-up is complete, the error is ErrSessionDiedDuringStartup with its last output, and nothing of the session is left.", func(t T, w *World) {
			s := w.Prepare("a", Behaviour{Hang: true, ExitAfter: 50 * time.Millisecond, ExitCode: 7, LastWords: "licence expired"})
			err := w.Provider.Start(w.ctx, s.Name, s.Agent.Config)
			expect(t, runtime.ErrSessionDiedDuringStartup, err, "Start")
			if err == nil || !strings.Contains(err.Error(), "licence expired") {
				t.Errorf("Start = %v, want the agent's last output in it", err)
			}
			var death *runtime.StartupDeath
			if errors.As(err, &death) && death.Exit.Code != 7 {
				t.Errorf("the agent %s, want exit code 7", death.Exit)
			}
			s.nothingLeft()
			s.startsAgain()
		}),
		prove("start.replaces-corpse", "A session whose agent has exited is replaced by the next Start.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			s.AwaitEnd()
			s.startsAgain()
			if !w.Provider.IsRunning(s.Name) {
				t.Errorf("the new session does not run")
			}
		}),
		prove("start.prompt-suffix", "PromptSuffix reaches the agent as its first prompt.", func(_ T, w *World) {
			const prompt = "fix it's \"bug\" $HOME"
			w.Start("a", Behaviour{}, func(cfg *runtime.Config) { cfg.PromptSuffix = shellQuote(prompt) }).AwaitPrompt(prompt)
		}),
		prove("start.prompt-flag", "PromptFlag is before PromptSuffix in the command line.", func(_ T, w *World) {
			const prompt = "-begin with a dash"
			w.Start("a", Behaviour{}, func(cfg *runtime.Config) {
				cfg.PromptSuffix, cfg.PromptFlag = shellQuote(prompt), "--prompt"
			}).AwaitPrompt(prompt)
		}),
		prove("start.nudge", "When the agent is ready, the text in the field Nudge of the Config is delivered as its first prompt.", func(_ T, w *World) {
			w.Start("a", Behaviour{}, func(cfg *runtime.Config) { cfg.Nudge = "look at your hook" }).AwaitPrompt("look at your hook")
		}),
	}, setupCases()...)
}

// setupCases returns the cases about SessionSetup, SessionSetupScript and SessionLive at the start.
func setupCases() []Case {
	return append([]Case{
		prove("start.setup-order", "SessionSetup, SessionSetupScript and SessionLive run in this order once the agent is ready, with the name in GC_SESSION.", func(t T, w *World) {
			trace := filepath.Join(w.Folder(), "trace")
			say := func(word string) string { return "echo " + word + " $GC_SESSION >> " + shellQuote(trace) }
			script := w.Write(filepath.Join(w.Folder(), "setup.sh"), "#!/bin/sh\n"+say("script")+"\n")
			if err := os.Chmod(script, 0o700); err != nil { //nolint:gosec // a script is executable
				t.Fatalf("%v", err)
			}
			s := w.Start("a", Behaviour{SlowStart: 100 * time.Millisecond}, func(cfg *runtime.Config) {
				cfg.SessionSetup, cfg.SessionSetupScript, cfg.SessionLive = []string{say("one"), say("two")}, script, []string{say("live")}
			})
			want := strings.ReplaceAll("one X\ntwo X\nscript X\nlive X\n", "X", s.Name)
			if got := s.AwaitFile(trace); got != want {
				t.Errorf("the file that the commands write contains %q, want %q", got, want)
			}
		}),
		prove("start.setup-failure", "A failing SessionSetup, SessionSetupScript or SessionLive does not fail the start, and the rest runs.", func(t T, w *World) {
			dir := w.Folder()
			touch := func(name string) string { return "touch " + shellQuote(filepath.Join(dir, name)) }
			s := w.Prepare("a", Behaviour{})
			s.Agent.Config.SessionSetup = []string{"exit 1", touch("setup")}
			s.Agent.Config.SessionSetupScript = filepath.Join(dir, "no-such-script")
			s.Agent.Config.SessionLive = []string{"exit 1", touch("live")}
			expect(t, nil, w.Provider.Start(w.ctx, s.Name, s.Agent.Config), "Start")
			for _, name := range []string{"setup", "live"} {
				if !w.Exists(filepath.Join(dir, name)) {
					t.Errorf("after a command of session_%s that fails, the next one did not run", name)
				}
			}
		}),
	}, stagingCases()...)
}

// stagingCases returns the cases about overlays and copied files at the start.
func stagingCases() []Case {
	return []Case{
		prove("start.staging", "PackOverlayDirs, OverlayDir and CopyFiles (files and directories) are copied into the working directory.", func(_ T, w *World) {
			dir := w.Folder()
			w.Write(filepath.Join(dir, "pack", "deep", "pack.txt"), "from the pack")
			w.Write(filepath.Join(dir, "own", "own.txt"), "from the overlay")
			w.Write(filepath.Join(dir, "folder", "sub", "in.txt"), "from the folder")
			file := w.Write(filepath.Join(dir, "file.txt"), "from the file")
			s := w.Start("a", Behaviour{}, func(cfg *runtime.Config) {
				cfg.PackOverlayDirs, cfg.OverlayDir = []string{filepath.Join(dir, "pack")}, filepath.Join(dir, "own")
				cfg.CopyFiles = []runtime.CopyEntry{{Src: file, RelDst: "to/file.txt"}, {Src: filepath.Join(dir, "folder"), RelDst: "to/folder"}}
			})
			s.hasFiles(map[string]string{
				"deep/pack.txt": "from the pack", "own.txt": "from the overlay",
				"to/file.txt": "from the file", "to/folder/sub/in.txt": "from the folder",
			})
		}),
		prove("start.overlay-keeps", "An overlay never overwrites an existing file.", func(_ T, w *World) {
			dir := w.Folder()
			w.Write(filepath.Join(dir, "notes.txt"), "from the overlay")
			w.Start("a", Behaviour{}, func(cfg *runtime.Config) {
				w.Write(filepath.Join(cfg.WorkDir, "notes.txt"), "the user's")
				cfg.OverlayDir = dir
			}).hasFiles(map[string]string{"notes.txt": "the user's"})
		}),
		prove("start.overlay-slots", "Of the directories per-provider/<name>/ of an overlay, only those for the session's agent CLI and hooks are copied, into the working directory itself.", func(t T, w *World) {
			dir := w.Folder()
			for _, name := range []string{"alpha", "beta", "gamma"} {
				w.Write(filepath.Join(dir, "per-provider", name, name+".txt"), name)
			}
			s := w.Start("a", Behaviour{}, func(cfg *runtime.Config) {
				cfg.OverlayDir, cfg.ProviderOverlayName, cfg.InstallAgentHooks = dir, "alpha", []string{"beta"}
			})
			s.hasFiles(map[string]string{"alpha.txt": "alpha", "beta.txt": "beta"})
			for _, name := range []string{"gamma.txt", "per-provider/alpha/alpha.txt"} {
				if w.Exists(filepath.Join(s.Agent.Config.WorkDir, name)) {
					t.Errorf("%s was staged", name)
				}
			}
		}),
	}
}

// hasFiles checks that the working directory has files with these contents.
func (s *Session) hasFiles(want map[string]string) {
	s.w.t.Helper()
	for name, text := range want {
		got, ok := s.w.ReadFile(filepath.Join(s.Agent.Config.WorkDir, filepath.FromSlash(name)))
		if !ok || got != text {
			s.w.t.Errorf("%s in the working directory is %q (there: %v), want %q", name, got, ok, text)
		}
	}
}

func fireAndForget(cfg *runtime.Config) { cfg.ReadyPromptPrefix = "" }

// startsWithoutWaiting checks that the start of an agent that never becomes ready returns soon.
func (s *Session) startsWithoutWaiting() {
	s.w.t.Helper()
	ctx, cancel := context.WithTimeout(s.w.ctx, s.w.patience/2)
	defer cancel()
	expect(s.w.t, nil, s.w.Provider.Start(ctx, s.Name, s.Agent.Config), "Start(%s)", s.Name)
	s.Await(LedgerStart, 1)
}
