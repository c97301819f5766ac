package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
	"gascity/worker"
)

const askingCity = `# This comment stays.
[guard]
sets = ["dangerous-command"]
unguarded = "report"
ask_timeout = "1m"
[[agents]]
name = "a"
start_command = "fake_agent"
[[agents]]
name = "b"
start_command = "fake_agent"
`

// authorize asks the city about a command, as the worker of an agent, in another goroutine. The
// channel gets the decision.
func authorize(t *testing.T, w *worker.Client, command string) <-chan worker.Decision {
	t.Helper()
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	decided := make(chan worker.Decision, 1)
	go func() {
		d, err := w.Authorize(t.Context(), worker.Call{Tool: "Bash", Input: input, Context: map[string]string{"cwd": "/tmp"}})
		if err != nil {
			d.Reason = err.Error()
		}
		decided <- d
	}()
	return decided
}

// asked waits until an agent has a question and returns it.
func asked(t *testing.T, city *citytest.City, agent string) client.Pending {
	t.Helper()
	var list []client.Pending
	city.Until("the question of "+agent, func(ctx context.Context) bool {
		var err error
		list, err = city.Client.Pending(ctx, agent, client.OnlyOpen)
		return err == nil && len(list) == 1
	})
	return list[0]
}

// TestAllowAlways checks the question of the guard about a call: it shows what the call does and
// what the rules say. "Allow always" adds exactly the rule that was shown, after a confirmation by
// its ID. From then on that agent may make that call, and nothing else is changed.
func TestAllowAlways(t *testing.T) {
	city := citytest.New(t, askingCity)
	city.AwaitRunning("a", runtime.ActivityIdle)
	city.AwaitRunning("b", runtime.ActivityIdle)
	a, b := city.Worker("a"), city.Worker("b")
	file := filepath.Join(city.Root, client.CityFile)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	const command = "sudo sh -c \"make 'install all'\"\t# \\o/"
	decided := authorize(t, a, command)
	q := asked(t, city, "a")
	g := q.Guard
	if g == nil || g.Action != "ask" || g.Rule != "become-root" || !strings.Contains(g.Reason, "become-root asks about") {
		t.Fatalf("the reading of the guard is %+v", g)
	}
	if want := []string{"runs sh -c make 'install all', by sudo", "runs make install all, by sudo and sh"}; !slices.Contains(g.Does, want[0]) || !slices.Contains(g.Does, want[1]) {
		t.Errorf("the call does %q, want %q too", g.Does, want)
	}
	if g.Always == nil || g.Always.Agent != "a" || g.Always.Exact != command {
		t.Fatalf("the rule is %+v, %s", g.Always, g.NoAlways)
	}
	before, err := os.ReadFile(file)
	if err != nil || string(before) != askingCity {
		t.Fatalf("a preview changed the file, or it cannot be read: %v", err)
	}
	if _, err := city.Client.AllowAlways(t.Context(), q.ID, client.AlwaysRequest{Rule: "always-000000000000"}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("another rule is confirmed: %v", err)
	}
	if now, _ := os.ReadFile(file); string(now) != askingCity {
		t.Fatal("a refused rule was written")
	}
	answered, err := city.Client.AllowAlways(t.Context(), q.ID, client.AlwaysRequest{Rule: g.Always.ID})
	if err != nil || answered.State != client.PendingAnswered || answered.Answer != "Allow once" {
		t.Fatalf("the question is %+v, %v", answered, err)
	}
	if d := <-decided; !d.Allowed {
		t.Errorf("the call is not allowed: %s", d.Reason)
	}
	if now, err := os.ReadFile(file); string(now) != askingCity+"\n"+g.Always.Text {
		t.Errorf("the file is, %v:\n%s", err, now)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if d := <-authorize(t, a, command); !d.Allowed || d.Rule != g.Always.ID {
		t.Errorf("the next call is %+v", d)
	}
	for _, other := range []struct {
		w              *worker.Client
		agent, command string
	}{{b, "b", command}, {a, "a", "sudo id"}} {
		decided := authorize(t, other.w, other.command)
		q := asked(t, city, other.agent)
		if _, err := city.Client.Respond(t.Context(), q.ID, client.RespondRequest{Option: "Deny"}); err != nil {
			t.Error(err)
		}
		if d := <-decided; d.Allowed {
			t.Errorf("%s may call %s", other.agent, other.command)
		}
	}
	if _, err := city.Client.AllowAlways(t.Context(), q.ID, client.AlwaysRequest{Rule: g.Always.ID}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("an answered question gives %v", err)
	}
}

// TestAllowAlwaysIsRefusedWithAReason checks that a call that no rule can allow always says why,
// and that a city.toml to which the rule cannot be added stays as it is.
func TestAllowAlwaysIsRefusedWithAReason(t *testing.T) {
	city := citytest.New(t, askingCity)
	city.AwaitRunning("a", runtime.ActivityIdle)
	w := city.Worker("a")
	decided := authorize(t, w, "sudo $WHAT")
	q := asked(t, city, "a")
	if q.Guard == nil || q.Guard.Always != nil || !strings.Contains(q.Guard.NoAlways, "known only when it runs") {
		t.Errorf("the reading is %+v", q.Guard)
	}
	_, err := city.Client.AllowAlways(t.Context(), q.ID, client.AlwaysRequest{Rule: "always-000000000000"})
	if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "gc respond "+q.ID+" 1") {
		t.Errorf("the error is %v", err)
	}
	if _, err := city.Client.Respond(t.Context(), q.ID, client.RespondRequest{Option: "Deny"}); err != nil {
		t.Fatal(err)
	}
	<-decided

	inline := strings.Replace(askingCity, "[guard]\n", "[guard]\nrules = [{id = \"x\", action = \"deny\", commands = [\"xyz\"]}]\n", 1)
	city.Write(inline)
	if _, err := city.Client.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	decided = authorize(t, w, "sudo id")
	q = asked(t, city, "a")
	_, err = city.Client.AllowAlways(t.Context(), q.ID, client.AlwaysRequest{Rule: q.Guard.Always.ID})
	if !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "add it by hand") {
		t.Errorf("the error is %v", err)
	}
	if now, _ := os.ReadFile(filepath.Join(city.Root, client.CityFile)); string(now) != inline {
		t.Errorf("the file is\n%s", now)
	}
	if _, err := city.Client.Respond(t.Context(), q.ID, client.RespondRequest{Option: "Deny"}); err != nil {
		t.Fatal(err)
	}
	<-decided
}
