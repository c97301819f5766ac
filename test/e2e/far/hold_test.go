package far_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity/internal/citydir"
	"gascity/internal/fakeagent/ledger"
	"gascity/runtime"
)

// When the process that holds the sessions of a host exits, it waits for the end of a turn, and interrupts a
// longer one, before it stops the agent.
func TestExitOfTheHolderProcess(t *testing.T) {
	t.Parallel()
	for what, tt := range map[string]struct {
		prompt, end string
		least, most time.Duration
	}{
		"a turn that ends":  {"[[busy:4s]]short", ledger.Answered, 0, 30 * time.Second},
		"one that does not": {"[[busy:10m]]long", ledger.Interrupted, 20 * time.Second, time.Minute},
		"no turn":           {"", ledger.Ready, 0, 15 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newSSHServer(t, options{}).provider(t)
			if err := s.Start(t.Context(), s.name, s.agent("--osc7501")); err != nil {
				t.Fatal(err)
			}
			records := func(kind string) int { return len(ledger.Of(must(ledger.Read(s.ledger())), kind)) }
			if tt.prompt != "" {
				if _, err := runtime.Deliver(t.Context(), s.Provider, s.name, runtime.Delivery{Content: runtime.TextContent(tt.prompt)}); err != nil {
					t.Fatal(err)
				}
				until(t, "the turn", func() bool { return records(ledger.Prompt) == 1 })
			}
			folders := must(filepath.Glob(filepath.Join(s.far.dir, "state", "gc", "outpost", "*")))
			if len(folders) != 1 {
				t.Fatalf("the outpost's folder is one of %q", folders)
			}
			choice := filepath.Join(folders[0], citydir.StateFolder, citydir.ChoiceFile)
			if err := os.Remove(choice); err != nil { // it is made again
				t.Fatal(err)
			}
			hold := osexec.CommandContext(t.Context(), s.far.program, "outpost", "hold", folders[0], "pty", "--grace", "30s") //nolint:gosec // built here
			if err := hold.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "its beginning", func() bool { _, err := os.Stat(choice); return err == nil })
			began := time.Now()
			if err := hold.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := hold.Wait(); err != nil {
				t.Errorf("gc outpost hold: %v", err)
			}
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("it took %v", took)
			}
			for _, kind := range []string{ledger.Answered, ledger.Interrupted} {
				if n := records(kind); (n == 1) != (kind == tt.end) {
					t.Errorf("%d times %s", n, kind)
				}
			}
			if left := processes(filepath.Join(s.far.dir, "work")); len(left) > 0 {
				t.Errorf("over there run %v", left)
			}
		})
	}
}
