package store_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/internal/store"
	"gascity/runtime"
	"gascity/test/tier"
)

// The test binary is the program that is killed, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "hammer" {
		if err := hammer(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Each check opens databases: fewer than usual, unless the caller says how many.
	if err := flag.Set("rapid.checks", strconv.Itoa(tier.Runs(10, 40))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// hammer changes a store as fast as possible and prints what was acknowledged: "r ID" for a
// receipt, "f ID" for a final one, "e ID TEXT" for an event.
func hammer(path, run string) error {
	ctx := context.Background() //nolint:forbidigo // of a program
	db, err := store.Open(ctx, store.Options{Path: path, Retain: store.Retention{Events: 2000}})
	if err != nil {
		return err
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	failed := make(chan error)
	appendSome := func(n *int, some int) {
		for range some {
			e, err := db.Append(ctx, client.Event{Kind: "session.status", Text: fmt.Sprintf("%s %d", run, *n)})
			if err != nil {
				failed <- err
			}
			say("e %d %s", e.ID, e.Text)
			*n++
		}
	}
	if strings.HasSuffix(run, "7") { // as fast as it can
		go func() {
			for n := 0; ; {
				appendSome(&n, 100)
			}
		}()
	}
	for sender := range 4 {
		go func() {
			var events int
			for n := 0; ; n++ {
				r := prompt.Receipt{
					ID: fmt.Sprintf("%s-%d-%d", run, sender, n), Session: "s", Key: fmt.Sprintf("%s-%d-%d", run, sender, n),
					State: prompt.Queued, Content: runtime.TextContent(strings.Repeat("x", n%5000)), Bytes: n % 5000, UpdatedAt: time.Now(),
				}
				if _, _, err := db.AddReceipt(ctx, r); err != nil {
					failed <- err
				}
				say("r %s", r.ID)
				if n%3 == 0 {
					r.State = prompt.Consumed
					if err := db.SaveReceipt(ctx, r); err != nil {
						failed <- err
					}
					say("f %s", r.ID)
				}
				if sender == 0 && !strings.HasSuffix(run, "7") {
					appendSome(&events, 4)
				}
			}
		}()
	}
	return <-failed
}

// ledger is what the killed programs said.
type ledger struct {
	receipts map[string]bool // to whether they are final
	events   map[uint64]string
	last     uint64
}

// TestKilledAtAnyMomentNothingAcknowledgedIsLost kills a process that writes to the store, at
// random times, and checks that everything that was acknowledged is stored.
func TestKilledAtAnyMomentNothingAcknowledgedIsLost(t *testing.T) {
	t.Parallel()
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	path := filepath.Join(t.TempDir(), "city.db")
	told := &ledger{receipts: map[string]bool{}, events: map[uint64]string{}}
	for round := range rounds {
		killHammer(t, path, fmt.Sprint("run", round), told)
		checkLedger(t, path, told)
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}
	t.Logf("%d kills: %d receipts and %d events acknowledged", rounds, len(told.receipts), len(told.events))
}

// TestKilledAtAnyMomentOfTheFirstStart checks that a process that is killed during its first start
// leaves a database that can be opened and does not count as damaged.
func TestKilledAtAnyMomentOfTheFirstStart(t *testing.T) {
	t.Parallel()
	tier.Process(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		path := filepath.Join(t.TempDir(), "city.db")
		life, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(40_000))*time.Microsecond)
		_ = exec.CommandContext(life, self, "hammer", path, "run").Run() // it is killed
		cancel()
		db, err := store.Open(t.Context(), store.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if db.Damage() != nil {
			t.Errorf("a first start that was killed counts as damage: %v", db.Damage())
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killHammer runs the process for a moment, kills it, and records what it printed.
func killHammer(t *testing.T, path, run string, told *ledger) {
	t.Helper()
	tier.Process(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self, "hammer", path, run)
	var trouble strings.Builder
	child.Stderr = &trouble
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var killer *time.Timer
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // the last line may be cut: it does not count
			break
		}
		if killer == nil {
			killer = time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { child.Process.Kill() })
		}
		told.record(t, strings.TrimSpace(line))
	}
	child.Wait()
	if killer == nil || trouble.Len() > 0 {
		t.Fatalf("the program of %s failed: %s", run, trouble.String())
	}
	killer.Stop()
}

func (l *ledger) record(t *testing.T, line string) {
	t.Helper()
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "r":
		l.receipts[rest] = false
	case "f":
		l.receipts[rest] = true
	case "e":
		var id uint64
		number, text, _ := strings.Cut(rest, " ")
		if _, err := fmt.Sscan(number, &id); err != nil {
			t.Fatalf("cannot read %q", line)
		}
		if id <= l.last {
			t.Errorf("event id %d was given to %q after id %d had been given", id, text, l.last)
		}
		l.last = id
		l.events[id] = text
	}
}

// checkLedger opens the store like the next controller and compares it with what was acknowledged.
func checkLedger(t *testing.T, path string, told *ledger) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if db.Damage() != nil {
		t.Fatalf("the database is damaged: %v", db.Damage().Err)
	}
	open, err := db.OpenReceipts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended, err := db.EndedReceipts(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]prompt.Receipt{}
	for _, r := range append(open, ended...) {
		if _, double := kept[r.ID]; double {
			t.Errorf("receipt %s is kept twice", r.ID)
		}
		kept[r.ID] = r
		if text := runtime.FlattenText(r.Content); !r.State.Final() && len(text) != r.Bytes {
			t.Errorf("receipt %s has %d bytes of content, want %d", r.ID, len(text), r.Bytes)
		}
	}
	for id, final := range told.receipts {
		if r, ok := kept[id]; !ok || final && !r.State.Final() {
			t.Errorf("receipt %s (final: %v) was acknowledged, kept is %v %q", id, final, ok, r.State)
		}
	}
	past, gap, err := db.After(t.Context(), told.last)
	if !gap && told.last > 0 || err != nil { // at 0 it may have been killed before its first event
		t.Errorf("after a kill the reader at %d receives no gap (%d events, error %v)", told.last, len(past), err)
	}
	all, _, err := db.After(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	checkEvents(t, all, told)
	e, err := db.Append(t.Context(), client.Event{Kind: "controller.started", Text: fmt.Sprint("check", told.last)})
	if err != nil {
		t.Fatal(err)
	}
	told.record(t, fmt.Sprintf("e %d %s", e.ID, e.Text))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// checkEvents compares the stored events with the acknowledged ones: within one run no event is
// missing between two others.
func checkEvents(t *testing.T, all []client.Event, told *ledger) {
	t.Helper()
	for i, e := range all {
		if text, said := told.events[e.ID]; said && text != e.Text {
			t.Errorf("event %d is %q, and was %q", e.ID, e.Text, text)
		}
		if i == 0 {
			continue
		}
		run, _, _ := strings.Cut(e.Text, " ")
		before, _, _ := strings.Cut(all[i-1].Text, " ")
		if run == before && e.ID != all[i-1].ID+1 {
			t.Errorf("event %d (%s) follows event %d (%s)", e.ID, e.Text, all[i-1].ID, all[i-1].Text)
		}
	}
}
