package shim

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gascity/internal/terminal/inject"
)

func leaseOf(t *testing.T, c *Client) *Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	l, err := c.Lease(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func entryOf(t *testing.T, l *Lease, id string) inject.DeliveryEntry {
	t.Helper()
	j, err := l.Account(t.Context(), id)
	if err != nil || j.Asked == nil {
		t.Fatalf("%+v, %v: no entry of %s", j, err, id)
	}
	return *j.Asked
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// One at a time may deliver, and whatever belongs to a lease that is over is refused.
func TestLease(t *testing.T) {
	c := start(t, testFleet(t), spec("lease", `stty raw -echo; echo go; exec cat`))
	frameWith(t, c, "go")
	first := leaseOf(t, c)
	must(t, first.Begin(t.Context(), "a", "text", nil))
	waiting := make(chan *Lease, 1)
	go func() {
		l, err := c.Lease(t.Context())
		if err != nil {
			t.Error(err)
		}
		waiting <- l
	}()
	select {
	case <-waiting:
		t.Fatal("two leases at once")
	case <-time.After(50 * time.Millisecond):
	}
	must(t, first.Send(t.Context(), []byte("<one>")))
	first.Close()
	second := <-waiting
	defer second.Close()
	for what, err := range map[string]error{
		"send": first.Send(t.Context(), []byte("<late>")), "enter": first.Type(t.Context(), inject.InputSeen, []byte("<late>")),
		"probe": first.Type(t.Context(), inject.InputProbe, []byte("<late>")), "begin": first.Begin(t.Context(), "late", "text", nil),
		"settle": first.RecordOutcome(t.Context(), inject.DeliveryEntry{ID: "a", Outcome: "late"}),
	} {
		if err == nil {
			t.Errorf("%s was done for a lease that is over", what)
		}
	}
	if _, err := first.Hold(t.Context()); err == nil {
		t.Error("a lease that is over holds input back")
	}
	must(t, second.Type(t.Context(), inject.InputSeen, []byte("<two>")))
	if f := frameWith(t, c, "<one><two>"); f.Exited {
		t.Error("it has ended")
	}
	if e := entryOf(t, second, "a"); !e.Open || !e.Entered || !e.Seen || e.Outcome != "" {
		t.Errorf("%+v", e)
	}
	must(t, second.RecordOutcome(t.Context(), inject.DeliveryEntry{ID: "a", Outcome: "done", Evidence: "seen"}))
	if e := entryOf(t, second, "a"); e.Open || e.Outcome != "done" || e.Evidence != "seen" {
		t.Errorf("%+v", e)
	}
	if err := second.Type(t.Context(), inject.InputSeen, []byte("x")); err == nil {
		t.Error("Enter was pressed for no delivery")
	}
	if j, err := second.Account(t.Context(), "unknown"); err != nil || j.Asked != nil || j.Forgot {
		t.Errorf("%+v, %v", j, err)
	}
}

// What a holder sent before it died is written before the next one has the lease, and the
// rest of a piece that the agent does not read is given up, ended as a paste.
func TestLeaseOutlastsItsWrites(t *testing.T) {
	c := start(t, testFleet(t), spec("deaf", `stty raw -echo; echo go; dd bs=1 count=1 >/dev/null 2>&1; echo began; sleep 3; exec cat -v`))
	frameWith(t, c, "go")
	first := leaseOf(t, c)
	ctx, die := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	paste := append([]byte("\x1b[200~"), bytes.Repeat([]byte("x"), 1<<20)...)
	go func() { sent <- first.Send(ctx, append(paste, "\x1b[201~"...)) }()
	frameWith(t, c, "began")
	die()
	first.Close()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	second := leaseOf(t, c)
	must(t, second.Send(t.Context(), []byte("<next>")))
	waitFor(t, "the rest", func() bool {
		text, err := c.Text(t.Context(), 10)
		return err == nil && strings.Contains(strings.ReplaceAll(text, "\n", ""), "x^[[201~<next>")
	})
}

// Before a person's key the text of a delivery that has not ended is taken out of the line,
// once, and the journal knows. One that has ended or has no keys for that is left
// unchanged.
func TestKeysUndoWhatWasCutOff(t *testing.T) {
	tests := map[string]struct {
		undo   string
		act    func(t *testing.T, l *Lease)
		want   string
		undone bool
	}{
		"cut off":       {"<undo>", func(_ *testing.T, l *Lease) { l.Close() }, "<text><undo>ab", true},
		"no keys known": {"", func(_ *testing.T, l *Lease) { l.Close() }, "<text>ab", false},
		"entered, cut off": {"<undo>", func(t *testing.T, l *Lease) {
			must(t, l.Type(t.Context(), inject.InputSeen, []byte("<cr>")))
			l.Close()
		}, "<text><cr><undo>ab", true},
		"entered, under way":   {"<undo>", func(t *testing.T, l *Lease) { must(t, l.Type(t.Context(), inject.InputSeen, []byte("<cr>"))) }, "<text><cr><undo>ab", true},
		"the hold has run out": {"<undo>", func(*testing.T, *Lease) {}, "<text><undo>ab", true},
		"marked, under way": {"<undo>", func(t *testing.T, l *Lease) {
			must(t, l.Type(t.Context(), inject.InputSeen, []byte("<cr>")))
			must(t, l.Type(t.Context(), inject.InputProbe, []byte("<mark>")))
		}, "<text><cr><mark><undo>ab", true},
		"settled": {"<undo>", func(t *testing.T, l *Lease) {
			must(t, l.RecordOutcome(t.Context(), inject.DeliveryEntry{ID: "a", Outcome: "submitted"}))
			l.Close()
		}, "<text>ab", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := start(t, testFleet(t), spec("undo", `stty raw -echo; echo go; exec cat`))
			frameWith(t, c, "go")
			conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
			attached(t, c, 1)
			l := leaseOf(t, c)
			_, err := l.Hold(t.Context())
			must(t, err)
			must(t, l.Begin(t.Context(), "a", "text", []byte(test.undo)))
			must(t, l.Send(t.Context(), []byte("<text>")))
			send(t, conn, AttachInput, []byte("a"))
			send(t, conn, AttachInput, []byte("b"))
			test.act(t, l)
			frameWith(t, c, test.want)
			if strings.HasSuffix(name, "run out") {
				if err := l.Type(t.Context(), inject.InputSeen, []byte("<cr>")); !errors.Is(err, inject.ErrTouched) {
					t.Errorf("Enter behind a person's keys: %v", err)
				}
			}
			l.Close()
			if e := entryOf(t, leaseOf(t, c), "a"); e.Undone != test.undone || name != "settled" && !e.Touched {
				t.Errorf("%+v", e)
			}
			drain(t, conn)
		})
	}
}

// A deliverer that was starved until its hold had run out deletes and marks nothing of what
// a person typed meanwhile, once or more: it has to know of it first.
func TestStarvedDeliverer(t *testing.T) {
	c := start(t, testFleet(t), spec("starved", `stty raw -echo; echo go; exec cat -v`))
	frameWith(t, c, "go")
	conn := attach(t, c, AttachRequest{Cols: 80, Rows: 24})
	attached(t, c, 1)
	l := leaseOf(t, c)
	_, err := l.Hold(t.Context())
	must(t, err)
	must(t, l.Begin(t.Context(), "a", "text", []byte("<undo>")))
	must(t, l.Type(t.Context(), inject.InputText, []byte("<text>")))
	send(t, conn, AttachInput, []byte("p")) // waits for the end of the hold
	frameWith(t, c, "<text><undo>p")
	inputs := []inject.Input{inject.InputClear, inject.InputProbe, inject.InputSeen, inject.InputText}
	for _, in := range inputs {
		if err := l.Type(t.Context(), in, []byte("<no>")); !errors.Is(err, inject.ErrTouched) {
			t.Errorf("%s behind a person's key: %v", in, err)
		}
	}
	if e := entryOf(t, l, "a"); !e.Touched || !e.Undone {
		t.Errorf("%+v", e)
	}
	for i, in := range inputs {
		if err := l.Type(t.Context(), in, []byte("<yes>")); (err == nil) != (i < 2) {
			t.Errorf("%s, knowing of the key: %v", in, err)
		}
	}
	send(t, conn, AttachInput, []byte("q"))
	frameWith(t, c, "<text><undo>p<yes><yes>^?^?^?q")
	if err := l.Type(t.Context(), inject.InputClear, []byte("<no>")); !errors.Is(err, inject.ErrTouched) {
		t.Errorf("clear behind another key: %v", err)
	}
	if err := l.Type(t.Context(), "another", nil); err == nil || errors.Is(err, inject.ErrTouched) {
		t.Errorf("an unknown input: %v", err)
	}
	drain(t, conn)
}
