package tui

import (
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"gascity/client"
)

// TestOutputThatIsNotRead puts the output of a command into the inbox while the terminal belongs to an agent, so nothing takes it.
func TestOutputThatIsNotRead(t *testing.T) {
	b := newInbox()
	line := strings.Repeat("x", 1000)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	const n = 20_000
	for i := range n {
		b.put(PageMsg{ID: 3, Output: fmt.Sprintf("%s %d\n", line, i)})
		if i%100 == 0 {
			b.put(EventMsg{client.Event{ID: uint64(i)}})
		}
	}
	b.put(PageMsg{ID: 3, Done: true})
	goruntime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 10*n*uint64(len(line)) {
		t.Errorf("%d MB of output allocated %d MB", n*len(line)>>20, used>>20)
	}
	var pages []PageMsg
	for _, msg := range b.take() {
		if p, ok := msg.(PageMsg); ok {
			pages = append(pages, p)
		}
	}
	if len(pages) != 1 {
		t.Fatalf("the inbox has %d messages of one page, want 1", len(pages))
	}
	p := pages[0]
	if len(p.Output) > maxOutput || len(p.Output) < maxOutput-2*len(line) {
		t.Errorf("the inbox has %d bytes, want almost %d", len(p.Output), maxOutput)
	}
	if !strings.HasPrefix(p.Output, "\n"+line) || !strings.HasSuffix(p.Output, fmt.Sprintf("%s %d\n", line, n-1)) || !p.Done {
		t.Errorf("the output begins with %.20q and ends with %q (done: %v), want whole lines, the newest last", p.Output, p.Output[len(p.Output)-20:], p.Done)
	}
}

// TestOutputOfSeveralCommands: the output of each command is whole and in order, also with other messages in between.
func TestOutputOfSeveralCommands(t *testing.T) {
	b := newInbox()
	for i := range 3 {
		b.put(PageMsg{ID: 1, Output: fmt.Sprint("a", i)}, NoticeMsg{Text: "n"}, PageMsg{ID: 2, Output: fmt.Sprint("b", i)})
	}
	b.put(PageMsg{ID: 1, Done: true})
	var pages []string
	for _, msg := range b.take() {
		if p, ok := msg.(PageMsg); ok {
			pages = append(pages, fmt.Sprint(p))
		}
	}
	if got := strings.Join(pages, " "); got != "{1 a0a1a2 true} {2 b0b1b2 false}" {
		t.Errorf("the pages are %s", got)
	}
	b.put(PageMsg{ID: 1, Output: "next"})
	if all := b.take(); fmt.Sprint(all) != "[{1 next false}]" {
		t.Errorf("after the inbox was read it has %v", all)
	}
}
