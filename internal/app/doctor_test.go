package app

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/citydir"
)

const oneAgent = `
[workspace]
name = "town"
[daemon]
shutdown_timeout = "100ms"
[[agents]]
name = "a"
start_command = "sleep 1000"
`

// examine runs the doctor and returns the findings that are problems, and all findings.
func examine(t *testing.T, d *Daemon, root string) (bad, all []client.Finding) {
	t.Helper()
	err := d.Doctor(t.Context(), root, func(f client.Finding) {
		all = append(all, f)
		if f.Level != client.LevelOK {
			bad = append(bad, f)
		}
	})
	if err != nil {
		t.Fatalf("the doctor could not look: %v", err)
	}
	return bad, all
}

// TestAHealthyCityHasNoProblem checks that the doctor finds no problem in a city that works.
func TestAHealthyCityHasNoProblem(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	r := runController(t, d, root)
	defer r.stopCity()
	r.until("a", "running", isRunning)
	bad, all := examine(t, d, root)
	for _, f := range bad {
		if f.Check != "disk" {
			t.Errorf("found %+v", f)
		}
	}
	if last := all[len(all)-1]; last.Check != "prompt.pty" || last.Level != client.LevelOK || !strings.Contains(last.Message, "answered") {
		t.Errorf("the last finding is %+v, want an answered prompt", last)
	}
}

// TestAMissingProgramIsReportedOnce checks that the doctor reports an agent whose program is not
// installed in one finding, although the agent has also failed.
func TestAMissingProgramIsReportedOnce(t *testing.T) {
	d, root := newDaemon(t), newCity(t, strings.Replace(oneAgent, "sleep 1000", "no-such-program", 1))
	r := runController(t, d, root)
	defer r.stopCity()
	r.until("a", "failed", func(a client.Agent) bool {
		return a.State == client.StateFailed || a.State == client.StateQuarantined
	})
	bad, _ := examine(t, d, root)
	var found []string
	for _, f := range bad {
		if strings.HasPrefix(f.Check, "agent.a") {
			found = append(found, f.Check+": "+f.Message)
		}
	}
	if len(found) != 1 || !strings.Contains(found[0], "no-such-program") {
		t.Errorf("found %q, want one finding that names the program", found)
	}
}

// TestTheDoctorProposesALimitForStalls checks that the doctor proposes progress_stall_timeout to a
// city without it, that the proposed line is valid, and that the doctor then says that stalled
// agents are reported.
func TestTheDoctorProposesALimitForStalls(t *testing.T) {
	said := func(text string) string {
		_, all := examine(t, newDaemon(t), newCity(t, text))
		for _, f := range all {
			if f.Check == "stall" {
				return f.Level + ": " + f.Message
			}
		}
		return ""
	}
	const line = `progress_stall_timeout = "20m"`
	if got := said(oneAgent); !strings.HasPrefix(got, string(client.LevelOK)+": ") || !strings.Contains(got, line) || !strings.Contains(got, "[daemon]") {
		t.Errorf("without a limit the doctor says %q", got)
	}
	if got := said(strings.Replace(oneAgent, "[daemon]", "[daemon]\n"+line, 1)); !strings.Contains(got, "is reported") {
		t.Errorf("with a limit the doctor says %q", got)
	}
}

// TestDoctorTriesEachUsableProvider checks that the doctor starts an agent with each runtime
// provider that the city uses, except those that cannot be used, and that it does not search this
// machine for programs of agents on other machines.
func TestDoctorTriesEachUsableProvider(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent+`
[[agents]]
name = "piped"
start_command = "sleep 1000"
session = "subprocess"
[[agents]]
name = "away"
start_command = "no-such-agent"
work_dir = "/no/such/folder"
session = "exec:/no/such/script"
`)
	_, all := examine(t, d, root)
	got := map[string]string{}
	for _, f := range all {
		got[f.Check] = f.Level
	}
	want := map[string]string{
		"prompt.pty": client.LevelOK, "prompt.subprocess": client.LevelOK, "agent.a.command": client.LevelOK, "agent.piped.work_dir": client.LevelOK,
		"agent.away.place": client.LevelOK, "provider.exec:/no/such/script": client.LevelProblem,
	}
	for check, level := range want {
		if found, ok := got[check]; !ok || found != level {
			t.Errorf("%s is %v, %v, want %v", check, found, ok, level)
		}
	}
	for _, check := range []string{"agent.away.command", "agent.away.work_dir", "prompt.exec:/no/such/script"} {
		if level, ok := got[check]; ok {
			t.Errorf("%s is %v, it is not for this machine", check, level)
		}
	}
}

// TestDoctorWithoutACity checks that the doctor examines the machine if there is no city.
func TestDoctorWithoutACity(t *testing.T) {
	bad, all := examine(t, newDaemon(t), "")
	if len(all) < 3 {
		t.Errorf("only %d findings: %+v", len(all), all)
	}
	for _, f := range bad {
		if f.Level == client.LevelProblem {
			t.Errorf("found %+v", f)
		}
	}
}

// TestAMistakeIsReportedOnce checks that a mistake that keeps the controller from using an edit is
// reported once, with the check of city.toml.
func TestAMistakeIsReportedOnce(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	r := runController(t, d, root)
	t.Cleanup(func() { r.stopCity() })
	replace(t, root, `name = "a"`, "name = \"a\"\nwrong = 1")
	_, _ = r.client.Reload(t.Context()) // its error is what is looked for
	bad, _ := examine(t, d, root)
	count := 0
	for _, f := range bad {
		count += strings.Count(f.Message, `"wrong"`)
	}
	if count != 1 {
		t.Errorf("the mistake is reported %d times in %+v", count, bad)
	}
}

// fault is one thing that is made wrong in a city that was in order.
type fault struct {
	name  string
	seed  func(t *testing.T, root string, d *Daemon) *Daemon // may return another assembly
	check string                                             // of the finding
	words string                                             // that the finding must name
}

func replace(t *testing.T, root, from, to string) {
	t.Helper()
	write(t, filepath.Join(root, client.CityFile), strings.Replace(oneAgent, from, to, 1))
}

func faults() []fault {
	return []fault{
		{"no city.toml", func(t *testing.T, root string, d *Daemon) *Daemon {
			if err := os.Remove(filepath.Join(root, client.CityFile)); err != nil {
				t.Fatal(err)
			}
			return d
		}, "config", "there is no"},
		{"unknown key", func(t *testing.T, root string, d *Daemon) *Daemon {
			replace(t, root, `name = "a"`, "name = \"a\"\nstart_comand = \"x\"")
			return d
		}, "config", "start_comand"},
		{"missing prompt template", func(t *testing.T, root string, d *Daemon) *Daemon {
			replace(t, root, `name = "a"`, "name = \"a\"\nprompt_template = \"nowhere.md\"")
			return d
		}, "config", "nowhere.md"},
		{"missing program", func(t *testing.T, root string, d *Daemon) *Daemon {
			replace(t, root, "sleep 1000", "exec no-such-agent --flag")
			return d
		}, "agent.a.command", "no-such-agent is not found; PATH is " + os.Getenv("PATH")},
		{"missing program behind a wrapper", func(t *testing.T, root string, d *Daemon) *Daemon {
			replace(t, root, "[[agents]]", "[providers.base]\npath_check = \"no-such-cli\"\ncommand = \"sh\"\n[providers.wrapped]\nbase = \"base\"\n[[agents]]\nprovider = \"wrapped\"")
			return d
		}, "agent.a.path_check", "no-such-cli is not found"},
		{"program that is not executable", func(t *testing.T, root string, d *Daemon) *Daemon {
			write(t, filepath.Join(root, "tool"), "#!/bin/sh\n")
			replace(t, root, "sleep 1000", root+"/tool")
			return d
		}, "agent.a.command", "is not executable"},
		{"working directory is a file", func(t *testing.T, root string, d *Daemon) *Daemon {
			write(t, filepath.Join(root, "place"), "")
			replace(t, root, `name = "a"`, "name = \"a\"\nwork_dir = \"place\"")
			return d
		}, "", "place"},
		{"private folder is open", func(t *testing.T, root string, d *Daemon) *Daemon {
			makeMode(t, filepath.Join(root, citydir.StateFolder), 0o777)
			return d
		}, "folder.", "other users may enter"},
		{"socket folder is open", func(t *testing.T, root string, d *Daemon) *Daemon {
			makeMode(t, filepath.Join(root, citydir.RuntimeFolder), 0o755)
			return d
		}, "folder.", "other users may enter"},
		{"stale socket", func(t *testing.T, root string, d *Daemon) *Daemon {
			leaveSocket(t, client.SocketPath(root))
			return d
		}, "socket", "stale"},
		{"file in the socket's place", func(t *testing.T, root string, d *Daemon) *Daemon {
			write(t, client.SocketPath(root), "")
			return d
		}, "socket", "not a socket"},
		{"controller that holds the city without answering", func(t *testing.T, root string, d *Daemon) *Daemon {
			release, err := citydir.Lock(t.Context(), root, 4242)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = release() })
			return d
		}, "lock", "process 4242"},
		{"another version", func(t *testing.T, root string, d *Daemon) *Daemon {
			r := runController(t, d, root)
			t.Cleanup(func() { r.stopCity() })
			return changed(d, func(opts *Options) { opts.Version = "2.0" })
		}, "controller.version", "2.0"},
		{"agent that keeps failing", func(t *testing.T, root string, d *Daemon) *Daemon {
			replace(t, root, "sleep 1000", "echo no such model >&2; exit 3")
			r := runController(t, d, root)
			r.until("a", "failed", func(a client.Agent) bool { return a.State == client.StateFailed })
			t.Cleanup(func() { r.stopCity() })
			return d
		}, "agent.a", "exited with code 3"},
		{"edit that is not in force", func(t *testing.T, root string, d *Daemon) *Daemon {
			r := runController(t, d, root)
			t.Cleanup(func() { r.stopCity() })
			replace(t, root, `name = "a"`, "name = \"a\"\nwrong = 1")
			_, _ = r.client.Reload(t.Context()) // its error is what is looked for
			return d
		}, "controller.plan", "previous configuration"},
		{"session that is not wanted", func(t *testing.T, root string, d *Daemon) *Daemon {
			r := runController(t, d, root)
			r.until("a", "running", isRunning)
			r.leave()
			replace(t, root, `name = "a"`, `name = "b"`)
			t.Cleanup(func() { runController(t, d, root).stopCity() })
			return d
		}, "sessions", "gc-town-a"},
		{"unsafe folder for sockets", func(t *testing.T, root string, d *Daemon) *Daemon {
			open := filepath.Join(root, "open")
			makeMode(t, open, 0o777)
			write(t, filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile), open)
			return d
		}, "runtime-dir", "other users may enter"},
		{"unknown provider", func(_ *testing.T, _ string, d *Daemon) *Daemon {
			return changed(d, func(opts *Options) { opts.Environ = append([]string{"GC_SESSION=nope"}, opts.Environ...) })
		}, "config", "nope"},
		{"program that is no shim", func(_ *testing.T, _ string, d *Daemon) *Daemon {
			return changed(d, func(opts *Options) { opts.Executable = "/bin/false" })
		}, "prompt", "did not answer"},
	}
}

func makeMode(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
}

// leaveSocket creates a socket without a server, like a process that was killed.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	makeMode(t, filepath.Dir(path), 0o700)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTheDoctorNamesEachFault checks, for each fault that the doctor knows, that it is reported,
// and with a remedy if it is a problem.
func TestTheDoctorNamesEachFault(t *testing.T) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			root := newCity(t, oneAgent)
			d := f.seed(t, root, newDaemon(t))
			bad, _ := examine(t, d, root)
			for _, found := range bad {
				if strings.HasPrefix(found.Check, f.check) && strings.Contains(found.Message, f.words) {
					if found.Level == client.LevelProblem && found.Remedy == "" {
						t.Errorf("%+v has no remedy", found)
					}
					return
				}
			}
			t.Errorf("the fault is not named; found %+v", bad)
		})
	}
}

// TestTheDoctorsWordsAreTrue checks that no remedy of the doctor is useless and that no two
// findings contradict each other.
func TestTheDoctorsWordsAreTrue(t *testing.T) {
	t.Run("a file in the place of a folder", func(t *testing.T) {
		root := newCity(t, oneAgent)
		write(t, filepath.Join(root, citydir.StateFolder), "")
		bad, _ := examine(t, newDaemon(t), root)
		i := slices.IndexFunc(bad, func(f client.Finding) bool { return f.Check == "folder.gc" })
		if i < 0 || strings.Contains(bad[i].Remedy, "chmod") || !strings.Contains(bad[i].Remedy, "out of the way") {
			t.Errorf("found %+v, want that the file is to be moved", bad)
		}
	})
	t.Run("a controller that hangs", func(t *testing.T) {
		root, d := newCity(t, oneAgent), newDaemon(t)
		release, err := citydir.Lock(t.Context(), root, 4242)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = release() }()
		bad, _ := examine(t, d, root)
		for _, f := range bad {
			if strings.Contains(f.Message, "no controller runs") {
				t.Errorf("a city whose controller hangs is reported as having none: %+v", bad)
			}
		}
	})
}

// TestAllFaultsAtOnceAreNamed checks that the doctor reports all faults if they occur together.
func TestAllFaultsAtOnceAreNamed(t *testing.T) {
	root := newCity(t, `
[workspace]
name = "town"
[[agents]]
name = "lost"
start_command = "no-such-agent"
[[agents]]
name = "misplaced"
start_command = "sleep 1"
work_dir = "nowhere"
pre_start = ["true"]
`)
	makeMode(t, filepath.Join(root, citydir.RuntimeFolder), 0o755)
	leaveSocketIn(t, root)
	makeMode(t, filepath.Join(root, "open"), 0o777)
	write(t, filepath.Join(root, citydir.StateFolder, citydir.ChoiceFile), filepath.Join(root, "open"))
	makeMode(t, filepath.Join(root, citydir.StateFolder), 0o777)
	d := changed(newDaemon(t), func(opts *Options) { opts.Executable = "/bin/false" })
	bad, _ := examine(t, d, root)
	var checks []string
	for _, f := range bad {
		checks = append(checks, f.Check)
	}
	all := strings.Join(checks, " ")
	for _, want := range []string{"agent.lost.command", "agent.misplaced.work_dir", "folder.runtime", "folder.gc", "socket", "runtime-dir", "controller", "prompt"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not named; found %s", want, all)
		}
	}
}

// leaveSocketIn creates a stale control socket of a city, and does not change the mode of the
// directory.
func leaveSocketIn(t *testing.T, root string) {
	t.Helper()
	dir := filepath.Dir(client.SocketPath(root))
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	leaveSocket(t, client.SocketPath(root))
	makeMode(t, dir, info.Mode().Perm())
}
