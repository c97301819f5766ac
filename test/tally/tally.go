package main

import (
	"bufio"
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
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, output: map[string][]string{}, counts: map[string]int{}, skips: map[string][]string{}}
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
	}
	switch {
	case e.Action == "fail":
		t.failing = append(t.failing, key)
		t.print(key)
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

func (t *tally) print(key string) {
	for _, line := range t.output[key] {
		fmt.Fprint(t.out, line)
	}
}

// unended tells of the tests that a package has left without an end: it was killed, or
// crashed, and why stands in the output of one of them.
func (t *tally) unended(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(t.output)) {
		if strings.HasPrefix(key, pkg+".") {
			t.failing = append(t.failing, key+" (did not end)")
			t.print(key)
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
	for _, name := range t.failing {
		fmt.Fprintf(t.out, "  FAIL %s\n", name)
	}
	for _, why := range t.missing(required) {
		fmt.Fprintf(t.out, "  FAIL skipped although GC_TEST_REQUIRE names the tool: %s\n", why)
	}
}
