package runtimetest

import (
	"os"
	"path/filepath"
	"strings"

	"gascity/runtime"
)

// stagerCases returns the cases about CopyTo.
func stagerCases() []Case {
	return append([]Case{
		prove("copy.file", "CopyTo copies a file or a directory to relDst inside the working directory. An empty relDst means the working directory itself.", func(t T, w *World) {
			s, dir := w.Start("a", Behaviour{}), w.Folder()
			file := w.Write(filepath.Join(dir, "file.txt"), "a file")
			w.Write(filepath.Join(dir, "folder", "sub", "in.txt"), "in a folder")
			expect(t, nil, w.Provider.CopyTo(s.Name, file, "deep/er/copy.txt"), "CopyTo of a file")
			expect(t, nil, w.Provider.CopyTo(s.Name, filepath.Join(dir, "folder"), "copied"), "CopyTo of a folder")
			expect(t, nil, w.Provider.CopyTo(s.Name, filepath.Join(dir, "folder"), ""), "CopyTo of a folder to the root")
			s.hasFiles(map[string]string{"deep/er/copy.txt": "a file", "copied/sub/in.txt": "in a folder", "sub/in.txt": "in a folder"})
		}),
		prove("copy.missing", "CopyTo for an unknown session or a missing source returns nil.", func(t T, w *World) {
			s, file := w.Start("worker-10", Behaviour{}), w.Write(filepath.Join(w.Folder(), "file.txt"), "a file")
			expect(t, nil, w.Provider.CopyTo(s.Name, file+".none", "copy.txt"), "CopyTo of a missing source")
			expect(t, nil, w.Provider.CopyTo(w.Name("worker-1"), file, "copy.txt"), "CopyTo to an unknown session")
			if w.Exists(filepath.Join(s.Agent.Config.WorkDir, "copy.txt")) {
				t.Errorf("the file went to another session")
			}
		}),
		prove("copy.escape", "A relDst outside the working directory, also through a symbolic link, is an error and nothing is written.", func(t T, w *World) {
			s, outside := w.Start("a", Behaviour{}), w.Folder()
			file := w.Write(filepath.Join(w.Folder(), "file.txt"), "a file")
			if err := os.Symlink(outside, filepath.Join(s.Agent.Config.WorkDir, "link")); err != nil {
				t.Fatalf("%v", err)
			}
			up, err := filepath.Rel(s.Agent.Config.WorkDir, outside)
			if err != nil {
				t.Fatalf("%v", err)
			}
			for _, relDst := range []string{filepath.Join(up, "x"), "a/../" + up + "/x", "link/x"} {
				if err := w.Provider.CopyTo(s.Name, file, relDst); err == nil {
					t.Errorf("CopyTo(%q) = nil, want an error", relDst)
				}
			}
			if w.Exists(filepath.Join(outside, "x")) {
				t.Errorf("a file was written outside of the working directory")
			}
		}),
	}, liveCases()...)
}

// liveCases returns the cases about RunLive.
func liveCases() []Case {
	return []Case{
		prove("live.runs", "RunLive runs SessionLive again, with the session's name in GC_SESSION; the agent continues.", func(t T, w *World) {
			trace := filepath.Join(w.Folder(), "trace")
			s := w.Start("a", Behaviour{})
			pid := s.PID()
			cfg := s.Agent.Config
			cfg.SessionLive = []string{"echo one $GC_SESSION >> " + shellQuote(trace), "echo two >> " + shellQuote(trace)}
			expect(t, nil, w.Provider.RunLive(s.Name, cfg), "RunLive")
			if got, want := s.AwaitFile(trace), "one "+s.Name+"\ntwo\n"; got != want {
				t.Errorf("the file that the commands write contains %q, want %q", got, want)
			}
			if !w.Alive(pid) {
				t.Errorf("the agent does not run any more")
			}
		}),
		prove("live.failure", "RunLive runs all commands, and then reports those that failed.", func(t T, w *World) {
			marker := filepath.Join(w.Folder(), "marker")
			s := w.Start("a", Behaviour{})
			cfg := s.Agent.Config
			cfg.SessionLive = []string{"echo no such theme >&2; exit 1", "touch " + shellQuote(marker)}
			if err := w.Provider.RunLive(s.Name, cfg); err == nil || !strings.Contains(err.Error(), "no such theme") {
				t.Errorf("RunLive = %v, want an error with the command's output", err)
			}
			if !w.Exists(marker) {
				t.Errorf("the command after the failing one did not run")
			}
		}),
		prove("live.missing", "RunLive of a missing session returns ErrSessionNotFound and runs nothing.", func(t T, w *World) {
			marker := filepath.Join(w.Folder(), "marker")
			cfg := runtime.Config{SessionLive: []string{"touch " + shellQuote(marker)}}
			expect(t, runtime.ErrSessionNotFound, w.Provider.RunLive(w.Name("none"), cfg), "RunLive")
			if w.Exists(marker) {
				t.Errorf("the command ran")
			}
		}),
	}
}
