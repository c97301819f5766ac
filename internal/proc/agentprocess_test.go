package proc

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// startMarked starts a process with an environment, as the leader of a terminal session. It is ended with the test.
func startMarked(t *testing.T, env ...string) int {
	t.Helper()
	cmd := exec.Command("/usr/bin/setsid", "--fork", "/bin/sh", "-c", `echo $$ > "$PIDFILE.new" && mv "$PIDFILE.new" "$PIDFILE"; exec sleep 1000`)
	file := filepath.Join(t.TempDir(), "pid")
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "PIDFILE=" + file}, env...)
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		pids, err := FindByEnv("PIDFILE", file)
		if _, statErr := os.Stat(file); statErr == nil && err == nil && len(pids) == 1 && pids[0].Comm == "sleep" {
			id := pids[0].ID
			t.Cleanup(func() {
				_, _ = KillTree(context.WithoutCancel(t.Context()), id, &KillOptions{Grace: -1}) // most have ended
			})
			return id.PID
		}
	}
	t.Fatal("the process does not start")
	return 0
}

// Agents of a city are found by the marks in their environment, each session by itself. What
// belongs to another city, to no session, or was left by a set-up command is not found and not ended.
func TestLiveAgentsAreFoundByTheirMarks(t *testing.T) {
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("needs setsid")
	}
	city := t.TempDir()
	marks := func(city, session string) []string {
		return []string{CityKey + "=" + city, SessionKey + "=" + session, TokenKey + "=token-" + city + session}
	}
	one, two := startMarked(t, marks(city, "one")...), startMarked(t, marks(city, "two")...)
	others := []int{
		startMarked(t, marks(city+"2", "one")...), startMarked(t, CityKey+"="+city, SessionKey+"=one"), startMarked(t, CityKey+"="+city),
		startMarked(t, append(marks(city, "one"), SetupKey+"=1")...),
	}
	var s AgentScanner
	for session, want := range map[string][]int{"one": {one}, "two": {two}, "three": {}} {
		if got, err := s.Agents(city, session); err != nil || !slices.Equal(AgentPIDs(got), want) {
			t.Errorf("session %s: found %v, %v, want %v", session, got, err, want)
		}
	}
	if got, err := s.Agents("", "one"); err != nil || len(got) > 0 {
		t.Errorf("of no city there are %v, %v", got, err)
	}
	ended, err := StopAgents(t.Context(), city)
	want := []AgentStopResult{{Session: "one", Found: 1}, {Session: "two", Found: 1}}
	if err != nil || !slices.EqualFunc(ended, want, func(a, b AgentStopResult) bool {
		return a.Session == b.Session && a.Found == b.Found && len(a.Survivors) == 0
	}) {
		t.Errorf("ended %+v, %v, want %+v", ended, err, want)
	}
	if left, err := AgentProcesses(city); err != nil || len(left) > 0 {
		t.Errorf("after the end there are %v, %v", left, err)
	}
	for _, pid := range others {
		if info, err := Stat(pid); err != nil || info.Ended() {
			t.Errorf("process %d, which is no agent of the city, was ended", pid)
		}
	}
}
