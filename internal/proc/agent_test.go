package proc_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/internal/proc"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
)

// The worst agent there is: orphaned, renamed, deaf, with helpers in their own sessions.
func TestKillTreeLeavesNothingOfADeafDoubleForkedAgent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger")
	key, mark := "GC_PROC_TEST_AGENT", fmt.Sprintf("a%d", os.Getpid())
	cmd := exec.Command(build.Build(t), "--plain", "--ledger", file, "--max-life", "2m", "--double-fork", "--rename", "2.1.29",
		"--ignore-sigterm", "--ignore-sighup", "--spawn-setsid", "3", "--spawn-daemon")
	cmd.Env = append(os.Environ(), key+"="+mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	input, err := cmd.StdinPipe() // kept open: the agent must not end by itself
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it is killed
	front, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	records, err := ledgertest.Wait(ctx, file, ledgertest.Has(ledger.Ready, 1))
	if err != nil {
		t.Fatal(err)
	}
	census, err := proc.KillTree(ctx, front.ID, &proc.KillOptions{Grace: 100 * time.Millisecond, MarkKey: key, MarkValue: mark})
	// The process in front hears SIGTERM. What only made another one may be seen while it ends.
	if err != nil || census.Found < 6 || census.Killed != 5 {
		t.Errorf("census %+v, %v", census, err)
	}
	for _, pid := range append([]int{records[0].Run}, spawned(records)...) {
		if info, err := proc.Stat(pid); err == nil && !info.Ended() {
			t.Errorf("process %d lives: %+v", pid, info)
		}
	}
}

func spawned(records []ledger.Record) []int {
	var pids []int
	for _, r := range ledger.Of(records, ledger.Spawn) {
		pids = append(pids, r.PIDs...)
	}
	return pids
}
