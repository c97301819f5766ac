package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// found is FindByEnv for tests: what this user's other programs hide does not matter.
func found(t *testing.T, key, value string) []EnvMatch {
	t.Helper()
	matches, err := FindByEnv(key, value)
	var unreadable *UnreadableError
	if err != nil && !errors.As(err, &unreadable) {
		t.Fatal(err)
	}
	return matches
}

func TestFindByEnvFindsWhatLeftTheTree(t *testing.T) {
	key, mark := "GC_PROC_TEST_MARK", fmt.Sprintf("m%d", os.Getpid())
	want := start(t, "child,setsid,daemon,sleep", key+"="+mark).ready(t, 4)
	start(t, "sleep", key+"=other").ready(t, 1)
	start(t, "sleep", key+"X="+mark, "X"+key+"="+mark).ready(t, 1)

	var got []ID
	for _, m := range found(t, key, mark) {
		if m.Value != mark {
			t.Errorf("value of %v is %q", m.ID, m.Value)
		}
		got = append(got, m.ID)
	}
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("process %v is not found", id)
		}
	}
	if len(got) != len(want) {
		t.Errorf("found %v, want %v", got, want)
	}
	values := map[string]int{}
	for _, m := range found(t, key, "") {
		values[m.Value]++
	}
	if values[mark] != 4 || values["other"] != 1 {
		t.Errorf("any value finds %v", values)
	}
}

func TestEnvironAndArgvAreExact(t *testing.T) {
	h := start(t, "sleep", "GC_PROC_EMPTY=", "GC_PROC_ODD=a=b\nc ", "GC_PROC_TWICE=1")
	pid := h.ready(t, 1)[0].PID
	for key, want := range map[string]string{"GC_PROC_EMPTY": "", "GC_PROC_ODD": "a=b\nc ", "GC_PROC_TWICE": "1"} {
		if got, ok, err := EnvValue(pid, key); got != want || !ok || err != nil {
			t.Errorf("EnvValue(%s) = %q, %v, %v", key, got, ok, err)
		}
	}
	if got, ok, err := EnvValue(pid, "GC_PROC"); ok || err != nil {
		t.Errorf("part of a key is found: %q, %v", got, err)
	}
	args, err := Argv(pid)
	if err != nil || !slices.Equal(args, h.cmd.Args) {
		t.Errorf("Argv = %q, %v, want %q", args, err, h.cmd.Args)
	}
}

func TestArgvKeepsEmptyArguments(t *testing.T) {
	cmd := command("sleep", nil)
	cmd.Args = []string{"2.1.29", "", "a b", "", ""}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil { // after the exec
		t.Fatal(err)
	}
	if args, err := Argv(cmd.Process.Pid); err != nil || !slices.Equal(args, cmd.Args) {
		t.Errorf("Argv = %q, %v, want %q", args, err, cmd.Args)
	}
}
