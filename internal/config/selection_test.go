package config_test

import (
	"slices"
	"strings"
	"testing"

	"gascity/internal/config"
)

func TestSelectionOfTheRuntime(t *testing.T) {
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
		got, origin, err := c.city.RuntimeFor(c.agent, c.env, known())
		if err != nil || got != c.want || origin.String() != c.origin {
			t.Errorf("GC_SESSION=%q selects %q from %s (%v), want %q from %s", c.env, got, origin, err, c.want, c.origin)
		}
	}
	_, _, err := city.RuntimeFor(nil, "trem", known())
	if err == nil || !strings.Contains(err.Error(), "environment GC_SESSION") || !strings.Contains(err.Error(), "plain, script:<script>") {
		t.Errorf("an unknown GC_SESSION gives %v", err)
	}
}

func TestTemplateIsACity(t *testing.T) {
	for _, name := range []string{"bright-lights", `we"ird \ näme`} {
		city := parse(t, config.Template(name))
		if city.Workspace.Name != name || len(city.Agents) != 1 || len(city.Notes) != 0 {
			t.Errorf("Template(%q) gives the city %q with %d agents", name, city.Workspace.Name, len(city.Agents))
		}
	}
}

func TestDefaultName(t *testing.T) {
	city, err := config.Parse("/srv/lights/city.toml", nil, known())
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
