package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

// tally follows the events of one run. It is used by one goroutine.
type tally struct {
	out     io.Writer
	output  map[string][]string // of each running test, and of each package under its own name
	counts  map[string]int      // tests by their last action
	skips   map[string][]string // reason to tests
	failing []string            // packages, and package.Test
	logs    map[string][]string // output of each failed test and package
	took    []timed             // top-level tests that passed or failed
}

// timed is how long one test ran. The time that a parallel test waits for others counts.
type timed struct {
	name    string
	seconds float64
}

// What report prints at most.
const (
	slowest     = 10 // tests
	repeated    = 5  // failed tests, with their output
	repeatLines = 40 // of the output of each
)

func newTally(out io.Writer) *tally {
	return &tally{out: out, output: map[string][]string{}, counts: map[string]int{}, skips: map[string][]string{}, logs: map[string][]string{}}
}

// read follows the stream to its end. Lines that are not events are passed on.
func (t *tally) read(stream io.Reader) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				t.add(e)
			} else {
				fmt.Fprintf(t.out, "%s", line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) add(e event) {
	key := e.Package
	if e.Test != "" {
		key += "." + e.Test
	}
	switch e.Action {
	case "output":
		t.output[key] = append(t.output[key], e.Output)
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "build-fail":
		t.failing = append(t.failing, e.ImportPath+" (build)")
	case "pass", "fail", "skip":
		t.finish(e, key)
		delete(t.output, key)
	}
}

// finish closes a test or, when the event names none, a package.
func (t *tally) finish(e event, key string) {
	if e.Test != "" {
		t.counts[e.Action]++
		if !strings.Contains(e.Test, "/") && e.Action != "skip" {
			t.took = append(t.took, timed{name: key, seconds: e.Elapsed})
		}
	}
	switch {
	case e.Action == "fail":
		t.fail(key, "")
		if e.Test == "" {
			t.unended(e.Package)
		}
	case e.Test == "" && e.Action == "pass":
		fmt.Fprintf(t.out, "ok    %s (%.1f s)\n", e.Package, e.Elapsed)
	case e.Test != "" && e.Action == "skip":
		why := reason(t.output[key])
		t.skips[why] = append(t.skips[why], key)
	}
}

// fail prints the output of a failed test or package and keeps it for the report.
func (t *tally) fail(key, how string) {
	t.failing = append(t.failing, key+how)
	t.logs[key+how] = t.output[key]
	t.print(t.output[key])
}

func (t *tally) print(lines []string) {
	for _, line := range lines {
		fmt.Fprint(t.out, line)
	}
}

// unended reports the tests that a package has left without an end: it was killed, or
// crashed, and why stands in the output of one of them.
func (t *tally) unended(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(t.output)) {
		if strings.HasPrefix(key, pkg+".") {
			t.fail(key, " (did not end)")
			delete(t.output, key)
		}
	}
}

// logged is a line that a test wrote with Log or Skip.
var logged = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason returns the last line that a skipped test logged.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if match := logged.FindStringSubmatch(line); match != nil {
			return strings.TrimSpace(match[1])
		}
	}
	return "no reason given"
}

// missing returns the reasons for skips that name one of the tools as a word.
func (t *tally) missing(required []string) []string {
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(t.skips)) {
		words := strings.FieldsFunc(why, func(r rune) bool { return strings.ContainsRune(" \t,.:;()'\"`", r) })
		if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(required, word) }) {
			reasons = append(reasons, why)
		}
	}
	return reasons
}

func (t *tally) lacks(required []string) bool { return len(t.missing(required)) > 0 }

// report prints the end of the run.
func (t *tally) report(required []string, took time.Duration) {
	fmt.Fprintf(t.out, "\n%d passed, %d failed, %d skipped in %s\n", t.counts["pass"], t.counts["fail"], t.counts["skip"], took.Round(time.Second))
	for _, why := range slices.Sorted(maps.Keys(t.skips)) {
		fmt.Fprintf(t.out, "  skipped %d: %s (%s)\n", len(t.skips[why]), why, t.skips[why][0])
	}
	slices.SortFunc(t.took, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, test := range t.took[:min(slowest, len(t.took))] {
		if test.seconds >= 1 {
			fmt.Fprintf(t.out, "  slow %6.1f s %s\n", test.seconds, test.name)
		}
	}
	t.repeat()
	for _, name := range t.failing {
		fmt.Fprintf(t.out, "  FAIL %s\n", name)
	}
	for _, why := range t.missing(required) {
		fmt.Fprintf(t.out, "  FAIL skipped although GC_TEST_REQUIRE names the tool: %s\n", why)
	}
}

// repeat prints the end of the output of the first failed tests again: at the end of the
// report it is found without a search.
func (t *tally) repeat() {
	repeats := 0
	for _, name := range t.failing {
		lines := t.logs[name]
		if len(lines) == 0 || repeats == repeated {
			continue
		}
		repeats++
		fmt.Fprintf(t.out, "\n--- %s\n", name)
		t.print(lines[max(0, len(lines)-repeatLines):])
	}
}
