package config

import (
	"strings"
	"testing"
	"time"
)

const budgeted = `
[usage]
prices = "prices.toml"
[[usage.budgets]]
name = "day"
scope = "city"
measure = "usd"
limit = 20.5
window = "24h"
act = "hold"
[[usage.budgets]]
name = "work"
match = "w*"
measure = "time"
limit = "2h"
act = "stop"
silence = "10m"
[[usage.budgets]]
name = "tokens"
measure = "tokens"
limit = 2_000_000
cached = true
[[agents]]
name = "worker"
start_command = "sh"
`

func TestUsageIsRead(t *testing.T) {
	city, err := Parse("city.toml", []byte(budgeted), Catalog{})
	if err != nil {
		t.Fatal(err)
	}
	b := city.Usage.Budgets
	if len(b) != 3 || city.Usage.Prices != "prices.toml" || b[0].Limit.Value != 20.5 || b[0].Window != 24*time.Hour || b[1].Limit.Span != 2*time.Hour ||
		b[1].Scope != "agent" || b[2].Limit.Value != 2e6 || b[2].Act != "warn" || !b[2].Cached || b[1].Silence != 10*time.Minute {
		t.Errorf("read %+v", city.Usage)
	}
	values := map[string]string{}
	for _, v := range city.Values() {
		values[v.Key] = v.Value + " " + v.Origin.String()
	}
	for key, want := range map[string]string{
		"usage.prices": `"prices.toml" city.toml:3`, "usage.budgets.day.limit": "20.5 city.toml:8", "usage.budgets.work.limit": `"2h0m0s" city.toml:15`,
		"usage.budgets.tokens.act": `"warn" default`, "usage.budgets.tokens.limit": "2000000 city.toml:21",
	} {
		if values[key] != want {
			t.Errorf("%s is shown as %q, want %q", key, values[key], want)
		}
	}
}

func TestUsageIsChecked(t *testing.T) {
	for name, c := range map[string]struct{ old, fresh, place, message string }{
		"no measure":         {"measure = \"usd\"\n", "", "4:9", "does not say what it counts"},
		"no limit":           {"limit = 20.5\n", "", "4:9", "has no limit"},
		"zero":               {"20.5", "0", "8:9", "above zero"},
		"negative":           {"20.5", "-1.5", "8:9", "above zero"},
		"not a number":       {"20.5", "nan", "8:9", "above zero"},
		"a duration of usd":  {"20.5", `"2h"`, "8:9", "that counts usd must be a number"},
		"a number of time":   {`limit = "2h"`, "limit = 2", "15:9", "must be a duration"},
		"no duration":        {`"2h"`, `"two"`, "15:9", "is not a valid duration"},
		"a list":             {"20.5", "[1]", "8:9", "must be a number or a duration"},
		"twice":              {`"work"`, `"day"`, "12:8", "two budgets named"},
		"no name":            {"name = \"day\"\n", "", "4:9", "name is missing"},
		"an act":             {`"hold"`, `"kill"`, "10:7", "act cannot be"},
		"a scope":            {`"city"`, `"town"`, "6:9", "scope cannot be"},
		"nobody":             {`"w*"`, `"x*"`, "13:9", "no agent is called"},
		"no pattern":         {`"w*"`, `"["`, "13:9", "is not a valid pattern"},
		"a match of all":     {`measure = "usd"`, "measure = \"usd\"\nmatch = \"worker\"", "8:9", "for all agents"},
		"cached turns":       {"measure = \"tokens\"\n", "measure = \"turns\"\n", "22:10", "cached has no effect"},
		"an unknown key":     {"silence", "silense", "17:1", "unknown key"},
		"an unwritten time":  {`window = "24h"`, `window = "0s"`, "9:10", "cannot be zero"},
		"a table, not a row": {"[[usage.budgets]]\nname = \"day\"", "[usage.budgets]\nname = \"day\"", "", ""},
	} {
		_, err := Parse("city.toml", []byte(strings.Replace(budgeted, c.old, c.fresh, 1)), Catalog{})
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if !strings.Contains(err.Error(), "city.toml:"+c.place) || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v\nwant %s: %s", name, err, c.place, c.message)
		}
	}
}
