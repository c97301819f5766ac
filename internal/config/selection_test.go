package config_test

import (
	"slices"
	"strings"
	"testing"

	"gascity/internal/config"
)

// TestRuntimeFor checks the runtime provider of an agent and its origin.
func TestRuntimeFor(t *testing.T) {
	city := parse(t, full)
	plain := parse(t, "[[agents]]\nname='w'\nstart_command='x'\nsession='plain'\n")
	for _, c := range []struct {
		city              *config.City
		agent             *config.Agent
		env, want, origin string
	}{
		{city, &city.Agents[0], "", "script:./run", "city.toml:8"},
		{city, &city.Agents[0], "term", "term", "environment GC_SESSION"},
		{plain, &plain.Agents[0], "term", "plain", "city.toml:4"},
		{plain, nil, "", "term", "default"},
		{plain, nil, "remote:u@h:22", "remote:u@h:22", "environment GC_SESSION"},
	} {
		got, origin, err := c.city.RuntimeFor(c.agent, c.env, testCatalog())
		if err != nil || got != c.want || origin.String() != c.origin {
			t.Errorf("GC_SESSION=%q selects %q from %s (%v), want %q from %s", c.env, got, origin, err, c.want, c.origin)
		}
	}
	_, _, err := city.RuntimeFor(nil, "trem", testCatalog())
	if err == nil || !strings.Contains(err.Error(), "environment GC_SESSION") || !strings.Contains(err.Error(), "script:<script>") {
		t.Errorf("an unknown GC_SESSION gives %v", err)
	}
}

// TestRoutesOfTheRuntime checks, for cities that route sessions, which runtime provider their
// agents "w" and "far" get.
func TestRoutesOfTheRuntime(t *testing.T) {
	const agents = "[[agents]]\nname='w'\nstart_command='x'\n[[agents]]\nname='far'\nstart_command='x'\n"
	byName := "[session]\nprovider='byname'\nremote_match='far'\n[session.hybrid]\nremote='remote:h'\n"
	for name, c := range map[string]struct {
		text, env, near, far string
	}{
		"by name":              {byName + agents, "", "term", "remote:h"},
		"by name, other local": {byName + "local='plain'\n" + agents, "", "plain", "remote:h"},
		"own session wins":     {byName + agents + "session='plain'\n", "", "term", "plain"},
		"one agent is routed":  {strings.Replace(byName, "'byname'", "'plain'", 1) + agents + "session='byname'\n", "", "plain", "remote:h"},
		"environment":          {strings.Replace(byName, "'byname'", "'plain'", 1) + agents, "byname", "term", "remote:h"},
		"environment wins":     {byName + agents, "plain", "plain", "plain"},
		"by transport":         {"[session]\nprovider='bytransport'\n[session.auto]\nacp='script:./talk'\n" + agents + "session='talk'\n", "", "term", "script:./talk"},
		"transport, default":   {"[session]\nprovider='bytransport'\n[session.auto]\ndefault='plain'\n" + agents + "session='term'\n", "", "plain", "term"},
	} {
		t.Run(name, func(t *testing.T) {
			city := parse(t, c.text)
			for i, want := range []string{c.near, c.far} {
				got, _, err := city.RuntimeFor(&city.Agents[i], c.env, testCatalog())
				if err != nil || got != want {
					t.Errorf("%s runs at %q, %v, want %q", city.Agents[i].Name, got, err, want)
				}
			}
			if len(city.Faults) > 0 {
				t.Errorf("faults: %v", city.Faults)
			}
		})
	}
}

// TestUnknownProviderIsAFaultOfTheAgent checks that an unknown runtime provider in the section of
// an agent is not a mistake of the whole city.
func TestUnknownProviderIsAFaultOfTheAgent(t *testing.T) {
	const agents = "[[agents]]\nname='w'\nstart_command='x'\n[[agents]]\nname='v'\nstart_command='x'\n"
	for selection, want := range map[string]string{
		"trem":       `city.toml:7:9: there is no runtime provider "trem"; did you mean "term"?`,
		"remote:h:0": "city.toml:7:9: remote:h:0: port 0; write remote:[user@]host[:port]",
		"script":     `city.toml:7:9: "script" is not a runtime provider; write script:<script>`,
	} {
		city := parse(t, agents+"session='"+selection+"'\n")
		if len(city.Faults) != 1 || !strings.HasPrefix(city.Faults[0].Brief(), want) {
			t.Errorf("the faults are %v, want %s", city.Faults, want)
		}
		if got, _, err := city.RuntimeFor(&city.Agents[1], "", testCatalog()); err == nil || got != selection {
			t.Errorf("RuntimeFor = %q, %v, want what was written and an error", got, err)
		}
	}
	city := parse(t, "[session]\nprovider='bytransport'\n"+agents+"session='talk'\n")
	if len(city.Faults) != 1 || !strings.Contains(city.Faults[0].Message, `"talk"`) {
		t.Errorf("a transport without a driver: %v", city.Faults)
	}
}

func TestTemplateIsACity(t *testing.T) {
	for _, name := range []string{"bright-lights", `we"ird \ näme`} {
		city := parse(t, config.Template(config.Starter{City: name}))
		if city.Workspace.Name != name || len(city.Agents) != 1 || len(city.Notes) != 0 {
			t.Errorf("Template(%q) gives the city %q with %d agents", name, city.Workspace.Name, len(city.Agents))
		}
	}
}

func TestDefaultName(t *testing.T) {
	city, err := config.Parse("/srv/lights/city.toml", nil, testCatalog())
	if err != nil || city.Workspace.Name != "lights" || city.Root != "/srv/lights" {
		t.Errorf("got %q in %q, %v", city.Workspace.Name, city.Root, err)
	}
	for path, want := range map[string]string{"a": "/srv/lights/a", "//a": "/srv/lights/a", "/x/../y": "/y", "": ""} {
		if got := city.Abs(path); got != want {
			t.Errorf("Abs(%q) is %q, want %q", path, got, want)
		}
	}
}

func TestValuesMaskCredentials(t *testing.T) {
	var lines []string
	for _, v := range parse(t, full).Values() {
		lines = append(lines, v.Key+" = "+v.Value+" # "+v.Origin.String())
	}
	text := strings.Join(lines, "\n")
	if strings.Contains(text, "sk-canary") {
		t.Error("a credential is shown")
	}
	for _, want := range []string{
		`workspace.name = "bright-lights" # city.toml:3`,
		`session.setup_timeout = "10s" # default`,
		`upstreams.proxy.api_key = "env:PROXY_KEY" # city.toml:16`,
		`agents.front/worker.env.API_KEY = "********" # city.toml:34`,
		`agents.front/worker.args = [] # city.toml:33`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing: %s\nin:\n%s", want, text)
		}
	}
}

func TestValuesAreShownAsTheyAreWritten(t *testing.T) {
	city := parse(t, "[[agents]]\nname = 'w'\nstart_command = 'a > b && c <d'\n")
	for _, v := range city.Values() {
		if v.Key == "agents.w.start_command" && v.Value != `"a > b && c <d"` {
			t.Errorf("the command is shown as %s", v.Value)
		}
	}
}
