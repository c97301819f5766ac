package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/provider/all"
)

// two agents, one of them at a place that is not there.
const strange = oneAgent + `
[[agents]]
name = "b"
start_command = "sleep 1000"
session = "ptty"
`

// TestUnknownProviderStopsOnlyItsAgent starts a city with an agent whose runtime provider is
// unknown. It checks that this agent fails with a message, that the other one runs, that the stop
// is clean, and that only the provider that was opened is stored as used.
func TestUnknownProviderStopsOnlyItsAgent(t *testing.T) {
	d, root := newDaemon(t), newCity(t, strange)
	r := runController(t, d, root)
	r.until("a", "running", isRunning)
	r.until("b", "failed for its place", func(a client.Agent) bool {
		return a.PID == 0 && strings.Contains(a.Reason, `there is no runtime provider "ptty"`)
	})
	used, err := citydir.UsedProviders(root)
	if err != nil || !slices.Equal(used, []string{all.Drivers()[0].Name}) {
		t.Errorf("noted are %v, %v", used, err)
	}
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil || len(faults) != 1 || faults[0].Line == 0 || !strings.Contains(faults[0].Hint, `"pty"`) {
		t.Errorf("the check of the configuration finds %+v, %v", faults, err)
	}
	bad, _ := examine(t, d, root)
	if !slices.ContainsFunc(bad, func(f client.Finding) bool {
		return f.Check == "provider.ptty" && strings.Contains(f.Message, "used by b")
	}) {
		t.Errorf("the doctor finds %+v", bad)
	}
	r.stopCity()
}

// TestProviderThatCannotBeOpenedIsUnknown checks that a runtime provider that was used and cannot
// be opened any more counts as unknown, and not as one without sessions.
func TestProviderThatCannotBeOpenedIsUnknown(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	k := &controllerProcess{daemon: d, root: root, logger: slog.New(slog.DiscardHandler)}
	if p, err := k.openProvider(t.Context(), "ptty"); err != nil {
		t.Errorf("a place that never was = %v, %v, want one without sessions", p, err)
	}
	for range 2 {
		if err := citydir.RecordUsed(root, "ptty"); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, citydir.StateFolder, citydir.ProviderFolder, "used")); err != nil || string(text) != "ptty\n" {
		t.Errorf("noted is %q, %v", text, err)
	}
	if p, err := k.openProvider(t.Context(), "ptty"); err == nil {
		t.Errorf("a place that was used = %v, want an error", p)
	}
	if places, err := d.SessionProviders(root); err != nil || !slices.Equal(places, []string{"ptty"}) {
		t.Errorf("Places = %v, %v", places, err)
	}
}

// TestRoutesOfTheEnvironment checks which remote_match applies: the one of the environment variable
// or the one of city.toml.
func TestRoutesOfTheEnvironment(t *testing.T) {
	const text = oneAgent + "[session]\nprovider = \"hybrid\"\nremote_match = \"town\"\n[session.hybrid]\nremote = \"subprocess\"\n"
	root := newCity(t, text)
	for match, want := range map[string]string{"-": "subprocess", "": "pty", "nobody": "pty"} {
		d := newDaemon(t)
		if match != "-" {
			d = New(Options{Environ: append(slices.Clone(d.opts.Environ), cityconfig.RemoteMatch+"="+match), Executable: d.opts.Executable})
		}
		r, err := d.Load(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Desired.Sessions[0].Provider; got != want {
			t.Errorf("with %s=%s the agent runs at %s, want %s", cityconfig.RemoteMatch, match, got, want)
		}
	}
}

// TestAMissingScriptIsAMistake checks the messages for runtime providers whose script does not
// exist or is not executable, and that there is none for a script that can be run.
func TestAMissingScriptIsAMistake(t *testing.T) {
	agents := oneAgent
	for name, selection := range map[string]string{"b": "exec:./none", "c": "exec:./text", "d": "exec:./good", "e": "exec:no-such-program"} {
		agents += "[[agents]]\nname = \"" + name + "\"\nstart_command = \"x\"\nsession = \"" + selection + "\"\n"
	}
	d, root := newDaemon(t), newCity(t, agents)
	for name, mode := range map[string]os.FileMode{"text": 0o600, "good": 0o700} {
		if err := os.WriteFile(filepath.Join(root, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	faults, err := d.CheckConfig(t.Context(), root)
	if err != nil || len(faults) != 3 {
		t.Fatalf("found are %+v, %v, want three mistakes", faults, err)
	}
	for _, f := range faults {
		missing := !strings.Contains(f.Message, `"./text"`)
		if f.Line == 0 || !f.Alone || missing != strings.Contains(f.Hint, "make the file") || !missing && !strings.Contains(f.Message, "chmod +x") {
			t.Errorf("the mistake is %+v", f)
		}
	}
	city := newCity(t, "[session]\nprovider = \"exec:./none\"\n"+agents)
	if faults, err = d.CheckConfig(t.Context(), city); err != nil || len(faults) != 5 || faults[0].Line != 2 {
		t.Errorf("found are %+v, %v, want that of [session] first, and all scripts", faults, err)
	}
}

// TestScriptPathIsRelativeToTheCity checks that the script of a runtime provider is searched
// relative to the city directory.
func TestScriptPathIsRelativeToTheCity(t *testing.T) {
	d, root := newDaemon(t), newCity(t, oneAgent)
	report := func(r cli.CheckResult) { t.Errorf("a case was run: %+v", r) }
	for _, path := range []string{"./none", "below/none"} {
		want := filepath.Join(root, path)
		for name, check := range map[string]func() error{
			"contract":   func() error { return d.CheckProvider(t.Context(), root, "exec:"+path, nil, report) },
			"operations": func() error { return d.CheckOperations(t.Context(), root, "exec:"+path, report) },
		} {
			if err := check(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the %s of %s: %v, want an error that names %s", name, path, err, want)
			}
		}
	}
}
