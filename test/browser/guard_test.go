package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/runtime"
	"gascity/test/citytest"
	"gascity/worker"
)

// guarded is a city whose rules ask about sudo.
func guarded(names ...string) string {
	var b strings.Builder
	b.WriteString("[guard]\nsets = [\"dangerous-command\"]\nunguarded = \"report\"\n")
	for _, name := range names {
		b.WriteString(agent(name, idle))
	}
	return b.String()
}

// authorize asks the city about a command, as the worker of an agent, in the background. The
// channel gets the decision.
func authorize(t *testing.T, city *citytest.City, name, command string) <-chan worker.Decision {
	t.Helper()
	city.AwaitRunning(name, runtime.ActivityIdle)
	w := city.Worker(name)
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	decided := make(chan worker.Decision, 1)
	go func() {
		d, err := w.Authorize(t.Context(), worker.Call{Tool: "Bash", Input: input})
		if err != nil {
			d.Reason = err.Error()
		}
		decided <- d
	}()
	return decided
}

// A card shows the command, what it would do and which rule asks. "Allow always" shows the rule, and
// writes it only after a confirmation.
func TestAllowAlwaysShowsTheRuleFirst(t *testing.T) {
	city := citytest.New(t, guarded("deploy"))
	decided := authorize(t, city, "deploy", "sudo sh -c 'make install'")
	awaitQuestions(city, 1)
	p := openConsole(t, city, phone)
	p.until("the reading is on the card", `document.querySelector('[data-question] .reading')?.innerText.includes('become-root')`)
	reading := p.text("[data-question] .reading")
	for _, want := range []string{"runs make install, by sudo and sh", "The rule become-root asks about", "Asks a person"} {
		if !strings.Contains(reading, want) {
			t.Errorf("the reading does not have %q:\n%s", want, reading)
		}
	}
	file := filepath.Join(city.Root, client.CityFile)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.tap(".always button", "Allow always")
	preview := p.text(".always.preview")
	for _, want := range []string{"deploy", "Bash", "sudo sh -c 'make install'", "[[guard.rules]]", "allow"} {
		if !strings.Contains(preview, want) {
			t.Errorf("the preview does not have %q:\n%s", want, preview)
		}
	}
	p.picture("always")
	p.checkAccess("the preview of a rule")
	if wide := get[int](p, `document.documentElement.scrollWidth`); wide > phone {
		t.Errorf("the page is %d px wide", wide)
	}
	if now, err := os.ReadFile(file); err != nil || string(now) != string(before) {
		t.Fatalf("the preview changed the file: %v", err)
	}
	get[bool](p, `(document.querySelector('.always .send').scrollIntoView({block: 'center'}), true)`)
	p.tap(".always .send button", "Write the rule")
	p.until("the question is gone", `!document.querySelector('[data-question]')`)
	if d := <-decided; !d.Allowed {
		t.Errorf("the call is not allowed: %s", d.Reason)
	}
	now, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(now), string(before)) || !strings.Contains(string(now), `exact = ["sudo sh -c 'make install'"]`) {
		t.Errorf("the file is, %v:\n%s", err, now)
	}
	if d := <-authorize(t, city, "deploy", "sudo sh -c 'make install'"); !d.Allowed {
		t.Errorf("the next call is not allowed: %s", d.Reason)
	}
}
