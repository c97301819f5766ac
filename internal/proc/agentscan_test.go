package proc

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"

	"gascity/runtime"
)

// The first process of a session is found by its environment, and ended only as long as it
// is that one.
func TestFindAndTerminate(t *testing.T) {
	id := t.Name() + time.Now().Format("150405.000000000")
	cmd := exec.Command("/bin/sh", "-c", "sleep 1000 & wait")
	cmd.Env = []string{"PATH=/usr/bin:/bin", sessionIDKey + "=" + id, epochKey + "=7", "GC_CITY=the city", TokenKey + "=" + id}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ends depends on which of its processes is ended first
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended
	want := runtime.LiveRuntime{SessionID: id, City: "the city", Epoch: 7, PID: cmd.Process.Pid, ProviderName: "s", IsTracked: true}
	var found []runtime.LiveRuntime
	for end := time.Now().Add(10 * time.Second); len(found) == 0 && time.Now().Before(end); { // its exec may be on its way
		var err error
		if found, err = new(AgentScanner).Find(id, map[ID]string{first.ID: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(found, []runtime.LiveRuntime{want}) {
		t.Fatalf("found %+v, want %+v", found, want)
	}
	other := want
	other.SessionID = "another"
	if err := TerminateAgent(t.Context(), other); err != nil {
		t.Error(err)
	}
	if _, err := Stat(cmd.Process.Pid); err != nil {
		t.Fatal("another session's order has ended it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := TerminateAgent(ctx, want); err != nil {
		t.Error(err)
	}
	<-ended
	if left, err := FindByEnv(TokenKey, id); err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
	if err := TerminateAgent(ctx, want); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}
