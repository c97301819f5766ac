package cityservice

import (
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/domain/plan"
	"gascity/internal/hookrunner"
	"gascity/runtime"
)

// TestChannelOf checks what is shown about how prompts get to an agent: it follows from what is
// connected, and prompts that are typed have a reason.
func TestChannelOf(t *testing.T) {
	t.Parallel()
	with := func(hooks string, s plan.Session) plan.Session {
		s.Agent, s.Config = "one", runtime.Config{Env: map[string]string{hookrunner.VariableHooks: hooks}}
		return s
	}
	for name, c := range map[string]struct {
		session plan.Session
		listens bool
		want    client.Channel
		reason  string
	}{
		"codex":                  {with("codex", plan.Session{}), true, client.Channel{Way: "native", By: "codex's server"}, ""},
		"opencode":               {with("opencode", plan.Session{}), true, client.Channel{Way: "native", By: "gc's plugin in opencode"}, ""},
		"an extension":           {with("pi", plan.Session{}), true, client.Channel{Way: "native", By: "gc's extension of pi"}, ""},
		"not connected":          {with("codex", plan.Session{}), false, client.Channel{Way: "typed"}, "codex's server is not connected"},
		"typed by configuration": {with("codex", plan.Session{Typed: `channel = "typed" in city.toml`}), false, client.Channel{Way: "typed"}, `channel = "typed"`},
		"changed while it runs":  {with("codex", plan.Session{Typed: `channel = "typed" in city.toml`}), true, client.Channel{Way: "native", By: "codex's server"}, ""},
		"no channel":             {with("claude", plan.Session{Typed: "it has none"}), false, client.Channel{Way: "typed"}, "it has none"},
		"ACP":                    {with("", plan.Session{Protocol: true, Typed: "it has none"}), false, client.Channel{Way: "acp"}, ""},
		"worker":                 {with("", plan.Session{ByWorker: true}), false, client.Channel{Way: "worker"}, ""},
		"a worker beside":        {with("claude", plan.Session{Typed: "it has none"}), true, client.Channel{Way: "worker"}, ""},
	} {
		got := *channelOf(c.session, c.listens)
		if !strings.Contains(got.Reason, c.reason) || (c.reason == "") != (got.Reason == "") {
			t.Errorf("%s: the reason is %q, want %q", name, got.Reason, c.reason)
		}
		if got.Reason = ""; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
