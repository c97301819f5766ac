package tmux

import (
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/statedir"
	"gascity/internal/terminal/inject"
)

// Keys are sent directly to a pane only if its input box certainly contains no text of gc.
func TestIdleInputIsCertain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "account.json")
	if !hasNoOpenDelivery(path) {
		t.Error("what was never written to is not quiet")
	}
	l := &lease{terminal: &terminal{provider: &Provider{cfg: Config{Dir: dir}}, record: &record{Name: "s"}}}
	path = deliveryLogFile(l.dir())
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want bool) {
		t.Helper()
		if err := l.save(); err != nil {
			t.Fatal(err)
		}
		if got := hasNoOpenDelivery(path); got != want {
			t.Errorf("%s: quiet is %v", what, got)
		}
	}
	check("an empty account", true)
	l.log.Deliveries.Begin("1", []byte("text"), []byte("\x15"))
	check("a text on its way", false)
	l.log.Deliveries.RecordOutcome(inject.DeliveryEntry{ID: "1", Outcome: "unconfirmed", Open: true})
	check("a text that may be in the line", false)
	l.log.Deliveries.RecordOutcome(inject.DeliveryEntry{ID: "1", Outcome: "submitted"})
	check("a text that was taken", true)
	for _, other := range []string{"", "{", `{"open":true,`, `{"deliveries":{}}`} {
		if err := statedir.WriteFile(path, []byte(other)); err != nil {
			t.Fatal(err)
		}
		if hasNoOpenDelivery(path) {
			t.Errorf("%q is quiet", other)
		}
	}
}
