// Tally runs go test with its arguments, prints a line for each package and the
// whole output of what failed, and ends with a count and with every reason for
// which a test was skipped, so that a skip is never silent.
//
// GC_TEST_REQUIRE lists, separated by commas, the tools that must not be
// missing: a skip whose reason names one of them is a failure.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

func main() {
	required := strings.FieldsFunc(os.Getenv("GC_TEST_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	os.Exit(run(os.Args[1:], required))
}

// run returns the exit code: 1 when a test failed or a required tool was
// missing, 2 when go test itself could not run.
func run(args, required []string) int {
	began := time.Now()
	tests := exec.Command("go", append([]string{"test", "-json"}, args...)...) //nolint:noctx // go test has its own -timeout
	tests.Stderr = os.Stderr
	stream, err := tests.StdoutPipe()
	if err == nil {
		err = tests.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally: cannot run go test:", err)
		return 2
	}
	tally := newTally(os.Stdout)
	readErr := tally.read(stream)
	waitErr := tests.Wait()
	tally.report(required, time.Since(began))
	switch {
	case readErr != nil:
		fmt.Fprintln(os.Stderr, "tally: cannot read the output of go test:", readErr)
		return 2
	case waitErr != nil, tally.lacks(required):
		return 1
	}
	return 0
}
