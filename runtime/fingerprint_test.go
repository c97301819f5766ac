package runtime_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/runtime"
)

// prints are the four fingerprints of a configuration.
type prints struct{ Core, Provision, Launch, Live string }

func printsOf(cfg runtime.Config) prints {
	return prints{runtime.ConfigFingerprint(cfg), runtime.ProvisionFingerprint(cfg), runtime.LaunchFingerprint(cfg), runtime.LiveFingerprint(cfg)}
}

// TestGoldenFingerprints pins the hashing rules: a hash that moves here moves in
// every city, so it needs a new FingerprintVersion. There is no -update.
func TestGoldenFingerprints(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "fingerprints.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden []struct {
		Name   string
		Config runtime.Config
		Want   prints
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for _, g := range golden {
		if diff := cmp.Diff(g.Want, printsOf(g.Config)); diff != "" {
			t.Errorf("%s: fingerprints moved (-golden +now):\n%s", g.Name, diff)
		}
		for _, hash := range []string{g.Want.Core, g.Want.Provision, g.Want.Launch, g.Want.Live} {
			if !runtime.FingerprintCurrent(hash) || len(hash) != len("v1:")+64 {
				t.Errorf("%s: %q is no v1 fingerprint", g.Name, hash)
			}
		}
	}
	if len(golden) < 4 {
		t.Errorf("%d golden configurations, want at least 4", len(golden))
	}
}

func TestFingerprintCurrent(t *testing.T) {
	for stored, want := range map[string]bool{"v1:abc": true, "v2:abc": false, "v10:abc": false, "abc": false, "": false} {
		if got := runtime.FingerprintCurrent(stored); got != want {
			t.Errorf("FingerprintCurrent(%q) = %v, want %v", stored, got, want)
		}
	}
}

// changes sets each field to something else. The files are those of dir.
func changes(dir string) map[string]func(cfg *runtime.Config) {
	on := true
	return map[string]func(cfg *runtime.Config){
		"WorkDir":                func(cfg *runtime.Config) { cfg.WorkDir = "/elsewhere" },
		"Command":                func(cfg *runtime.Config) { cfg.Command = "other" },
		"Lifecycle":              func(cfg *runtime.Config) { cfg.Lifecycle = runtime.LifecycleOneShot },
		"Upstream":               func(cfg *runtime.Config) { cfg.Upstream = "proxy:other" },
		"Env":                    func(cfg *runtime.Config) { cfg.Env = map[string]string{"LANG": "C"} },
		"MCPServers":             func(cfg *runtime.Config) { cfg.MCPServers = []runtime.MCPServerConfig{{Name: "files"}} },
		"StartupEnvelope":        func(cfg *runtime.Config) { cfg.StartupEnvelope = json.RawMessage(`{"now":1}`) },
		"ReadyPromptPrefix":      func(cfg *runtime.Config) { cfg.ReadyPromptPrefix = "> " },
		"ReadyDelayMs":           func(cfg *runtime.Config) { cfg.ReadyDelayMs = 5 },
		"ProcessNames":           func(cfg *runtime.Config) { cfg.ProcessNames = []string{"agent"} },
		"EmitsPermissionWarning": func(cfg *runtime.Config) { cfg.EmitsPermissionWarning = true },
		"AcceptStartupDialogs":   func(cfg *runtime.Config) { cfg.AcceptStartupDialogs = &on },
		"MouseOn":                func(cfg *runtime.Config) { cfg.MouseOn = true },
		"Nudge":                  func(cfg *runtime.Config) { cfg.Nudge = "go" },
		"PreStart":               func(cfg *runtime.Config) { cfg.PreStart = []string{"mkdir x"} },
		"SessionSetup":           func(cfg *runtime.Config) { cfg.SessionSetup = []string{"true"} },
		"SessionSetupScript":     func(cfg *runtime.Config) { cfg.SessionSetupScript = filepath.Join(dir, "file") },
		"SessionLive":            func(cfg *runtime.Config) { cfg.SessionLive = []string{"true"} },
		"ProviderName":           func(cfg *runtime.Config) { cfg.ProviderName = "alpha" },
		"ProviderOverlayName":    func(cfg *runtime.Config) { cfg.ProviderOverlayName = "beta" },
		"InstallAgentHooks":      func(cfg *runtime.Config) { cfg.InstallAgentHooks = []string{"gamma"} },
		"PackOverlayDirs":        func(cfg *runtime.Config) { cfg.PackOverlayDirs = []string{dir} },
		"OverlayDir":             func(cfg *runtime.Config) { cfg.OverlayDir = dir },
		"CopyFiles": func(cfg *runtime.Config) {
			cfg.CopyFiles = []runtime.CopyEntry{{Src: filepath.Join(dir, "file"), RelDst: "x"}}
		},
		"FingerprintExtra": func(cfg *runtime.Config) { cfg.FingerprintExtra = map[string]string{"pool": "2"} },
		"PromptSuffix":     func(cfg *runtime.Config) { cfg.PromptSuffix = "'now'" },
		"PromptFlag":       func(cfg *runtime.Config) { cfg.PromptFlag = "--prompt" },
	}
}

func TestEveryFieldIsInTheTableOnce(t *testing.T) {
	var fields, table []string
	for field := range reflect.TypeFor[runtime.Config]().Fields() {
		fields = append(fields, field.Name)
	}
	for _, f := range runtime.Fields() {
		table = append(table, f.Name)
		if f.Note == "" {
			t.Errorf("%s has no note", f.Name)
		}
		want := map[runtime.Half]runtime.Effect{
			runtime.HalfNone: runtime.EffectNone, runtime.HalfProvision: runtime.EffectRestart,
			runtime.HalfLaunch: runtime.EffectRelaunch, runtime.HalfLive: runtime.EffectLive,
		}[f.Half]
		if f.Effect != want {
			t.Errorf("%s is in half %s with effect %q, want %q", f.Name, f.Half, f.Effect, want)
		}
	}
	if diff := cmp.Diff(fields, table); diff != "" {
		t.Errorf("the table is not the struct (-struct +table):\n%s", diff)
	}
}

// TestEachFieldMovesItsHalf tries each field on an empty and on a full
// configuration.
func TestEachFieldMovesItsHalf(t *testing.T) {
	dir := folder(t, map[string]string{"file": "content"})
	all := changes(dir)
	full := runtime.Config{
		WorkDir: "/work", Command: "agent", Upstream: "direct", Env: map[string]string{"A": "1"}, PreStart: []string{"a"}, SessionSetup: []string{"b"},
		SessionLive: []string{"c"}, FingerprintExtra: map[string]string{"x": "y"}, CopyFiles: []runtime.CopyEntry{{Src: filepath.Join(dir, "none"), RelDst: "y"}},
	}
	for _, f := range runtime.Fields() {
		change := all[f.Name]
		if change == nil {
			t.Errorf("the test does not change %s", f.Name)
			continue
		}
		for what, before := range map[string]runtime.Config{"an empty": {}, "a full": full} {
			after := before
			change(&after)
			checkMoved(t, fmt.Sprintf("%s in %s configuration", f.Name, what), f.Half, printsOf(before), printsOf(after))
		}
	}
}

func checkMoved(t *testing.T, what string, half runtime.Half, before, after prints) {
	t.Helper()
	core := half == runtime.HalfProvision || half == runtime.HalfLaunch
	for _, x := range []struct {
		name        string
		moved, want bool
	}{
		{"core", before.Core != after.Core, core},
		{"provision", before.Provision != after.Provision, half == runtime.HalfProvision},
		{"launch", before.Launch != after.Launch, half == runtime.HalfLaunch},
		{"live", before.Live != after.Live, half == runtime.HalfLive},
	} {
		if x.moved != x.want {
			t.Errorf("a change of %s moves the %s fingerprint: %v, want %v", what, x.name, x.moved, x.want)
		}
	}
}

func TestBreakdownNamesWhatDrifted(t *testing.T) {
	slots := []string{"ProviderName", "ProviderOverlayName", "InstallAgentHooks"}
	dir := folder(t, map[string]string{"file": "content"})
	all := changes(dir)
	for _, f := range runtime.Fields() {
		var cfg runtime.Config
		all[f.Name](&cfg)
		var want []string
		switch {
		case f.Half == runtime.HalfNone:
		case slices.Contains(slots, f.Name):
			want = []string{"ProviderOverlayName"}
		default:
			want = []string{f.Name}
		}
		if got := slices.Sorted(maps.Keys(runtime.FingerprintBreakdown(cfg))); !slices.Equal(got, want) {
			t.Errorf("the breakdown of %s alone has %q, want %q", f.Name, got, want)
		}
	}
}

// word makes texts that could be confused if parts were only joined.
var word = rapid.StringOfN(rapid.SampledFrom([]rune("ab=\x00\n:1é")), 0, 4, -1)

func drawConfig(t *rapid.T) runtime.Config {
	words := rapid.SliceOfN(word, 0, 3)
	texts := rapid.MapOfN(word, word, 0, 4)
	server := rapid.Custom(func(t *rapid.T) runtime.MCPServerConfig {
		return runtime.MCPServerConfig{
			Name: word.Draw(t, "name"), Transport: word.Draw(t, "transport"), Command: word.Draw(t, "command"), Args: words.Draw(t, "args"),
			Env: texts.Draw(t, "env"), URL: word.Draw(t, "url"), Headers: texts.Draw(t, "headers"),
		}
	})
	return runtime.Config{
		WorkDir: word.Draw(t, "dir"), Command: word.Draw(t, "command"), Upstream: word.Draw(t, "upstream"), Env: texts.Draw(t, "env"),
		MCPServers: rapid.SliceOfN(server, 0, 3).Draw(t, "servers"), PreStart: words.Draw(t, "pre"), SessionSetup: words.Draw(t, "setup"),
		SessionLive: words.Draw(t, "live"), FingerprintExtra: texts.Draw(t, "extra"), ProviderName: word.Draw(t, "provider"),
		CopyFiles: []runtime.CopyEntry{{RelDst: word.Draw(t, "dst"), Probed: true, ContentHash: word.Draw(t, "hash")}},
	}
}

func rebuilt(m map[string]string, keys []string) map[string]string {
	out := make(map[string]string)
	for _, k := range keys {
		out[k] = m[k]
	}
	return out
}

// TestOrderNeverMatters rebuilds every map in another order and lists the
// servers in another order.
func TestOrderNeverMatters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		again := cfg
		again.Env = rebuilt(cfg.Env, rapid.Permutation(slices.Collect(maps.Keys(cfg.Env))).Draw(t, "env order"))
		again.FingerprintExtra = rebuilt(cfg.FingerprintExtra, rapid.Permutation(slices.Collect(maps.Keys(cfg.FingerprintExtra))).Draw(t, "extra order"))
		if len(cfg.MCPServers) > 0 {
			again.MCPServers = rapid.Permutation(cfg.MCPServers).Draw(t, "server order")
		}
		if printsOf(cfg) != printsOf(again) {
			t.Fatalf("the same configuration in another order has other fingerprints: %+v", cfg)
		}
	})
}

// TestHintsNeverMatter draws everything that is only observed or volatile.
func TestHintsNeverMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		again := cfg
		again.ReadyPromptPrefix, again.Nudge = word.Draw(t, "prefix"), word.Draw(t, "nudge")
		again.ReadyDelayMs, again.EmitsPermissionWarning = rapid.Int().Draw(t, "delay"), rapid.Bool().Draw(t, "warning")
		again.ProcessNames, again.PromptSuffix = []string{word.Draw(t, "process")}, word.Draw(t, "suffix")
		again.PromptFlag, again.StartupEnvelope = word.Draw(t, "flag"), json.RawMessage(word.Draw(t, "envelope"))
		if printsOf(cfg) != printsOf(again) {
			t.Fatalf("hints moved a fingerprint of %+v", cfg)
		}
	})
}

// TestDifferentConfigurationsDiffer looks for collisions: parts that only look
// alike when they are joined.
func TestDifferentConfigurationsDiffer(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		cfg := runtime.Config{
			Command: word.Draw(t, "command"), Upstream: word.Draw(t, "upstream"), PreStart: rapid.SliceOfN(word, 0, 3).Draw(t, "pre"),
			SessionSetup:     rapid.SliceOfN(word, 0, 3).Draw(t, "setup"),
			FingerprintExtra: rapid.MapOfN(word, word, 0, 2).Draw(t, "extra"),
		}
		hash, text := runtime.ConfigFingerprint(cfg), fmt.Sprintf("%q %q %q %q %q", cfg.Command, cfg.Upstream, cfg.PreStart, cfg.SessionSetup, cfg.FingerprintExtra)
		if other, ok := seen[hash]; ok && other != text {
			t.Fatalf("%s and %s have one fingerprint", other, text)
		}
		seen[hash] = text
	})
}

func TestCredentialsNeverMatter(t *testing.T) {
	names := []string{"ANTHROPIC_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "authorization", "x-api-key", "Cookie", "OPENAI_BASE_URL", "SENTRY_DSN", "npm_config__auth"}
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		name := rapid.SampledFrom(names).Draw(t, "name")
		with := func(secret string) prints {
			c := cfg
			c.Env = maps.Clone(cfg.Env)
			c.Env[name] = secret
			c.MCPServers = append(slices.Clone(cfg.MCPServers), runtime.MCPServerConfig{
				Name: "s", Env: map[string]string{name: secret}, Headers: map[string]string{"Anything": secret},
			})
			return printsOf(c)
		}
		if with(word.Draw(t, "old")) != with(word.Draw(t, "new")) {
			t.Fatalf("a new value of %s moved a fingerprint", name)
		}
	})
	for _, name := range []string{"PATH", "LANG", "KEYBOARD", "MONKEY", "AUTHOR", "PATTERN", "TOK"} {
		if runtime.CredentialName(name) {
			t.Errorf("%s counts as a credential", name)
		}
	}
	for _, name := range names {
		if !runtime.CredentialName(name) {
			t.Errorf("%s does not count as a credential", name)
		}
	}
}

func TestIdentityVariablesNeverMatter(t *testing.T) {
	with := func(key, value string) prints {
		return printsOf(runtime.Config{Env: map[string]string{key: value, "A": "1"}})
	}
	for _, key := range []string{"GC_DIR", "GC_INSTANCE_TOKEN", "GC_WORKER_TOKEN", "GC_SESSION_ID", "GC_RUNTIME_EPOCH", "GC_CONTINUATION_EPOCH", "GC_BIN"} {
		if with(key, "1") != printsOf(runtime.Config{Env: map[string]string{"A": "1"}}) {
			t.Errorf("%s moves a fingerprint", key)
		}
	}
	if with("GC_AGENT", "x") == with("GC_AGENT", "y") {
		t.Error("GC_AGENT is not hashed")
	}
}

// TestFilesCountByContent recreates, moves and touches files.
func TestFilesCountByContent(t *testing.T) {
	files := map[string]string{"a": "1", "sub/b": "2"}
	withFiles := func(dir string) prints {
		return printsOf(runtime.Config{OverlayDir: dir, PackOverlayDirs: []string{dir}, CopyFiles: []runtime.CopyEntry{{Src: dir, RelDst: "x"}}})
	}
	dir, twin := folder(t, files), folder(t, files)
	before := withFiles(dir)
	if withFiles(twin) != before {
		t.Error("the same files in another folder have other fingerprints")
	}
	write(t, filepath.Join(dir, "a"), "1")
	if err := os.Chmod(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if withFiles(dir) != before {
		t.Error("a recreated identical file of another mode moves a fingerprint")
	}
	write(t, filepath.Join(dir, "a"), "changed")
	if withFiles(dir).Provision == before.Provision {
		t.Error("changed content does not move the provision fingerprint")
	}
}

func TestProbedFilesUseTheirHash(t *testing.T) {
	file := filepath.Join(folder(t, map[string]string{"a": "1"}), "a")
	entry := func(e runtime.CopyEntry) string {
		return runtime.ConfigFingerprint(runtime.Config{CopyFiles: []runtime.CopyEntry{e}})
	}
	named := entry(runtime.CopyEntry{Src: file, RelDst: "x"})
	if hash := runtime.HashPathContent(file); entry(runtime.CopyEntry{Src: "/none", RelDst: "x", Probed: true, ContentHash: hash}) != named {
		t.Error("a probed entry with the file's hash differs from the named file")
	}
	unread := entry(runtime.CopyEntry{Src: file, RelDst: "x", Probed: true})
	if unread == named || unread != entry(runtime.CopyEntry{Src: "/other", RelDst: "x", Probed: true}) {
		t.Error("a probed entry without a hash is not the stable marker")
	}
}

func TestSetupScriptCountsByPathAndContent(t *testing.T) {
	dir := folder(t, map[string]string{"a.sh": "1", "b.sh": "1"})
	of := func(name string) string {
		return runtime.LaunchFingerprint(runtime.Config{SessionSetupScript: filepath.Join(dir, name)})
	}
	before := of("a.sh")
	if before == of("b.sh") {
		t.Error("another path is the same script")
	}
	write(t, filepath.Join(dir, "a.sh"), "2")
	if before == of("a.sh") {
		t.Error("other content is the same script")
	}
}

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNoSecretInBreakdown(t *testing.T) {
	const canary = "canary-7f3a"
	text := fmt.Sprint(runtime.FingerprintBreakdown(runtime.Config{Env: map[string]string{"API_TOKEN": canary, "PLAIN": canary}}))
	if strings.Contains(text, canary) {
		t.Errorf("the breakdown shows a value: %s", text)
	}
}
