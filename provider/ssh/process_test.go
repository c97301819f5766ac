package ssh_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runs runs a program until the end of the test.
func runs(t *testing.T, path string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // how it ended does not matter
	})
}

// waitExited waits until the process whose id is in a file has ended.
func waitExited(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on", pid)
		}
	}
}
