package textfmt

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"pgregory.net/rapid"
)

func TestTableAlignsWideCharacters(t *testing.T) {
	table := &Table{Heads: []string{"NAME", "EMPTY", "STATE", "NOTE"}}
	table.Add(Cell{Text: "mayor"}, Cell{}, Painted("running", Green), Cell{})
	table.Add(Cell{Text: "漢字"}, Cell{}, Painted("failed", Red), Cell{Text: "two\nlines"})
	want := "NAME   STATE    NOTE\n" +
		"mayor  running\n" +
		"漢字   failed   two lines\n"
	if got := table.Render(Painter{}, 0); got != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
}

func TestTablePutsWhatDoesNotFitBelowItsRow(t *testing.T) {
	table := &Table{Heads: []string{"NAME", "NOTE"}}
	table.Add(Cell{Text: "mayor"}, Cell{Text: "short"})
	table.Add(Cell{Text: "worker"}, Cell{Text: "a note that is too long"})
	want := "NAME    NOTE\nmayor   short\nworker\n    a note that is\n    too long\n"
	if got := table.Render(Painter{}, 20); got != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
}

func TestTableBreaksRowsWithLongNamesInANarrowTerminal(t *testing.T) {
	table := &Table{Heads: []string{"AGENT", "STATE", "UP", "NOTE"}}
	table.Add(Cell{Text: "mayor"}, Cell{Text: "running"}, Cell{Text: "3m"}, Cell{Text: "as configured"})
	table.Add(Cell{Text: "a/very-long-name-that-is-wider-than-all"}, Cell{Text: "failed"}, Cell{}, Cell{Text: "exit 1"})
	want := "AGENT  STATE    UP  NOTE\n" +
		"mayor  running  3m  as configured\n" +
		"a/very-long-name-that-is-wider-than-all\n" +
		"       failed       exit 1\n"
	if got := table.Render(Painter{}, 40); got != want {
		t.Errorf("rendered\n%s\nwant\n%s", got, want)
	}
	for line := range strings.Lines(table.Render(Painter{}, 0)) {
		if strings.HasPrefix(line, " ") {
			t.Errorf("a row is broken although the width is unlimited: %q", line)
		}
	}
}

// TestColourChangesNothingElse renders with and without colour.
func TestColourChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &Table{Heads: []string{"A", "B", "C"}}
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			cell := func(name string) Cell { return Painted(rapid.String().Draw(t, name), Red) }
			table.Add(cell("a"), cell("b"), cell("c"))
		}
		columns := rapid.IntRange(0, 40).Draw(t, "columns")
		if got, want := Strip([]byte(table.Render(Painter{On: true}, columns))), table.Render(Painter{}, columns); got != want {
			t.Errorf("with colour %q, without %q", got, want)
		}
	})
}

// TestColumnsBeginWhereTheyBegin checks the column of each second cell.
func TestColumnsBeginWhereTheyBegin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := &Table{Heads: []string{"A", "MARK"}}
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			table.Add(Cell{Text: rapid.StringMatching(`[a-z漢é ]{0,9}[a-z]`).Draw(t, "a")}, Cell{Text: "MARK"})
		}
		begins := map[int]bool{}
		for line := range strings.Lines(table.Render(Painter{}, 0)) {
			before, _, _ := strings.Cut(line, "MARK")
			begins[displaywidth.String(before)] = true
		}
		if len(begins) != 1 {
			t.Errorf("the second column begins at columns %v", begins)
		}
	})
}

func TestSpansAreShort(t *testing.T) {
	tests := map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1500 * time.Millisecond: "1s", 59 * time.Second: "59s", time.Minute: "1m", 59*time.Minute + 59*time.Second: "59m",
		time.Hour: "1h00m", 23*time.Hour + 7*time.Minute: "23h07m", 24 * time.Hour: "1d00h", 100 * 24 * time.Hour: "100d00h",
	}
	for d, want := range tests {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) is %q, want %q", d, got, want)
		}
	}
}

func TestDurationsHaveNoEmptyUnits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 10 * time.Second: "10s", time.Minute: "1m", 90 * time.Second: "1m30s", 10 * time.Minute: "10m", time.Hour: "1h", 24*time.Hour + time.Minute: "24h1m", 90*time.Minute + time.Second: "1h30m1s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) is %q, want %q", d, got, want)
		}
	}
}

func TestAgesAndWaits(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for got, want := range map[string]string{
		Ago(now, time.Time{}):                           "",
		Ago(now, now):                                   "now",
		Ago(now, now.Add(time.Hour)):                    "now", // clocks differ
		Ago(now, now.Add(-3*time.Minute)):               "3m ago",
		In(now, time.Time{}) + "-":                      "-",
		In(now, now.Add(-time.Second)) + "--":           "--",
		In(now, now.Add(1200*time.Millisecond)):         "2s",
		Count(1, "process") + Count(2, "process"):       "1 process2 processes",
		Count(0, "session"):                             "0 sessions",
		Join("a", "", "b"):                              "a; b",
		List([]string{"a", "b"}):                        "a, b",
		List(strings.Split("a b c d e f g h i j", " ")): "a, b, c, d, e, f, g, h and 2 more",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMomentsAreUnderstood(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for given, want := range map[string]time.Time{
		"":                          {},
		"5m":                        now.Add(-5 * time.Minute),
		"2026-02-28":                time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC),
		"2026-02-28 10:30":          time.Date(2026, 2, 28, 10, 30, 0, 0, time.UTC),
		"2026-02-28T10:30:00+01:00": time.Date(2026, 2, 28, 9, 30, 0, 0, time.UTC),
	} {
		if got, err := ParseMoment(now, given); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v, want %v", given, got, err, want)
		}
	}
	for _, given := range []string{"yesterday", "-5m", "5"} {
		if got, err := ParseMoment(now, given); err == nil {
			t.Errorf("%q is taken for %v", given, got)
		}
	}
}

func TestStripLeavesText(t *testing.T) {
	tests := map[string]string{
		"plain\ttext\n":                 "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m\r\n":      "red\n",
		"\x1b]0;title\x07after":         "after",
		"\x1b]8;;http://x\x1b\\link":    "link",
		"\x1bPq#0;1\x1b\\after":         "after",
		"\x1b(Bcharset\x1b=keypad":      "charsetkeypad",
		"\x1b[?2004h\x1b[>4;1mé漢\x7f\a": "é漢",
		"\x1b\x1b[1mtwice":              "twice",
	}
	for given, want := range tests {
		for size := 1; size <= len(given); size++ { // in pieces of each size
			if got := written(t, given, 0, size, false); got != want {
				t.Errorf("%q in pieces of %d is %q, want %q", given, size, got, want)
			}
		}
		if got := Strip([]byte(given)); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

func FuzzNothingReachesTheTerminal(f *testing.F) {
	for _, seed := range []string{"\x1b[2J", "a\x9bb", "\x1b]0;x\x07", "é\x00\x7f", "\xff\xfe", "\u009b31m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		for name, got := range map[string]string{"one line": OneLine(given), "block": Block(given), "indent": Indent(given, 2)} {
			for _, r := range got {
				if unicode.IsControl(r) && (name == "one line" || r != '\n' && r != '\t') {
					t.Errorf("%s lets %q through", name, r)
				}
			}
		}
		if out := Strip([]byte(given)); strings.ContainsAny(out, "\x1b\x07\x00\r") {
			t.Errorf("%q becomes %q", given, out)
		}
	})
}

// TestTableOfNamesAndValuesUsesTheWidth: a long word in a value, such as a time, does not make its column narrow.
func TestTableOfNamesAndValuesUsesTheWidth(t *testing.T) {
	table := &Table{Heads: []string{"", ""}}
	table.Add(Cell{Text: "problem"}, Cell{Text: "3 failures within 1h, the last: the agent ended by signal: killed, and no more"})
	table.Add(Cell{Text: "next"}, Cell{Text: "next decision at 2026-11-27T12:29:56Z"})
	const want = "problem  3 failures within 1h, the last: the agent ended by signal: killed,\n         and no more\nnext     next decision at 2026-11-27T12:29:56Z\n"
	if got := table.Render(Painter{}, 78); got != want {
		t.Errorf("the table is\n%s\nwant\n%s", got, want)
	}
}
