package agentcli

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBuiltinHasTheKnownAgents(t *testing.T) {
	want := []string{"amp", "claude", "codex", "copilot", "cursor", "gemini", "generic", "opencode", "pi"}
	for _, name := range want {
		p, err := Builtin().Get(name)
		if err != nil || p.Name != name || p.Family == "" {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, name := range Builtin().Names() {
		p, _ := Builtin().Lookup(name)
		if name != Generic && p.Command == "" {
			t.Errorf("%s has no command", name)
		}
		if _, ok := Builtin().Lookup(p.Family); !ok {
			t.Errorf("%s has the unknown family %q", name, p.Family)
		}
		if p.EmitsPermissionWarning != (name == "claude") {
			t.Errorf("%s: emits_permission_warning is %v", name, p.EmitsPermissionWarning)
		}
	}
}

func TestLoadIsStrict(t *testing.T) {
	generic := "name = \"generic\"\n"
	tests := map[string]struct{ data, want string }{
		"unknown key":       {"name = \"x\"\ncomand = \"y\"\n", "comand"},
		"wrong type":        {"name = \"x\"\nready_delay_ms = \"soon\"\n", "ready_delay_ms"},
		"other name":        {"name = \"y\"\n", `"y", want "x"`},
		"bad pattern":       {"name = \"x\"\n[screen]\nbusy = ['(']\n", "pattern"},
		"empty pattern":     {"name = \"x\"\n[screen]\nbusy = ['']\n", "must not be empty"},
		"unknown frame":     {"name = \"x\"\n[screen.composer]\nframe = \"round\"\n", "round"},
		"prompt mode":       {"name = \"x\"\nprompt_mode = \"voice\"\n", "voice"},
		"flag without flag": {"name = \"x\"\nprompt_mode = \"flag\"\n", "prompt_flag"},
		"permission mode":   {"name = \"x\"\npermission_mode = \"a\"\n", "permission_mode"},
		"upstream key":      {"name = \"x\"\n[upstream_env]\nbase_uri = \"X\"\n", `did you mean "base_url"?`},
		"settle":            {"name = \"x\"\n[[screen.settle]]\nmin_bytes = 5\n[[screen.settle]]\nmin_bytes = 5\n", "rising"},
		"answer by no row":  {"name = \"x\"\n[[dialogs]]\nid = \"a\"\nkind = \"trust\"\nmatch = [\"m\"]\nwant.accept = [\"Yes\"]\n", "glyphs"},
		"match everything":  {"name = \"x\"\n[[dialogs]]\nid = \"a\"\nkind = \"trust\"\nmatch = [\" \"]\n", "every screen"},
		"two of one id":     {"name = \"x\"\n[[dialogs]]\nid = \"a\"\nkind = \"b\"\nmatch = [\"m\"]\n[[dialogs]]\nid = \"a\"\nkind = \"b\"\nmatch = [\"m\"]\n", "used twice"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := load(fstest.MapFS{
				"profiles/generic.toml": {Data: []byte(generic)}, "profiles/x.toml": {Data: []byte(test.data)},
			})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "profiles/x.toml") {
				t.Errorf("error %v, want one that names the file and %q", err, test.want)
			}
		})
	}
	if _, err := load(fstest.MapFS{}); err == nil {
		t.Error("a set without the generic profile was loaded")
	}
}

func TestUnknownName(t *testing.T) {
	for name, want := range map[string]string{"cluade": "claude", "codexx": "codex", "Gemini": "gemini", "zzz": ""} {
		if got := Builtin().Suggest(name); got != want {
			t.Errorf("%s: suggested %q, want %q", name, got, want)
		}
	}
	_, err := Builtin().Get("claud")
	if !errors.Is(err, ErrUnknownProfile) || !strings.Contains(err.Error(), `did you mean "claude"?`) || !strings.Contains(err.Error(), "opencode") {
		t.Errorf("error %v", err)
	}
}

func TestWith(t *testing.T) {
	command, prefix, mode := "my-claude", "» ", PromptMode("voice")
	set, err := Builtin().With("mine", Patch{
		Base: "claude", Command: &command, ReadyPromptPrefix: &prefix, Env: map[string]string{"A": "1"},
		Args: []string{}, PermissionModes: map[string][]string{"odd": {"--odd"}},
		Dialogs: []Dialog{{ID: "trust", Kind: DialogTrust, Match: []string{"m"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := set.Lookup("mine")
	base, _ := Builtin().Lookup("claude")
	if p.Family != "claude" || p.Command != command || p.Env["A"] != "1" || p.Env["DISABLE_AUTOUPDATER"] != "1" || len(p.Dialogs) != len(base.Dialogs) || p.Dialogs[0].Match[0] != "m" {
		t.Errorf("profile %+v", p)
	}
	if argv, err := p.Argv("odd"); err != nil || !slices.Equal(argv, []string{"my-claude", "--odd"}) {
		t.Errorf("argv %q, %v", argv, err)
	}
	if _, ok := Builtin().Lookup("mine"); ok || base.Env["A"] != "" {
		t.Error("the patch has changed the built-in set")
	}
	if p, err := set.With("claude", Patch{Command: &command}); err != nil || func() string { q, _ := p.Lookup("claude"); return q.Family }() != "claude" {
		t.Errorf("patching by its own name: %v", err)
	}
	if p, err := set.With("new", Patch{Command: &command}); err != nil || func() string { q, _ := p.Lookup("new"); return q.Family }() != Generic {
		t.Errorf("a new one without a base: %v", err)
	}
	if _, err := set.With("bad", Patch{PromptMode: &mode}); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("error %v", err)
	}
	if _, err := set.With("bad", Patch{Base: "cluade"}); !errors.Is(err, ErrUnknownProfile) {
		t.Errorf("error %v", err)
	}
}

func TestArgv(t *testing.T) {
	p, _ := Builtin().Lookup("claude")
	if argv, err := p.Argv(""); err != nil || !slices.Contains(argv, "--dangerously-skip-permissions") {
		t.Errorf("own mode: %q, %v", argv, err)
	}
	if argv, err := p.Argv("plan"); err != nil || slices.Contains(argv, "--dangerously-skip-permissions") || !slices.Contains(argv, "plan") {
		t.Errorf("plan: %q, %v", argv, err)
	}
	if _, err := p.Argv("plann"); err == nil || !strings.Contains(err.Error(), `did you mean "plan"?`) {
		t.Errorf("error %v", err)
	}
}

func TestLookupReturnsACopy(t *testing.T) {
	p, _ := Builtin().Lookup("claude")
	p.Env["X"], p.ProcessNames[0], p.Dialogs[0].ID = "1", "x", "x"
	q, _ := Builtin().Lookup("claude")
	if q.Env["X"] != "" || q.ProcessNames[0] == "x" || q.Dialogs[0].ID == "x" {
		t.Error("a caller has changed the set")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name = \"x\"\n[screen]\nbusy = ['a']\n"))
	f.Add([]byte("[[dialogs]]\nid = 'a'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parse(data); err == nil && p.Validate() != nil {
			t.Errorf("accepted what Validate refuses: %v", p.Validate())
		}
	})
}

// TestScreenless checks that the set without screens has everything except the data about screens,
// and that the original set is not changed.
func TestScreenless(t *testing.T) {
	bare, _ := Builtin().Lookup(Generic)
	screenless := Builtin().Screenless()
	for _, name := range Builtin().Names() {
		want, _ := Builtin().Lookup(name)
		want.Screen, want.Dialogs = bare.Screen, bare.Dialogs
		if got, _ := screenless.Lookup(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
	if p, _ := Builtin().Lookup("claude"); len(p.Dialogs) == 0 {
		t.Error("the set itself has lost its dialogs")
	}
}
