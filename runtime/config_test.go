package runtime_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity/runtime"
)

func TestSyncWorkDirEnvCopies(t *testing.T) {
	shared := map[string]string{"A": "1", "GC_DIR": "/old"}
	got := runtime.SyncWorkDirEnv(runtime.Config{WorkDir: "/new", Env: shared})
	if want := map[string]string{"A": "1", "GC_DIR": "/new"}; !maps.Equal(got.Env, want) {
		t.Errorf("Env is %v, want %v", got.Env, want)
	}
	if shared["GC_DIR"] != "/old" {
		t.Error("the shared template was written to")
	}
	if got := runtime.SyncWorkDirEnv(runtime.Config{WorkDir: "/new"}); got.Env["GC_DIR"] != "/new" {
		t.Errorf("a nil Env becomes %v, want GC_DIR in it", got.Env)
	}
	if got := runtime.SyncWorkDirEnv(runtime.Config{Env: shared}); got.Env["GC_DIR"] != "/old" {
		t.Errorf("an empty WorkDir changes GC_DIR to %q", got.Env["GC_DIR"])
	}
	same := runtime.Config{WorkDir: "/old", Env: shared}
	runtime.SyncWorkDirEnv(same).Env["B"] = "2"
	if shared["B"] != "2" {
		t.Error("an Env that is right already was copied")
	}
}

func TestLaunchCommand(t *testing.T) {
	for _, tt := range []struct {
		cfg  runtime.Config
		want string
	}{
		{runtime.Config{Command: "agent"}, "agent"},
		{runtime.Config{Command: "agent", PromptSuffix: "'go'"}, "agent 'go'"},
		{runtime.Config{Command: "agent", PromptSuffix: "'go'", PromptFlag: "-p"}, "agent -p 'go'"},
		{runtime.Config{Command: "agent", PromptFlag: "-p"}, "agent"},
		{runtime.Config{PromptSuffix: "'go'", PromptFlag: "-p"}, ""},
	} {
		if got := tt.cfg.LaunchCommand(); got != tt.want {
			t.Errorf("LaunchCommand of %+v is %q, want %q", tt.cfg, got, tt.want)
		}
	}
}

func TestManagedStart(t *testing.T) {
	off := false
	if (runtime.Config{WorkDir: "/", Command: "agent", Env: map[string]string{"A": "1"}, OverlayDir: "/o", MouseOn: true}).WantsManagedStart() {
		t.Error("a start without hints is managed")
	}
	for name, cfg := range map[string]runtime.Config{
		"ready_prompt_prefix": {ReadyPromptPrefix: "> "}, "ready_delay_ms": {ReadyDelayMs: 1}, "process_names": {ProcessNames: []string{"x"}},
		"permission warning": {EmitsPermissionWarning: true}, "dialogs": {AcceptStartupDialogs: &off}, "nudge": {Nudge: "x"},
		"pre_start": {PreStart: []string{"x"}}, "setup": {SessionSetup: []string{"x"}}, "script": {SessionSetupScript: "x"}, "live": {SessionLive: []string{"x"}},
	} {
		if !cfg.WantsManagedStart() {
			t.Errorf("a start with %s is not managed", name)
		}
	}
}

func TestWantsDialogs(t *testing.T) {
	on, off := true, false
	for _, tt := range []struct {
		cfg  runtime.Config
		want bool
	}{
		{runtime.Config{}, false},
		{runtime.Config{ProcessNames: []string{"x"}}, true},
		{runtime.Config{EmitsPermissionWarning: true}, true},
		{runtime.Config{EmitsPermissionWarning: true, AcceptStartupDialogs: &off}, false},
		{runtime.Config{AcceptStartupDialogs: &on}, true},
	} {
		if got := tt.cfg.WantsDialogs(); got != tt.want {
			t.Errorf("WantsDialogs of %+v = %v, want %v", tt.cfg, got, tt.want)
		}
	}
}

func TestOverlayProviderNames(t *testing.T) {
	for _, tt := range []struct {
		family, concrete string
		hooks, want      []string
	}{
		{"alpha", "", nil, []string{"alpha"}},
		{"alpha", "alpha-x", nil, []string{"alpha-x"}},
		{" alpha ", "  ", []string{" beta", "alpha", "beta", ""}, []string{"alpha", "beta"}},
		{"", "", []string{"beta"}, []string{"beta"}},
		{"", "", nil, nil},
	} {
		got := runtime.OverlayProviderNamesFromParts(tt.family, tt.concrete, tt.hooks)
		same := runtime.OverlayProviderNames(runtime.Config{ProviderName: tt.family, ProviderOverlayName: tt.concrete, InstallAgentHooks: tt.hooks})
		if !slices.Equal(got, tt.want) || !slices.Equal(same, tt.want) {
			t.Errorf("slots of %q, %q, %q are %q and %q, want %q", tt.family, tt.concrete, tt.hooks, got, same, tt.want)
		}
	}
}

func TestEffectiveOverlayProviderNames(t *testing.T) {
	dir := folder(t, map[string]string{"per-provider/own/f": "1", "per-provider/file": "2"})
	for _, tt := range []struct {
		family, concrete string
		want             []string
	}{
		{"alpha", "own", []string{"own", "beta"}},
		{"alpha", "absent", []string{"alpha", "beta"}},
		{"alpha", "file", []string{"alpha", "beta"}},
		{"alpha", "", []string{"alpha", "beta"}},
		{"", "absent", []string{"absent", "beta"}},
	} {
		cfg := runtime.Config{ProviderName: tt.family, ProviderOverlayName: tt.concrete, InstallAgentHooks: []string{"beta"}}
		if got := runtime.EffectiveOverlayProviderNames(cfg, t.TempDir(), dir); !slices.Equal(got, tt.want) {
			t.Errorf("effective slots of %q, %q are %q, want %q", tt.family, tt.concrete, got, tt.want)
		}
	}
}

func TestFlattenText(t *testing.T) {
	content := []runtime.ContentBlock{
		{Type: "text", Text: "one"}, {Type: "file_path", Path: "/a/b/c.txt"}, {Type: "file_path"}, {Type: "text"}, {Type: "unheard of", Text: "two"},
	}
	if got, want := runtime.FlattenText(content), "one\n[File: c.txt]\ntwo"; got != want {
		t.Errorf("FlattenText = %q, want %q", got, want)
	}
	if got := runtime.FlattenText(nil); got != "" {
		t.Errorf("FlattenText of nothing = %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		if got := runtime.FlattenText(runtime.TextContent(text)); got != text {
			t.Fatalf("a text became %q", got)
		}
	})
}

func TestBeacon(t *testing.T) {
	at := time.Date(2026, 3, 1, 15, 4, 5, 999, time.FixedZone("anywhere", 3600))
	if got, want := runtime.FormatBeaconAt("city-name", "agent-name", false, at), "[city-name] agent-name • 2026-03-01T15:04:05"; got != want {
		t.Errorf("the beacon is %q, want %q", got, want)
	}
	want := "[city-name] agent-name • 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context."
	if got := runtime.FormatBeaconAt("city-name", "agent-name", true, at); got != want {
		t.Errorf("the beacon is %q, want %q", got, want)
	}
	before := time.Now().Truncate(time.Second)
	stamp := strings.TrimPrefix(runtime.FormatBeacon("c", "a", false), "[c] a • ")
	shown, err := time.ParseInLocation("2006-01-02T15:04:05", stamp, time.Local)
	if err != nil || shown.Before(before) || shown.After(time.Now()) {
		t.Errorf("the beacon of now shows %q (%v)", stamp, err)
	}
}

func FuzzValidateName(f *testing.F) {
	for _, seed := range []string{"a", "", "-a", "a-", "A_1", "a.b", "a/b", "ä", "a\x00", "a\n", strings.Repeat("a", 128), strings.Repeat("a", 129)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		valid := name != "" && len(name) <= runtime.MaxNameLen && name[0] != '-'
		for i := range len(name) {
			c := name[i]
			valid = valid && (c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
		}
		err := runtime.ValidateName(name)
		if (err == nil) != valid {
			t.Errorf("ValidateName(%q) = %v, want valid: %v", name, err, valid)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("the error about a name of %d bytes has %d bytes", len(name), len(err.Error()))
		}
	})
}
