package tmux_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"gascity/runtime"
)

// An agent that prints all the time is relaunched many times. The server and the other sessions survive each
// relaunch, and the output of each new agent is read from its first byte. GC_TEST_RELAUNCHES sets the number.
func TestRelaunchUnderAFloodOfOutput(t *testing.T) {
	r := newTestCity(t)
	times := 15
	if n, err := strconv.Atoi(os.Getenv("GC_TEST_RELAUNCHES")); err == nil {
		times = n
	}
	r.shell("beside", "exec cat", nil)
	config := func(n int) runtime.Config {
		return runtime.Config{
			Command: fmt.Sprintf(`i=0; while [ $i -lt 400 ]; do echo "run %d line $i: some text that is long enough to fill a buffer sooner or later, and then some more of it"; i=$((i+1)); done; exec yes "run %d floods"`, n, n),
			WorkDir: r.dir,
		}
	}
	if err := r.Start(t.Context(), "flood", config(0)); err != nil {
		t.Fatal(err)
	}
	before, err := runtime.Observe(t.Context(), r.Provider, "beside")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= times; n++ {
		if err := r.Relaunch(t.Context(), "flood", config(n)); err != nil {
			t.Fatalf("relaunch %d: %v", n, err)
		}
	}
	after, err := runtime.Observe(t.Context(), r.Provider, "beside")
	if err != nil || after.Session != runtime.Alive || after.PID != before.PID || after.StartTime != before.StartTime {
		t.Errorf("after %d relaunches the session beside it is %+v, %v; before it was %+v", times, after, err, before)
	}
}

// The server exits when it has no session any more, also none with an exited agent. The next start starts
// another one.
func TestServerExitsWithItsLastSession(t *testing.T) {
	r := newTestCity(t)
	retire := func(want bool) {
		t.Helper()
		if err := r.RetireServer(); err != nil {
			t.Fatal(err)
		}
		left := clientless(r.dir)
		if want {
			left = serverless(r.dir)
		}
		if (left == nil) != want {
			t.Errorf("the server is left: %v, want gone %v", left, want)
		}
	}
	retire(true)
	for range 2 {
		r.shell("runs", "exec cat", nil)
		r.shell("exited", "exit 3", nil)
		retire(false)
		if err := r.Stop("runs"); err != nil {
			t.Fatal(err)
		}
		retire(false)
		if err := r.Stop("exited"); err != nil {
			t.Fatal(err)
		}
		retire(true)
	}
}
