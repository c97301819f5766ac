package plan_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
	"gascity/runtime"
)

// testKnownNames returns the names that the configurations of these tests may use.
func testKnownNames() config.Catalog {
	return config.Catalog{
		Runtimes:  []config.Runtime{{Name: "term"}, {Name: "plain"}, {Name: "wire", Protocol: true}, {Name: "script", Argument: "<script>"}},
		AgentCLIs: agentcli.Builtin().Names(),
	}
}

// inputs returns the inputs of Resolve. prompt is the content of every prompt template.
func inputs(prompt string) plan.Inputs {
	return plan.Inputs{
		Profiles: agentcli.Builtin(),
		Known:    testKnownNames(),
		LookupEnv: func(name string) (string, bool) {
			return "city:" + name, name == "HOME" || name == "PATH"
		},
		ReadFile: func(path string) ([]byte, error) {
			if strings.HasSuffix(path, "missing.md") {
				return nil, os.ErrNotExist
			}
			return []byte(prompt), nil
		},
		Now:    time.Date(2026, 3, 1, 15, 4, 5, 0, time.UTC),
		Binary: "/opt/gc",
	}
}

// robot is an agent CLI for the tests, about which everything is known.
const robot = `
[providers.robot]
base = "builtin:claude"
command = "robot"
args = ["-x"]
permission_modes = { plan = "--plan" }
permission_mode = ""
env = { ROBOT = "1" }
`

// resolveText resolves the text of a city.toml.
func resolveText(t *testing.T, text, prompt string) (plan.Desired, []plan.Warning, error) {
	t.Helper()
	city, err := config.Parse("/srv/lights/city.toml", []byte(text), testKnownNames())
	if err != nil {
		t.Fatalf("the city is refused:\n%v", err)
	}
	return plan.Resolve(city, inputs(prompt))
}

// resolve resolves the text of a city.toml without mistakes and returns its first session.
func resolve(t *testing.T, text string) *plan.Session {
	t.Helper()
	desired, _, err := resolveText(t, text, "Do {{.Agent}}.\n")
	if err != nil {
		t.Fatalf("the city cannot be resolved:\n%v", err)
	}
	return desired.Sessions[0]
}

const (
	plainAgent = "[[agents]]\nname = \"w\"\nstart_command = \"run\"\n"
	robotAgent = "[[agents]]\nname = \"w\"\nprovider = \"robot\"\n"
)

// TestKeys checks for each key which fields of runtime.Config it changes, and which fingerprints
// (p: provision, l: launch, v: live).
func TestKeys(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"overlay", "pack"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "f"), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	q := func(name string) string { return "'" + filepath.Join(dir, name) + "'" }
	upstream := "\n[upstreams.u]\nbase_url='https://x'\napi_key='env:K'\n"
	for key, c := range map[string]struct {
		base, add, after string // the agent, the lines to add, further sections in both
		fields           string // fields of runtime.Config that change
		moves            string
	}{
		"description":              {plainAgent, "description='x'", "", "", ""},
		"dir of a folder":          {plainAgent, "dir='sub'", "", "WorkDir Env", "p"},
		"dir of a rig":             {plainAgent, "dir='r'", "\n[[rigs]]\nname='r'\npath='/src/r'", "WorkDir Env", "p"},
		"work_dir":                 {plainAgent, "work_dir='x/{{.AgentBase}}'", "", "WorkDir Env", "p"},
		"suspended":                {plainAgent, "suspended=true", "", "", ""},
		"depends_on":               {plainAgent, "depends_on=['v']", "\n[[agents]]\nname='v'\nstart_command='x'", "", ""},
		"provider":                 {plainAgent, "provider='robot'", robot, "Env ReadyPromptPrefix ReadyDelayMs ProcessNames EmitsPermissionWarning ProviderName ProviderOverlayName PromptSuffix", "p"},
		"upstream":                 {robotAgent, "upstream='u'", robot + upstream, "Upstream", "l"},
		"args":                     {robotAgent, "args=['--y']", robot, "Command", "l"},
		"args_append":              {robotAgent, "args_append=['--y']", robot, "Command", "l"},
		"permission_mode":          {robotAgent, "permission_mode='plan'", robot, "Command", "l"},
		"lifecycle":                {plainAgent, "lifecycle='one_shot'", "", "Lifecycle", "l"},
		"session":                  {plainAgent, "session='plain'", "", "", ""},
		"env":                      {plainAgent, "env={A='1'}", "", "Env", "p"},
		"prompt_template":          {robotAgent, "prompt_template='p.md'", robot, "PromptSuffix", ""},
		"prompt_template, no CLI":  {plainAgent, "prompt_template='p.md'", "", "Nudge", ""},
		"prompt_mode":              {robotAgent, "prompt_mode='none'", robot, "Nudge PromptSuffix", ""},
		"prompt_flag":              {robotAgent, "prompt_mode='flag'\nprompt_flag='-i'", robot, "PromptFlag", ""},
		"nudge":                    {plainAgent, "nudge='x'", "", "Nudge", ""},
		"mouse_mode":               {plainAgent, "mouse_mode='on'", "", "MouseOn", "l"},
		"ready_prompt_prefix":      {plainAgent, "ready_prompt_prefix='> '", "", "Env ReadyPromptPrefix", ""},
		"ready_delay_ms":           {plainAgent, "ready_delay_ms=5", "", "ReadyDelayMs", ""},
		"process_names":            {plainAgent, "process_names=['x']", "", "ProcessNames", ""},
		"emits_permission_warning": {plainAgent, "emits_permission_warning=true", "", "EmitsPermissionWarning", ""},
		"accept_startup_dialogs":   {plainAgent, "accept_startup_dialogs=false", "", "AcceptStartupDialogs", "l"},
		"pre_start":                {plainAgent, "pre_start=['x']", "", "PreStart", "p"},
		"session_setup":            {plainAgent, "session_setup=['x']", "", "SessionSetup", "l"},
		"session_setup_script":     {plainAgent, "session_setup_script='x'", "", "SessionSetupScript", "l"},
		"session_live":             {plainAgent, "session_live=['x']", "", "SessionLive", "v"},
		"overlay_dir":              {plainAgent, "overlay_dir=" + q("overlay"), "", "OverlayDir", "p"},
		"pack_overlay_dirs":        {plainAgent, "pack_overlay_dirs=[" + q("pack") + "]", "", "PackOverlayDirs", "p"},
		"copy_files":               {plainAgent, "copy_files=[{src=" + q("pack") + "}]", "", "CopyFiles", "p"},
		"install_agent_hooks":      {plainAgent, "install_agent_hooks=['x']", "", "InstallAgentHooks", "p"},
		"hooks_installed":          {robotAgent, "hooks_installed=true", robot, "PromptSuffix", ""},
		"max_active_sessions":      {plainAgent, "max_active_sessions=1", "", "", ""},
		"max_session_age":          {plainAgent, "max_session_age='1h'", "", "", ""},
		"drain_timeout":            {plainAgent, "drain_timeout='1h'", "", "", ""},
		"wake_mode":                {robotAgent, "wake_mode='fresh'", robot, "", ""},
		"resume_command":           {plainAgent, "resume_command='x {{.SessionKey}}'", "", "", ""},
		"pending":                  {plainAgent, "[agents.pending]\npolicy='deny'", "", "", ""},
		"idle_timeout":             {plainAgent, "idle_timeout='1h'", "", "", ""},
		"inject_fragments":         {plainAgent, "inject_fragments=['x']", "", "", ""},
	} {
		t.Run(key, func(t *testing.T) {
			old := resolve(t, c.base+c.after)
			changed := resolve(t, c.base+c.add+"\n"+c.after)
			if diff := cmp.Diff(c.fields, changedFields(old.Config, changed.Config)); diff != "" {
				t.Errorf("changed fields: %s", diff)
			}
			moves := ""
			for _, half := range [][3]string{{"p", old.Provision, changed.Provision}, {"l", old.Launch, changed.Launch}, {"v", old.Live, changed.Live}} {
				if half[1] != half[2] {
					moves += half[0]
				}
			}
			if moves != c.moves || (old.Core != changed.Core) != strings.ContainsAny(c.moves, "pl") {
				t.Errorf("moved: %q, want %q", moves, c.moves)
			}
		})
	}
}

// changedFields lists the fields of Config that differ, in the struct's order.
func changedFields(a, b runtime.Config) string {
	var fields []string
	for i := range reflect.TypeFor[runtime.Config]().NumField() {
		name := reflect.TypeFor[runtime.Config]().Field(i).Name
		if !reflect.DeepEqual(reflect.ValueOf(a).Field(i).Interface(), reflect.ValueOf(b).Field(i).Interface()) {
			fields = append(fields, name)
		}
	}
	return strings.Join(fields, " ")
}

// TestNewCredentialsAndHintsDoNotChangeTheFingerprint checks that a new value of a credential, or
// of a hint of readiness, does not change the fingerprint, so that the agent is not restarted.
func TestNewCredentialsAndHintsDoNotChangeTheFingerprint(t *testing.T) {
	old := resolve(t, plainAgent+"env={A_TOKEN='old'}\nready_prompt_prefix='> '\n")
	changed := resolve(t, plainAgent+"env={A_TOKEN='new'}\nready_prompt_prefix='$ '\n")
	if changed.Config.Env["A_TOKEN"] != "new" || changed.Core != old.Core {
		t.Errorf("the new credential arrives as %q, the fingerprints are equal: %v", changed.Config.Env["A_TOKEN"], changed.Core == old.Core)
	}
}

// TestCommand checks the command line of an agent for each way to configure it.
func TestCommand(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"own":                      {plainAgent, "run"},
		"own with args":            {plainAgent + "args = ['a b', '$x', \"it's\"]\n", `run 'a b' '$x' "it's"`},
		"own is a template":        {"[[agents]]\nname='w'\nstart_command='run {{.Session}} {{quote \"a b\"}}'\n", "run gc-lights-w 'a b'"},
		"of the workspace":         {"[workspace]\nstart_command='ws'\n[[agents]]\nname='w'\n", "ws"},
		"of the profile":           {robotAgent + robot, "robot -x"},
		"of the workspace's CLI":   {"[workspace]\nprovider='robot'\n[[agents]]\nname='w'\n" + robot, "robot -x"},
		"own wins over workspace":  {"[workspace]\nprovider='robot'\n" + plainAgent + robot, "run"},
		"own drops profile's args": {robotAgent + "start_command='wrap'\nargs=['-z']\n" + robot, "wrap -z"},
		"args replace":             {robotAgent + "args=['-z']\n" + robot, "robot -z"},
		"args cleared":             {robotAgent + "args=[]\n" + robot, "robot"},
		"args appended":            {robotAgent + "args_append=['-z']\n" + robot, "robot -x -z"},
		"mode":                     {robotAgent + "permission_mode='plan'\n" + robot, "robot -x --plan"},
		"section on section":       {"[[agents]]\nname='w'\nprovider='mine'\n[providers.mine]\nbase='provider:robot'\nargs_append=['-m']\n" + robot, "robot -x -m"},
		"original of a changed one": {
			"[[agents]]\nname='w'\nprovider='mine'\n[providers.mine]\nbase='builtin:claude'\n[providers.claude]\ncommand='changed'\n",
			"claude --dangerously-skip-permissions",
		},
		"changed one":   {"[[agents]]\nname='w'\nprovider='claude'\n[providers.mine]\nbase='builtin:claude'\n[providers.claude]\ncommand='changed'\n", "changed --dangerously-skip-permissions"},
		"a new program": {"[[agents]]\nname='w'\nprovider='mine'\n[providers.mine]\ncommand='prog'\nargs=['a b']\n", "prog 'a b'"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, c.text).Config.Command; got != c.want {
				t.Errorf("the command is %q, want %q", got, c.want)
			}
		})
	}
}

// TestACPCommandOfASection checks that acp_command of a [providers.NAME] section is run for agents
// that speak the Agent Client Protocol, and only for those.
func TestACPCommandOfASection(t *testing.T) {
	const text = "[providers.mine]\ncommand='prog'\nargs=['-x']\nacp_command='speak'\nacp_args=['a b']\n"
	city, err := config.Parse("/srv/lights/city.toml", []byte(text), testKnownNames())
	if err != nil {
		t.Fatal(err)
	}
	set, err := plan.Profiles(city, agentcli.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	p, ok := set.Lookup("mine")
	speaking, speaks := p.ACPProfile()
	if !ok || !speaks || speaking.Command != "speak" || !slices.Equal(speaking.Args, []string{"a b"}) || p.Command != "prog" {
		t.Errorf("it speaks: %v, by %q with %q, and else by %q", speaks, speaking.Command, speaking.Args, p.Command)
	}
}

// TestGeminiByACPGetsTheConversationID checks that gemini, over the Agent Client Protocol, is
// started with the ID of the conversation that it resumes. Without the ID it deletes the
// conversation at its second restart. Other agent CLIs, and a start_command, do not get the ID.
func TestGeminiByACPGetsTheConversationID(t *testing.T) {
	const id = "7b2dc015-3e4b-4124-9b16-ab33541127a8"
	for text, want := range map[string]string{
		"provider='gemini'\nargs_append=['-m', 'x']": "gemini --acp -m x --resume " + id,
		"provider='opencode'":                        "opencode acp",
		"provider='gemini'\nstart_command='own'":     "own",
	} {
		s := resolve(t, "[[agents]]\nname='w'\n"+text+"\n[session]\nprovider='wire'\n")
		cfg, ok := s.ResumeCommand(session.Conversation{ID: id}, session.RungResume)
		if !ok || cfg.Command != want || cfg.Env[runtime.VariableConversation] != id {
			t.Errorf("%s continues by %q in %q, %v, want %q", text, cfg.Command, cfg.Env[runtime.VariableConversation], ok, want)
		}
		if strings.Contains(s.Config.Command, id) || strings.Contains(s.Config.Command, "resume") {
			t.Errorf("%s begins with %q", text, s.Config.Command)
		}
	}
}

// TestPermissionModesByACP checks which session mode of the Agent Client Protocol belongs to a
// permission mode. Without a permission mode, claude gets the mode in which it asks. A mode that
// the protocol does not have is an error that lists the known ones. GC_ACP_MODE replaces the mode.
func TestPermissionModesByACP(t *testing.T) {
	agent := func(name, more string) string {
		return "[[agents]]\nname='w'\nprovider='" + name + "'\n" + more + "\n[session]\nprovider='wire'\n"
	}
	for _, test := range [][3]string{
		{"claude", "", "default"},
		{"claude", "permission_mode='manual'", "default"},
		{"claude", "permission_mode='auto-edit'", "acceptEdits"},
		{"claude", "permission_mode='unrestricted'", "bypassPermissions"},
		{"claude", "[agents.env]\nGC_ACP_MODE='auto'", "auto"},
		{"gemini", "", ""},
		{"gemini", "permission_mode='unrestricted'", "yolo"},
		{"codex", "", ""},
		{"codex", "permission_mode='suggest'", "read-only"},
		{"codex", "permission_mode='auto-edit'", "auto"},
		{"codex", "permission_mode='unrestricted'", "full-access"},
		{"opencode", "", ""},
	} {
		s := resolve(t, agent(test[0], test[1]))
		if got := s.Config.Env[runtime.VariableMode]; got != test[2] {
			t.Errorf("%s with %q works in the mode %q, want %q", test[0], test[1], got, test[2])
		}
		if strings.Contains(s.Config.Command, "permission") {
			t.Errorf("%s with %q gets a flag for its terminal: %q", test[0], test[1], s.Config.Command)
		}
	}
	for name, want := range map[string]string{"claude": "manual, plan, unrestricted", "codex": "auto-edit, suggest, unrestricted", "opencode": "GC_ACP_MODE"} {
		city, err := config.Parse("/srv/lights/city.toml", []byte(agent(name, "permission_mode='nosuch'")), testKnownNames())
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err = plan.Resolve(city, inputs("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a mode that %s does not know: %v", name, err)
		}
	}
}

// TestACPCommandOfACLI checks that agents that speak the Agent Client Protocol run the program of
// the agent CLI for that protocol, without the flags and the hooks of its program for a terminal.
func TestACPCommandOfACLI(t *testing.T) {
	for name, want := range map[string]string{"claude": "claude-agent-acp", "codex": "codex-acp", "gemini": "gemini --acp", "opencode": "opencode acp"} {
		text := "[[agents]]\nname='w'\nprovider='" + name + "'\nargs_append=['-x']\n[session]\nprovider='wire'\n"
		if got := resolve(t, text).Config.Command; got != want+" -x" {
			t.Errorf("%s is run as %q, want %q", name, got, want+" -x")
		}
	}
}

// TestHintsOfTheAgentReplaceThoseOfTheProfile checks that a hint in the agent's section replaces
// that of the profile, also if its value is zero or empty.
func TestHintsOfTheAgentReplaceThoseOfTheProfile(t *testing.T) {
	inherited := resolve(t, robotAgent+robot).Config
	if inherited.ReadyPromptPrefix == "" || inherited.ReadyDelayMs == 0 || len(inherited.ProcessNames) == 0 || !inherited.EmitsPermissionWarning {
		t.Fatalf("the profile's hints are not inherited: %+v", inherited)
	}
	own := resolve(t, robotAgent+"ready_prompt_prefix=''\nready_delay_ms=0\nprocess_names=[]\nemits_permission_warning=false\n"+robot).Config
	if own.ReadyPromptPrefix != "" || own.ReadyDelayMs != 0 || len(own.ProcessNames) != 0 || own.EmitsPermissionWarning {
		t.Errorf("written zeros do not win: %+v", own)
	}
}

const (
	beacon = "[lights] w • 2026-03-01T15:04:05"
	prime  = "\n\nRun `gc prime $GC_AGENT` to initialize your context."
)

// TestProviderSuspensionAndDependencies checks the resolved runtime provider, suspension, timeouts
// and dependencies of agents.
func TestProviderSuspensionAndDependencies(t *testing.T) {
	city, err := config.Parse("/srv/lights/city.toml", []byte(`
[session]
provider = "plain"
startup_timeout = "7s"
[[rigs]]
name = "r"
path = "p"
suspended = true
[[agents]]
name = "a"
dir = "r"
start_command = "x"
depends_on = ["b"]
[[agents]]
name = "b"
dir = "r"
start_command = "x"
session = "script:./s"
[[agents]]
name = "c"
start_command = "x"
depends_on = ["r/b"]
`), testKnownNames())
	if err != nil {
		t.Fatal(err)
	}
	in := inputs("")
	in.RuntimeOverride = "term"
	desired, _, err := plan.Resolve(city, in)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Agent, Name, Provider string
		Suspended             bool
		DependsOn             []string
	}
	var got []row
	for _, s := range desired.Sessions {
		got = append(got, row{s.Agent, s.Name, s.Provider, s.Suspended, s.DependsOn})
		if s.StartTimeout != 7*time.Second {
			t.Errorf("the start of %s may take %s", s.Agent, s.StartTimeout)
		}
	}
	want := []row{
		{"r/a", "gc-lights-r--a", "term", true, []string{"r/b"}},
		{"r/b", "gc-lights-r--b", "script:./s", true, nil},
		{"c", "gc-lights-c", "term", false, []string{"r/b"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMistakesHavePositions checks that each mistake is reported with its position and names what
// is wrong.
func TestMistakesHavePositions(t *testing.T) {
	for name, c := range map[string]struct{ text, prompt, place, message string }{
		"command":         {"[[agents]]\nname='w'\nstart_command='run {{.Sesion}}'\n", "", "city.toml:3:15", "there is no {{.Sesion}}"},
		"second item":     {plainAgent + "pre_start=['a','b {{.X}}']\n", "", "city.toml:4:16", "there is no {{.X}}"},
		"syntax":          {plainAgent + "session_live=['{{']\n", "", "city.toml:4:15", "session_live: "},
		"env":             {plainAgent + "env={A='{{.X}}'}\n", "", "city.toml:4:8", "env.A: "},
		"work_dir":        {plainAgent + "work_dir='{{.WorkDir}}'\n", "", "city.toml:4:10", "there is no {{.WorkDir}}"},
		"prompt":          {plainAgent + "prompt_template='p.md'\n", "one\ntwo {{.Agnt}}\n", "p.md:2:7", "there is no {{.Agnt}}"},
		"prompt syntax":   {plainAgent + "prompt_template='p.md'\n", "one\n{{if}}\n", "p.md:2:1", "missing value"},
		"no such prompt":  {plainAgent + "prompt_template='missing.md'\n", "", "city.toml:4:17", "not exist"},
		"mode":            {robotAgent + "permission_mode='plann'\n" + robot, "", "city.toml:4:17", `no permission mode "plann"`},
		"no variable":     {plainAgent + "upstream='u'\n[upstreams.u]\napi_key='x'\n", "", "city.toml:4:10", "upstream_env"},
		"flag":            {robotAgent + "prompt_mode='flag'\n" + robot, "", "city.toml:4:13", "prompt_flag"},
		"lost prompt":     {robotAgent + "lifecycle='one_shot'\nnudge='x'\n" + robot, "", "city.toml:4:11", "would be lost"},
		"no command":      {"[[agents]]\nname='w'\nprovider='generic'\n", "", "city.toml:3:10", "no command"},
		"swapped bases":   {plainAgent + "[providers.claude]\nbase='builtin:codex'\n[providers.codex]\nbase='builtin:claude'\n", "", "city.toml:5:6", "cycle"},
		"bad patch":       {plainAgent + "[providers.x]\npermission_mode='nope'\n", "", "city.toml:4:12", "nope"},
		"names that meet": {"[workspace]\nsession_template='x-{{.Name}}'\n" + plainAgent, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := resolveText(t, c.text, c.prompt)
			if c.message == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			errs, ok := config.AsErrors(err)
			if !ok || len(errs) != 1 {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(errs[0].Brief(), c.place) || !strings.Contains(errs[0].Brief(), c.message) || errs[0].Source == "" {
				t.Errorf("got:\n%v", errs[0])
			}
		})
	}
}

// TestAllMistakesOfAllAgentsAreReported checks that the mistakes of all agents are reported at
// once.
func TestAllMistakesOfAllAgentsAreReported(t *testing.T) {
	_, _, err := resolveText(t, "[[agents]]\nname='a'\nstart_command='{{.X}}'\n[[agents]]\nname='b'\nstart_command='{{.Y}}'\nargs=['{{.Z}}']\n", "")
	if errs, _ := config.AsErrors(err); len(errs) != 3 {
		t.Errorf("three mistakes give:\n%v", err)
	}
}

// TestResolveIsDeterministicExceptForTheBeacon checks that resolving the same text twice gives the
// same sessions, except for the time in the beacon, the first line of a prompt.
func TestResolveIsDeterministicExceptForTheBeacon(t *testing.T) {
	text := robotAgent + "env={B='2',A='1',C='$A'}\n" + robot
	first := resolve(t, text)
	for range 20 {
		if again := resolve(t, text); !reflect.DeepEqual(first, again) {
			t.Fatalf("two resolutions differ:\n%s", cmp.Diff(first.Config, again.Config))
		}
	}
	city, err := config.Parse("/srv/lights/city.toml", []byte(text), testKnownNames())
	if err != nil {
		t.Fatal(err)
	}
	in := inputs("")
	in.Now = in.Now.Add(time.Hour)
	later, _, err := plan.Resolve(city, in)
	if err != nil || later.Sessions[0].Core != first.Core || later.Sessions[0].Config.PromptSuffix == first.Config.PromptSuffix {
		t.Errorf("the time must show in the beacon and in no fingerprint (%v)", err)
	}
}

// TestValuesHaveTheirOrigins checks that each shown value of the configuration has the position or
// the source that it comes from.
func TestValuesHaveTheirOrigins(t *testing.T) {
	city, err := config.Parse("/srv/lights/city.toml", []byte(robotAgent+"ready_delay_ms=1\n"+robot), testKnownNames())
	if err != nil {
		t.Fatal(err)
	}
	in := inputs("")
	in.RuntimeOverride = "plain"
	values, err := plan.Values(city, in)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, v := range values {
		lines = append(lines, v.Key+" = "+v.Value+" # "+filepath.Base(v.Origin.String()))
	}
	for _, want := range []string{
		`agents.w.session_name = "gc-lights-w" # default`,
		`agents.w.session = "plain" # environment GC_SESSION`,
		`agents.w.work_dir = "/srv/lights" # default`,
		`agents.w.start_command = "robot" # city.toml:8`,
		`agents.w.args = ["-x"] # city.toml:9`,
		`agents.w.ready_prompt_prefix = "❯ " # profile claude`,
		`agents.w.ready_delay_ms = 1 # city.toml:4`,
		`agents.w.env.ROBOT = "1" # city.toml:12`,
		`agents.w.env.DISABLE_AUTOUPDATER = "1" # profile claude`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing: %s\nin:\n%s", want, strings.Join(lines, "\n"))
		}
	}
}

// TestExamplesResolve checks that the cities in the directory examples have no mistakes.
func TestExamplesResolve(t *testing.T) {
	paths, err := filepath.Glob("../../../examples/*/city.toml")
	if err != nil || len(paths) < 2 {
		t.Fatalf("%d examples, %v", len(paths), err)
	}
	for _, path := range paths {
		city, err := config.Load(t.Context(), path, testKnownNames())
		if err != nil {
			t.Errorf("%s:\n%v", path, err)
			continue
		}
		in := inputs("")
		in.ReadFile = os.ReadFile
		desired, warnings, err := plan.Resolve(city, in)
		if err != nil || len(warnings) > 0 || len(desired.Sessions) == 0 {
			t.Errorf("%s: %d sessions, warnings %v, error %v", path, len(desired.Sessions), warnings, err)
		}
	}
}
