package plan_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/config"
)

// TestEnv checks the environment of an agent: templates, variables of the city, variables of the
// profile, and gc's own.
func TestEnv(t *testing.T) {
	s := resolve(t, `
[[agents]]
name = "w"
dir = "r"
provider = "robot"
env = { A = "$B-${C}", B = "b", C = "{{.Session}}", PATH = "/x:$PATH", ROBOT = "$ROBOT+", COST = "$$5", PLAIN = "$ %", LOOP = "$LOOP2", LOOP2 = "$LOOP", GC_AGENT = "forged", UNSET = "" }
[[rigs]]
name = "r"
path = "projects/r"
`+robot)
	for name, want := range map[string]string{
		"A": "b-" + s.Name, "PATH": "/x:city:PATH", "ROBOT": "1+", "COST": "$5", "PLAIN": "$ %", "LOOP": "", "UNSET": "",
		"GC_AGENT": "r/w", "GC_ALIAS": "r/w", "GC_TEMPLATE": "r/w", "GC_SESSION_NAME": s.Name,
		"GC_CITY": "/srv/lights", "GC_CITY_PATH": "/srv/lights", "GC_CITY_NAME": "lights",
		"GC_DIR": "/srv/lights/projects/r", "GC_RIG": "r", "GC_RIG_ROOT": "/srv/lights/projects/r",
		"GC_PROVIDER": "robot", "GC_READY_PROMPT_PREFIX": "❯ ", "GC_BIN": "/opt/gc", "CI": "",
	} {
		if got, ok := s.Config.Env[name]; !ok || got != want {
			t.Errorf("%s is %q (set: %v), want %q", name, got, ok, want)
		}
	}
	for _, name := range []string{"GC_INSTANCE_TOKEN", "GC_SESSION_ID", "GC_WORKER_TOKEN"} {
		if _, ok := s.Config.Env[name]; ok {
			t.Errorf("%s belongs to an instance", name)
		}
	}
}

// TestUnknownVariableIsAWarning checks that a variable in env that is not set is a warning with its
// position.
func TestUnknownVariableIsAWarning(t *testing.T) {
	_, warnings, err := resolveText(t, plainAgent+"env={A='$NOPE'}\n", "")
	if err != nil || len(warnings) != 1 || warnings[0].Agent != "w" || !strings.Contains(warnings[0].Message, "$NOPE") || warnings[0].Origin.Line != 4 {
		t.Errorf("got %v, %v", warnings, err)
	}
}

// TestUpstream checks which environment variables an agent gets from its upstream, and that its own
// env replaces them.
func TestUpstream(t *testing.T) {
	text := robotAgent + `upstream = "proxy"
env = { ANTHROPIC_BASE_URL = "http://mine" }
[upstreams.proxy]
base_url = "https://theirs"
api_key = { env = "KEY" }
auth_token = "sk-canary"
env = { MODEL = "big" }
` + robot
	s := resolve(t, text)
	got := map[string]string{}
	for name, secret := range s.UpstreamEnv {
		value, err := secret.Resolve(t.Context(), config.SecretSource{Env: func(n string) (string, bool) { return "from " + n, true }})
		if err != nil {
			t.Fatal(err)
		}
		got[name] = value
	}
	want := map[string]string{"ANTHROPIC_API_KEY": "from KEY", "ANTHROPIC_AUTH_TOKEN": "sk-canary", "MODEL": "big"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Config.Upstream != "proxy" || s.Config.Env["ANTHROPIC_BASE_URL"] != "http://mine" {
		t.Errorf("upstream %q, address %q", s.Config.Upstream, s.Config.Env["ANTHROPIC_BASE_URL"])
	}
	rotated := resolve(t, strings.Replace(strings.Replace(text, "sk-canary", "sk-other", 1), "theirs", "others", 1))
	if rotated.Core != s.Core {
		t.Error("a rotated credential or address moves a fingerprint")
	}
}

// TestSecretsOfUpstreamsResolve checks how the credentials of an upstream are read, and that an
// error does not contain them.
func TestSecretsOfUpstreamsResolve(t *testing.T) {
	source := config.SecretSource{
		Env:     func(string) (string, bool) { return "", false },
		File:    func(path string) ([]byte, error) { return []byte("in " + path + "\n"), nil },
		Command: func(context.Context, string) ([]byte, error) { return nil, errors.New("exit 1") },
	}
	if got, err := config.ParseSecret("file:x").Resolve(t.Context(), source); err != nil || got != "in x" {
		t.Errorf("file: %q, %v", got, err)
	}
	for _, text := range []string{"env:NONE", "command:pass x"} {
		if _, err := config.ParseSecret(text).Resolve(t.Context(), source); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
