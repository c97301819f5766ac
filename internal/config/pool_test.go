package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/internal/config"
)

const poolAgent = "[[agents]]\nname = \"w\"\nstart_command = \"x\"\n"

// TestPoolSizeByBothNames checks that a pool has the same size with the keys of [agents.pool] and
// with the other names of these keys.
func TestPoolSizeByBothNames(t *testing.T) {
	type size struct {
		config.Scale
		OK bool
	}
	for text, want := range map[string]size{
		"":                        {},
		"max_active_sessions = 1": {},
		"max_active_sessions = 3": {config.Scale{Min: 1, Max: 3}, true},
		"max_active_sessions = 3\nmin_active_sessions = 2": {config.Scale{Min: 2, Max: 3}, true},
		"max_active_sessions = 1\nscale_check = 'c'":       {config.Scale{Max: 1, Check: "c"}, true},
		"[agents.pool]\nmax = 1":                           {config.Scale{Min: 1, Max: 1}, true},
		"[agents.pool]\nmin = 0\nmax = 4":                  {config.Scale{Max: 4}, true},
		"pool = { max = 4, check = 'c' }":                  {config.Scale{Max: 4, Check: "c"}, true},
		"min_active_sessions = 2\n[agents.pool]\nmax = 4":  {config.Scale{Min: 2, Max: 4}, true},
	} {
		scale, ok := parse(t, poolAgent+text+"\n").Agents[0].Scale()
		if diff := cmp.Diff(want, size{scale, ok}); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestMembersHaveUniqueNames checks that a member of a pool cannot have the name of another agent.
func TestMembersHaveUniqueNames(t *testing.T) {
	city := parse(t, poolAgent+"dir = 'd'\nmax_active_sessions = 2\n")
	first, second := city.Agents[0].Member(1), city.Agents[0].Member(2)
	if first.QualifiedName() != "d/w-1" || second.QualifiedName() != "d/w-2" || city.Agents[0].QualifiedName() != "d/w" {
		t.Errorf("the members of %s are %s and %s", city.Agents[0].QualifiedName(), first.QualifiedName(), second.QualifiedName())
	}
}

// TestMistakesInPoolsAndPolicies checks the mistakes in the keys of pools and of [agents.pending].
func TestMistakesInPoolsAndPolicies(t *testing.T) {
	for name, c := range map[string]struct{ text, place, message, hint string }{
		"both names":       {"max_active_sessions = 3\n[agents.pool]\nmax = 3", "4:23", "max_active_sessions and max in [agents.pool] are the same key", "city.toml:6"},
		"no max":           {"[agents.pool]\nmin = 1", "4:9", `the pool "w" has no max`, "add max"},
		"no max, old name": {"scale_check = 'c'", "1:3", `the pool "w" has no max`, "add max"},
		"zero":             {"max_active_sessions = 0", "4:23", "at most 0 members", "suspended"},
		"too many":         {"[agents.pool]\nmax = 1001", "5:7", "at most 1000 members, not 1001", ""},
		"min above max":    {"[agents.pool]\nmin = 3\nmax = 2", "5:7", "min (3) is more than max (2)", ""},
		"unknown key":      {"[agents.pool]\nmx = 3\nmax = 3", "5:1", `unknown key "mx" in [pool]`, `"max"`},
		"one shot":         {"lifecycle = 'one_shot'\nmax_active_sessions = 2", "4:13", "cannot be a pool", ""},
		"name of a member": {"max_active_sessions = 2\n[[agents]]\nname = 'w-2'\nstart_command = 'x'", "6:8", `the agent "w-2" is also a member of a pool`, "the pool w at city.toml:2 has the members w-1 to w-2"},
		"pool in a pool":   {"max_active_sessions = 2\n[[agents]]\nname = 'w-1'\nstart_command = 'x'\nmax_active_sessions = 2", "6:8", "also a member of a pool", ""},

		"policy":                 {"[agents.pending]\npolicy = 'denny'", "5:10", `policy cannot be "denny"`, `"deny"`},
		"no answer":              {"[agents.pending]\npolicy = 'answer'", "5:10", "no answer is set", "add answer"},
		"answer of no use":       {"[agents.pending]\npolicy = 'deny'\nanswer = '1'", "6:10", "has no effect", `policy = "answer"`},
		"deadline of no use":     {"[agents.pending]\npolicy = 'wait'\nafter = '1m'", "6:9", "waits forever", "escalate"},
		"deadline that is over":  {"[agents.pending]\npolicy = 'deny'\nafter = '0s'", "6:9", "cannot be zero", ""},
		"a city without anybody": {"[workspace]\nmax_active_sessions = 0", "5:23", "cannot be zero", ""},
	} {
		t.Run(name, func(t *testing.T) {
			errs := refuse(t, poolAgent+c.text+"\n")
			if len(errs) != 1 {
				t.Fatalf("one mistake gives %d errors:\n%v", len(errs), errs)
			}
			if !strings.HasPrefix(errs.Error(), "city.toml:"+c.place+": ") || !strings.Contains(errs[0].Message, c.message) || !strings.Contains(errs[0].Hint, c.hint) {
				t.Errorf("want %s at %s (%s), got:\n%v", c.message, c.place, c.hint, errs)
			}
		})
	}
}

// TestIdleTimesAndPoliciesAreRead checks that the keys about idle times, ages and questions are
// read without a warning.
func TestIdleTimesAndPoliciesAreRead(t *testing.T) {
	city := parse(t, `
[workspace]
max_active_sessions = 9
[daemon]
on_pending = "ask me"
[[agents]]
name = "w"
start_command = "x"
idle_timeout = "30m"
sleep_after_idle = "off"
max_session_age = "24h"
max_session_age_jitter = "1h"
drain_timeout = "1m"
resume_command = "x --again {{.SessionKey}}"
wake_mode = "fresh"
max_active_sessions = 2
min_active_sessions = 1
scale_check = "echo 1"
[agents.pending]
policy = "answer"
after = "2m"
answer = "yes"
`)
	w := city.Agents[0]
	got := []any{city.Daemon.OnPending, *city.Workspace.MaxActiveSessions, w.IdleTimeout, w.SleepAfterIdle.Off, w.Pending.Policy, w.Pending.After, w.Pending.Answer, w.WakeMode}
	want := []any{"ask me", 9, 30 * time.Minute, true, config.PendingAnswer, 2 * time.Minute, "yes", config.WakeFresh}
	if diff := cmp.Diff(want, got); diff != "" || len(city.Notes) > 0 {
		t.Errorf("%s, notes %v", diff, city.Notes)
	}
	for _, v := range city.Values() {
		if v.Key == "agents.w.pending.after" && v.Value == `"2m0s"` && v.Origin.Line == 21 {
			return
		}
	}
	t.Errorf("gc config show does not print pending.after: %v", city.Values())
}
