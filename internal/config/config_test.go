package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/config"
)

func testCatalog() config.Catalog {
	return config.Catalog{
		Runtimes: []config.Runtime{
			{Name: "term"},
			{Name: "plain"},
			{Name: "script", Argument: "<script>"},
			{Name: "remote", Argument: "[user@]host[:port]", Check: func(a string) error {
				if strings.HasSuffix(a, ":0") {
					return errors.New("port 0")
				}
				return nil
			}},
			{Name: "byname", Route: func(r config.Routing) (string, error) {
				switch hybrid := r.Settings.Hybrid; {
				case r.Settings.RemoteMatch == "" || !strings.Contains(r.Session, r.Settings.RemoteMatch):
					return firstOf(hybrid.Local, "term"), nil
				case hybrid.Remote == "":
					return "", errors.New("there is no remote")
				default:
					return hybrid.Remote, nil
				}
			}},
			{Name: "bytransport", Transports: []string{"talk"}, Route: func(r config.Routing) (string, error) {
				if r.Transport != "" {
					return firstOf(r.Settings.Auto.ACP, r.Transport), nil
				}
				return firstOf(r.Settings.Auto.Default, "term"), nil
			}},
		},
		AgentCLIs: []string{"robot", "helper", "generic"},
	}
}

func firstOf(written, otherwise string) string {
	if written != "" {
		return written
	}
	return otherwise
}

func parse(t *testing.T, text string) *config.City {
	t.Helper()
	city, err := config.Parse("city.toml", []byte(text), testCatalog())
	if err != nil {
		t.Fatalf("the city is refused:\n%v", err)
	}
	return city
}

func refuse(t *testing.T, text string) config.Errors {
	t.Helper()
	_, err := config.Parse("city.toml", []byte(text), testCatalog())
	errs, ok := config.AsErrors(err)
	if !ok {
		t.Fatalf("the city is accepted, or the error has no places: %v", err)
	}
	return errs
}

const full = `
[workspace]
name = "bright-lights"
provider = "robot"
session_template = "x-{{.City}}-{{.Agent}}"

[session]
provider = "script:./run"
startup_timeout = "90s"

[daemon]
max_restarts = 7

[upstreams.proxy]
base_url = "https://proxy.example/v1"
api_key = { env = "PROXY_KEY" }
auth_token = "file:token.txt"

[providers.mine]
base = "builtin:robot"
args_append = ["--fast"]
permission_modes = { plan = "--mode plan", all = ["--a b"] }

[[rigs]]
name = "front"
path = "/src/front"

[[agents]]
name = "worker"
dir = "front"
provider = "mine"
upstream = "proxy"
args = []
env = { A = "1", API_KEY = "sk-canary" }
ready_delay_ms = 0
accept_startup_dialogs = false
depends_on = ["helper"]
copy_files = [{ src = "a.txt", rel_dst = "b/c.txt" }]

[[agent]]
name = "helper"
dir = "front"
lifecycle = "one_shot"
command = "true"
`

// TestEveryKeyIsRead checks that the values of all keys are read.
func TestEveryKeyIsRead(t *testing.T) {
	city := parse(t, full)
	w := city.Agents[0]
	got := []any{
		city.Workspace.Name, city.Session.Provider, city.Session.StartupTimeout, city.Session.SetupTimeout,
		city.Daemon.MaxRestarts, city.Daemon.PatrolInterval, city.Upstreams["proxy"].APIKey.String(),
		city.Upstreams["proxy"].AuthToken.String(), city.Providers["mine"].PermissionModes,
		len(city.Agents), w.QualifiedName(), w.Args, w.Env["A"], *w.AcceptStartupDialogs,
		w.CopyFiles[0].RelDst, string(city.Agents[1].Lifecycle), city.Agents[1].StartCommand,
	}
	want := []any{
		"bright-lights", "script:./run", 90 * time.Second, 10 * time.Second,
		7, 30 * time.Second, "env:PROXY_KEY",
		"file:token.txt",
		map[string][]string{"plan": {"--mode", "plan"}, "all": {"--a b"}},
		2, "front/worker",
		[]string{},
		"1", false,
		"b/c.txt", "one_shot", "true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAWrittenZeroDiffersFromAnAbsentKey checks that a key with the value zero or empty counts as
// written.
func TestAWrittenZeroDiffersFromAnAbsentKey(t *testing.T) {
	w := parse(t, full).Agents[0]
	for _, key := range []string{"args", "ready_delay_ms"} {
		if !w.Has(key) {
			t.Errorf("the written key %s counts as absent", key)
		}
	}
	if w.Has("nudge") {
		t.Error("the absent key nudge counts as written")
	}
}

// TestAgentAndAgentsKeepTheOrderOfTheFile checks that [[agent]] and [[agents]] sections keep their
// order.
func TestAgentAndAgentsKeepTheOrderOfTheFile(t *testing.T) {
	city := parse(t, "[workspace]\nstart_command='x'\n[[agent]]\nname='a'\n[[agents]]\nname='b'\n[[agent]]\nname='c'\n")
	var names []string
	for _, a := range city.Agents {
		names = append(names, a.Name)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestOrigins checks the origins of written and default values.
func TestOrigins(t *testing.T) {
	city := parse(t, full)
	w := city.Agents[0]
	for key, want := range map[string]string{
		"name": "city.toml:29", "args": "city.toml:33", "env": "city.toml:34", "env.A": "city.toml:34", "nudge": "default",
	} {
		if got := w.Origin(key).String(); got != want {
			t.Errorf("%s comes from %s, want %s", key, got, want)
		}
	}
	if got := city.Session.Origin("setup_timeout").String(); got != "default" {
		t.Errorf("setup_timeout comes from %s", got)
	}
}

// TestMistakes checks each mistake that a city.toml can have: its position, a part of its message
// and a part of its hint.
func TestMistakes(t *testing.T) {
	agent := "[[agents]]\nname = \"w\"\nstart_command = \"x\"\n"
	for name, c := range map[string]struct{ text, place, message, hint string }{
		"unknown top key":       {"[wrkspace]\n", "1:2", `unknown key "wrkspace" at the top level`, `did you mean "workspace"?`},
		"unknown key":           {"[workspace]\nnaem = 'x'\n", "2:1", `unknown key "naem" in [workspace]`, `did you mean "name"?`},
		"port of web":           {"[web]\nlisten = '127.0.0.1:99999'\n", "2:10", `"127.0.0.1:99999" is not an address with a port`, "127.0.0.1:8420"},
		"open web":              {"[web]\nlisten = ':8420'\n", "2:10", `other hosts can reach ":8420"`, "cert_file"},
		"unknown key of agent":  {agent + "provder = 'robot'\n", "4:1", `unknown key "provder" in [[agents]]`, `"provider"`},
		"unknown nested key":    {agent + "copy_files = [{src='a', source='a'}]\n", "4:25", `unknown key "source" in [[copy_files]]`, ""},
		"wrong type":            {agent + "args = 'x'\n", "4:8", "args must be an array, not a string", ""},
		"wrong item":            {agent + "args = ['a', 1]\n", "4:14", "each item of args must be a string, not an integer", ""},
		"wrong table":           {"session = 3\n", "1:11", "session must be a table, not an integer", ""},
		"wrong env":             {agent + "env = { A = 1 }\n", "4:13", "env.A must be a string, not an integer", ""},
		"duration as number":    {"[session]\nstartup_timeout = 60\n", "2:19", "must be a string", `"30s"`},
		"no duration":           {"[session]\nstartup_timeout = '1 min'\n", "2:19", `"1 min" is not a valid duration`, `"1h30m"`},
		"negative duration":     {"[daemon]\npatrol_interval = '-1s'\n", "2:19", "cannot be negative", ""},
		"zero interval":         {"[daemon]\npatrol_interval = '0s'\n", "2:19", "cannot be zero", ""},
		"negative count":        {agent + "ready_delay_ms = -1\n", "4:18", "cannot be negative", ""},
		"huge count":            {agent + "ready_delay_ms = 99999999999\n", "4:18", "not a number in the valid range", ""},
		"prompt mode":           {agent + "prompt_mode = 'args'\n", "4:15", `prompt_mode cannot be "args"`, `did you mean "arg"?`},
		"lifecycle":             {agent + "lifecycle = 'oneshot'\n", "4:13", `lifecycle cannot be "oneshot"`, `"one_shot"`},
		"alias twice":           {agent + "command = 'y'\n", "4:1", "start_command and command are the same key", ""},
		"agent twice":           {agent + agent, "5:8", `there are two agents named "w"`, "city.toml:2"},
		"agent without name":    {"[[agents]]\nstart_command='x'\n", "1:3", "name is missing", "add name"},
		"agent with slash":      {"[[agents]]\nname='a/b'\nstart_command='x'\n", "2:6", "cannot contain a slash", "dir"},
		"agent with space":      {"[[agents]]\nname='a b'\nstart_command='x'\n", "2:6", `"a b" is not a valid name`, ""},
		"agent with long name":  {"[[agents]]\nname='" + strings.Repeat("a", 201) + "'\nstart_command='x'\n", "2:6", "name has 201 characters", "at most 200"},
		"agents as table":       {"[agents]\nname='w'\n", "1:2", "agents must be an array, not a table", "write [[agents]]"},
		"byte order mark":       {"\ufeff[workspace]\n", "1:1", "byte order mark", "UTF-8 without"},
		"dir outside":           {agent + "dir = '../x'\n", "4:7", `"../x" is not a valid dir`, "work_dir"},
		"nothing to run":        {"[[agents]]\nname='w'\n", "1:3", "no command to run", "provider or start_command"},
		"unknown provider":      {agent + "provider = 'robt'\n", "4:12", `no agent CLI "robt"`, `did you mean "robot"?`},
		"provider of no kind":   {agent + "provider = 'zzzzzz'\n", "4:12", `no agent CLI "zzzzzz"`, `known: `},
		"unknown upstream":      {agent + "upstream = 'prox'\n[upstreams.proxy]\n", "4:12", "no [upstreams.prox]", `"proxy"`},
		"unknown runtime":       {"[session]\nprovider = 'trem'\n", "2:12", `no runtime provider "trem"`, "remote:[user@]host[:port]"},
		"runtime without arg":   {"[session]\nprovider = 'script'\n", "2:12", `"script" is not a runtime provider`, "script:<script>"},
		"runtime with arg":      {"[session]\nprovider = 'term:x'\n", "2:12", `"term:x" is not a runtime provider`, "write term"},
		"runtime checks arg":    {"[session]\nprovider = 'remote:h:0'\n", "2:12", "remote:h:0: port 0", ""},
		"backend unknown":       {"[session.hybrid]\nremote = 'trem'\n", "2:10", `no runtime provider "trem"`, `"term"`},
		"backend that routes":   {"[session.hybrid]\nlocal = 'byname'\n", "2:9", `"byname" runs no sessions`, "runs sessions itself"},
		"backend missing":       {"[session]\nprovider = 'byname'\nremote_match = 'w'\n" + agent + "[[agents]]\nname='w2'\nstart_command='x'\n", "2:12", "no remote", ""},
		"session template":      {"[workspace]\nsession_template = '{{.Nope}}'\n" + agent, "2:20", "Nope", ".Agent"},
		"broken template":       {"[workspace]\nsession_template = '{{'\n" + agent, "2:20", "session_template", ".Agent"},
		"template not distinct": {"[workspace]\nsession_template = 'same'\n" + agent + "[[agents]]\nname='v'\nstart_command='x'\n", "2:20", "not distinct", ""},
		"unknown dependency":    {agent + "depends_on = ['v']\n", "4:15", `no agent "v" to depend on`, ""},
		"dependency on itself":  {agent + "depends_on = ['w']\n", "4:14", "wait for each other: w -> w", ""},
		"dependency cycle":      {"[workspace]\nstart_command='x'\n[[agents]]\nname='a'\ndepends_on=['b']\n[[agents]]\nname='b'\ndepends_on=['a']\n", "5:12", "a -> b -> a", ""},
		"base cycle":            {"[providers.a]\nbase='provider:b'\n[providers.b]\nbase='a'\n", "2:6", "a -> b -> a", ""},
		"base on itself":        {"[providers.a]\nbase='provider:a'\n", "2:6", "a -> a", ""},
		"unknown base":          {"[providers.a]\nbase='builtin:robt'\n", "2:6", `no profile "robt"`, `"robot"`},
		"address":               {"[upstreams.a]\nbase_url='ftp://x'\n", "2:10", "not the address of a web service", "https"},
		"address with password": {"[upstreams.a]\nbase_url='https://u:sk-canary@x'\n", "2:10", "contains a password", "api_key"},
		"kind of secret":        {"[upstreams.a]\napi_key={envv='X'}\n", "2:10", `unknown kind of reference "envv"`, `"env"`},
		"two references":        {"[upstreams.a]\napi_key={env='X', file='y'}\n", "2:1", "exactly one reference", ""},
		"variable name":         {agent + "env = {'A-B' = 'x'}\n", "4:16", `"A-B" is not the name of an environment variable`, ""},
		"copy without source":   {agent + "copy_files = [{rel_dst='a'}]\n", "4:15", "has no src", ""},
		"copy outside":          {agent + "copy_files = [{src='a', rel_dst='../b'}]\n", "4:33", "outside the working folder", ""},
		"rig without path":      {"[[rigs]]\nname='r'\n", "1:3", `rig "r" has no path`, ""},
		"rig twice":             {"[[rigs]]\nname='r'\npath='a'\n[[rigs]]\nname='r'\npath='b'\n", "5:6", "two rigs", "city.toml:2"},
		"lost prompt":           {agent + "lifecycle='one_shot'\nnudge='hello'\n", "4:11", "its prompt would be lost", "prompt_mode"},
		"flag without flag":     {agent + "prompt_mode='flag'\n", "4:13", "no prompt_flag", ""},
		"syntax":                {"[workspace\nname='x'\n", "1:11", "expected", ""},
		"key twice":             {"[workspace]\nname='x'\nname='y'\n", "3:1", "already", ""},
		"multi-byte column":     {agent + "env = { A = 'äöü', B = 1 }\n", "4:24", "env.B must be a string", ""},
	} {
		t.Run(name, func(t *testing.T) {
			errs := refuse(t, c.text)
			if len(errs) != 1 {
				t.Fatalf("one mistake gives %d errors:\n%v", len(errs), errs)
			}
			text := errs.Error()
			if !strings.HasPrefix(text, "city.toml:"+c.place+": ") {
				t.Errorf("the place is not %s:\n%s", c.place, text)
			}
			if !strings.Contains(errs[0].Message, c.message) || !strings.Contains(errs[0].Hint, c.hint) {
				t.Errorf("got message %q and hint %q", errs[0].Message, errs[0].Hint)
			}
			if strings.Contains(text, "sk-canary") && name != "address with password" {
				t.Error("the error shows a credential")
			}
		})
	}
}

// TestAllMistakesAtOnceInOrder checks that several mistakes are reported together, sorted by
// position.
func TestAllMistakesAtOnceInOrder(t *testing.T) {
	errs := refuse(t, "[[agents]]\nname='w'\nproviderr='x'\n[daemon]\npatrol_interval='x'\n[session]\nprovider='nope'\n")
	var lines []int
	for _, e := range errs {
		lines = append(lines, e.Line)
	}
	if diff := cmp.Diff([]int{1, 3, 5, 7}, lines); diff != "" {
		t.Errorf("lines of the errors: %s\n%v", diff, errs)
	}
}

// TestCaretIsUnderThePosition checks that the caret of an error is below the position in the source
// line.
func TestCaretIsUnderThePosition(t *testing.T) {
	got := refuse(t, "[session]\n\tprovider = \"térm\"\n").Error()
	want := "city.toml:2:13: there is no runtime provider \"térm\"\n" +
		"  2 | \tprovider = \"térm\"\n" +
		"    | \t           ^^^^^^\n" +
		"    = did you mean \"term\"? Known: term, plain, script:<script>, remote:[user@]host[:port], byname, bytransport"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestTheCaretCountsColumnsAndNotCharacters checks that the caret is at the right column after wide
// characters and tabs.
func TestTheCaretCountsColumnsAndNotCharacters(t *testing.T) {
	for line, want := range map[string]string{
		`env = { "漢字" = 5 }`: `                 ^`,
		`"漢字" = 5`:           `^^^^^^`,
		`prompt_mode = "漢字"`: `              ^^^^^^`,
	} {
		text := refuse(t, "[[agents]]\nname = 'w'\nstart_command = 'x'\n"+line+"\n").Error()
		if lines := strings.Split(text, "\n"); strings.TrimPrefix(lines[2], "    | ") != want {
			t.Errorf("%s is underlined so, want %q:\n%s", line, want, text)
		}
	}
}

// TestErrorsNeverShowCredentials checks that no error shows the value of a credential.
func TestErrorsNeverShowCredentials(t *testing.T) {
	for _, line := range []string{
		`api_key = "sk-canary" x`, `api_key = { evn = "sk-canary" }`, `auth_token = ["sk-canary"]`, `env = { MY_TOKEN = "sk-canary", B = 1 }`,
	} {
		if text := refuse(t, "[upstreams.a]\n"+line+"\n").Error(); strings.Contains(text, "sk-canary") {
			t.Errorf("the error shows the credential:\n%s", text)
		}
	}
}

// TestLoadChecksThatFilesExist checks that files and directories that city.toml names must exist.
func TestLoadChecksThatFilesExist(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("there.md", "x")
	write("city.toml", `[[agents]]
name = "w"
start_command = "x"
prompt_template = "missing.md"
overlay_dir = "there.md"
session_setup_script = "//there.md"
pack_overlay_dirs = ["nowhere"]
copy_files = [{src = "gone"}]
`)
	_, err := config.Load(t.Context(), filepath.Join(dir, "city.toml"), testCatalog())
	errs, _ := config.AsErrors(err)
	var got []string
	for _, e := range errs {
		got = append(got, e.Message[:strings.LastIndex(e.Message, ": ")])
	}
	want := []string{"the path of prompt_template does not exist", "overlay_dir is a file, not a folder", "the path of pack_overlay_dirs does not exist", "the path of src does not exist"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := config.Load(t.Context(), filepath.Join(dir, "none.toml"), testCatalog()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing city.toml gives %v", err)
	}
}

// TestKeysWithoutEffectAreNoted checks that keys that gc accepts and does not use are reported.
func TestKeysWithoutEffectAreNoted(t *testing.T) {
	city := parse(t, `
[daemon]
session_circuit_breaker_window = "1m"
wisp_ttl = 5
[[agents]]
name = "w"
start_command = "x"
namepool = "names"
[[named_session]]
name = "n"
mode = "always"
`)
	var got []string
	for _, n := range city.Notes {
		got = append(got, n.Message)
	}
	want := []string{
		"session_circuit_breaker_window has no effect: gc has no named sessions; see max_restarts",
		"wisp_ttl has no effect: gc has no work items",
		"namepool has no effect: a session has one name, see session_template",
		"named_session has no effect: gc has no named sessions; write an agent or a pool",
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
