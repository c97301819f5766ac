package exec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gascity/runtime"
)

// asks is a script whose session shows a menu of two rows. Down moves the cursor, whose row is in the file "at",
// and Enter writes the row to the file "chosen" and shows the input box again.
const asks = `menu() {
  printf '❯ delete them\n● Shall I?\n──────\n Delete all?\n'
  if [ "$(cat "$D/at")" = 1 ]; then printf ' ❯ 1. Yes\n   2. No\n'; else printf '   1. Yes\n ❯ 2. No\n'; fi
  printf ' Esc to cancel\n'
}
case "$op" in
peek) [ -s "$D/at" ] && menu || printf '● done\n❯ \n'; exit ;;
send-keys) case $3 in
  Down) echo 2 > "$D/at" ;; Up) echo 1 > "$D/at" ;;
  Enter) cat "$D/at" >> "$D/chosen"; : > "$D/at" ;; esac; exit ;;
esac
` + fleet

// A question on the screen of a script's session is pending, and is answered by keys, once.
func TestQuestions(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, asks)
	pl.write("at", "")
	p := pl.open()
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c", ReadyPromptPrefix: "❯"}); err != nil {
		t.Fatal(err)
	}
	if q, err := p.Pending("one"); q != nil || err != nil {
		t.Fatalf("Pending at the input box = %+v, %v", q, err)
	}
	var ids []string
	for n, answer := range []string{"No", "No", "1"} {
		pl.write("at", "1\n")
		q, err := p.Pending("one")
		if err != nil || q == nil || !strings.HasSuffix(q.Prompt, "Delete all?") || !slices.Equal(q.Options, []string{"Yes", "No"}) || slices.Contains(ids, q.RequestID) {
			t.Fatalf("Pending = %+v, %v, want the question, with an id that is none of %q", q, err, ids)
		}
		if again, err := pl.open().Pending("one"); err != nil || again == nil || again.RequestID != q.RequestID {
			t.Errorf("the next gc finds %+v, %v, want the question %s", again, err, q.RequestID)
		}
		if err := p.Respond("one", runtime.InteractionResponse{RequestID: q.RequestID, Action: runtime.ActionChoose, Text: answer}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(pl.read("chosen"), "\n"); got != n+1 {
			t.Fatalf("%d answers were given, want %d", got, n+1)
		}
		ids = append(ids, q.RequestID)
	}
	if got := pl.read("chosen"); got != "2\n2\n1\n" {
		t.Errorf("the rows %q were chosen", got)
	}
	pl.write("at", "1\n")
	for _, id := range ids {
		err := p.Respond("one", runtime.InteractionResponse{RequestID: id, Action: runtime.ActionChoose, Text: "Yes"})
		if !errors.Is(err, runtime.ErrInteractionGone) {
			t.Errorf("an answer to a question of before = %v, want ErrInteractionGone", err)
		}
	}
	if n := strings.Count(pl.read("chosen"), "\n"); n != 3 {
		t.Errorf("%d answers were given, want 3", n)
	}
}

// A list in the conversation is not a question. Without a screen there is no reading.
func TestNoQuestions(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, menus)
	pl.write("screen", "❯ 1. build it\n  2. test it\n● done\n──────\n❯ \n──────\n  ? for help\n")
	p := pl.open()
	if err := p.Start(t.Context(), "one", runtime.Config{Command: "c", ReadyPromptPrefix: "❯"}); err != nil {
		t.Fatal(err)
	}
	r, err := p.Sense(t.Context(), "one")
	if err != nil || r.Pending != nil || slices.ContainsFunc(r.Evidence, func(e runtime.Evidence) bool { return e.Activity == runtime.ActivityWaiting }) {
		t.Errorf("Sense = %+v, %v, want no question", r, err)
	}
	if r.Instance == "" || r.At.IsZero() {
		t.Errorf("the reading is of the instance %q, at %v", r.Instance, r.At)
	}
	if _, err := p.Sense(t.Context(), "two"); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("Sense of a missing session = %v, want ErrSessionNotFound", err)
	}
	blind := newScriptFixture(t, strings.Replace(fleet, "peek)", "look)", 1))
	p = blind.open()
	blind.start(p, "one")
	if _, err := p.Sense(t.Context(), "one"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Sense without peek = %v, want ErrUnsupported", err)
	}
	if _, err := p.Pending("one"); !errors.Is(err, runtime.ErrInteractionUnsupported) {
		t.Errorf("Pending without peek = %v, want ErrInteractionUnsupported", err)
	}
}

// A session of unknown state is not started.
func TestStartInAnUnknownState(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"unknown":   `echo '{"session":"unknown","agent":"unknown"}'`,
		"nothing":   `:`,
		"garbage":   `echo perhaps`,
		"a failure": `echo 'gc-error: unavailable' >&2; exit 1`,
		"exit 2":    `exit 2`,
	} {
		pl := newScriptFixture(t, "case \"$op\" in protocol) echo '{\"capabilities\":[\"observe\"]}'; exit ;; observe) "+answer+"; exit ;; esac\n"+fleet)
		err := pl.open().Start(t.Context(), "one", runtime.Config{Command: "c"})
		if starts := pl.calls("start"); name != "exit 2" && (!errors.Is(err, runtime.ErrRuntimeUnavailable) || len(starts) > 0) {
			t.Errorf("Start where observe says %s = %v after %d calls of start, want ErrRuntimeUnavailable and none", name, err, len(starts))
		}
	}
}

// The standard input of a watch stays open as long as there is a listener, and Close waits for its exit.
func TestWatchKeepsItsInputOpen(t *testing.T) {
	t.Parallel()
	pl := newScriptFixture(t, `case "$op" in
protocol) echo '{"capabilities": ["watch"]}' ;;
watch) echo $$ >> "$D/pids"; trap '' TERM
  echo '{"kind":"resync"}'; cat; : >> "$D/ended"; exec sleep 300 ;;
*) exit 2 ;; esac`)
	p := pl.open()
	events, err := p.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	<-events
	pids := pl.pids("pids", 1)
	if !alive(pids[0]) || pl.read("ended") != "" {
		t.Error("the input of the watch has ended")
	}
	if err := p.Close(); err != nil || alive(pids[0]) {
		t.Errorf("Close = %v and the watch lives: %v", err, alive(pids[0]))
	}
	if _, ok := <-events; ok {
		t.Error("an event comes after Close")
	}
	if _, err := p.Watch(t.Context()); err == nil {
		t.Error("Watch after Close is no error")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
