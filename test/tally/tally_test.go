package main

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

const stream = `{"Action":"start","Package":"x/a"}
{"Action":"output","Package":"x/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"pass","Package":"x/a","Test":"TestGood","Elapsed":0.1}
{"Action":"output","Package":"x/a","Test":"TestScreen","Output":"    screen_test.go:12: tmux is not installed\n"}
{"Action":"output","Package":"x/a","Test":"TestScreen","Output":"--- SKIP: TestScreen (0.00s)\n"}
{"Action":"skip","Package":"x/a","Test":"TestScreen"}
{"Action":"pass","Package":"x/a","Elapsed":1.25}
a line of the go command
{"Action":"output","Package":"x/b","Test":"TestBad","Output":"    bad_test.go:3: got 1, want 2\n"}
{"Action":"fail","Package":"x/b","Test":"TestBad"}
{"Action":"pass","Package":"x/b","Test":"TestSlow/part","Elapsed":12.25}
{"Action":"pass","Package":"x/b","Test":"TestSlow","Elapsed":12.25}
{"Action":"output","Package":"x/b","Test":"TestHangs","Output":"goroutine 7 [chan receive]:\n"}
{"Action":"fail","Package":"x/b"}
{"ImportPath":"x/c","Action":"build-output","Output":"c.go:1: does not build\n"}
{"ImportPath":"x/c","Action":"build-fail"}
`

func TestTallyTellsWhatFailedAndWhatWasSkipped(t *testing.T) {
	var out strings.Builder
	tally := newTally(&out)
	if err := tally.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	tally.report([]string{"tmux"}, 3*time.Second)
	for _, want := range []string{
		"ok    x/a (1.2 s)", "a line of the go command", "bad_test.go:3: got 1, want 2", "c.go:1: does not build",
		"3 passed, 1 failed, 1 skipped in 3s", "slow   12.2 s x/b.TestSlow\n", "skipped 1: tmux is not installed (x/a.TestScreen)",
		"FAIL x/b.TestBad", "goroutine 7 [chan receive]", "FAIL x/b.TestHangs (did not end)", "FAIL x/c (build)", "FAIL skipped although GC_TEST_REQUIRE names the tool: tmux",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// TestTallyRepeatsWhatFailedAtTheEnd proves that the output of a failed test stands beside
// its name at the end of the report, and that fast and passed tests are not listed.
func TestTallyRepeatsWhatFailedAtTheEnd(t *testing.T) {
	var out strings.Builder
	tally := newTally(&out)
	if err := tally.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	before := out.Len()
	tally.report(nil, time.Second)
	report := out.String()[before:]
	log, names := strings.Index(report, "bad_test.go:3: got 1, want 2"), strings.Index(report, "FAIL x/b.TestBad")
	if log < 0 || names < log || strings.Contains(report, "TestGood") || strings.Contains(report, "TestSlow/part") {
		t.Errorf("the report is:\n%s", report)
	}
}

func TestTallyJudgesSkipsByTheToolsRequired(t *testing.T) {
	tally := newTally(&strings.Builder{})
	if err := tally.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	for required, want := range map[string]bool{"tmux": true, "vim": false, "install": false} {
		if got := tally.lacks([]string{required}); got != want {
			t.Errorf("with %s required a failure is %v, want %v", required, got, want)
		}
	}
}

// buildFlags returns the flags that change how packages are compiled: with the flags of this
// test, go test compiles nothing again.
func buildFlags() []string {
	flags := []string{"-vet=off"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" || s.Key == "-trimpath" {
				flags = append(flags, s.Key+"="+s.Value)
			}
		}
	}
	return flags
}

// TestRunReportsItsExitCode runs the real go test on this package's own tests.
func TestRunReportsItsExitCode(t *testing.T) {
	if code := run(append(buildFlags(), "-run", "TestTally", "."), nil); code != 0 {
		t.Errorf("a passing package gave exit code %d, want 0", code)
	}
	if code := run([]string{"./no-such-package"}, nil); code != 1 {
		t.Errorf("a package that does not exist gave exit code %d, want 1", code)
	}
}
