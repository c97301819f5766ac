package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/domain/event"
	"gascity/test/agents/bed"
)

// TestAKilledHookIsABypass kills the outermost process of the hook of a real claude with -9
// while a person is asked about its tool. claude takes a hook that fails in that way for one
// that has nothing to say. The tool fails, which claude reports by another hook. The test
// proves that then the city reports a bypass if the tool ran, that a denied tool is none, that the question is withdrawn, and that a late answer is refused.
func TestAKilledHookIsABypass(t *testing.T) {
	together(t)
	for _, name := range driven("claude") {
		bed.Need(t, name)
		c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, City: "[guard]\non_bypass = \"report\"\nsets = [\"dangerous-command\"]\n"})
		a := of(t, c, "a")
		a.ready()
		a.primed()
		trace := filepath.Join(a.Homes["a"].Work, "RAN")
		_, asked := a.promptForQuestion(fmt.Sprintf("Ask first [[tool:touch %s; git stash drop]][[text:over]]", trace))
		s, err := a.Client.Session(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		hook := outermostHook(t, s.PID)
		if err := syscall.Kill(hook, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		a.waitToolResult()
		ran := true
		if _, err := os.Stat(trace); err != nil {
			ran = false
		}
		deadline := time.Now().Add(15 * time.Second)
		for {
			open, err := a.Client.Pending(t.Context(), "a", client.OnlyOpen)
			page, eventErr := a.Client.PastEvents(t.Context(), 0)
			bypasses := 0
			for _, e := range page.Events {
				if e.Kind == string(event.WorkerBypass) {
					bypasses++
				}
			}
			if err == nil && eventErr == nil && len(open) == 0 && (bypasses == 1 || !ran) {
				break
			}
			if time.Now().After(deadline) {
				for _, e := range page.Events {
					if strings.HasPrefix(e.Kind, "worker.") || strings.HasPrefix(e.Kind, "pending.") {
						t.Logf("%s %s %v", e.Time.Format("05.000"), e.Kind, e.Data)
					}
				}
				t.Fatalf("the tool ran: %v; open questions %+v (%v), %d bypasses (%v)", ran, open, err, bypasses, eventErr)
			}
			<-time.After(50 * time.Millisecond)
		}
		if _, err := a.Client.Respond(t.Context(), asked.ID, client.RespondRequest{Option: label(asked, "no")}); err == nil {
			t.Error("an answer to the withdrawn question is accepted")
		}
		a.ready()
		a.calls("git push --force origin main", "force") // denied: it fails and did not run
		page, err := a.Client.PastEvents(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		bypasses := 0
		for _, e := range page.Events {
			if e.Kind == string(event.WorkerBypass) {
				bypasses++
			}
		}
		if ran && bypasses != 1 {
			t.Errorf("after a denied tool there are %d bypasses, want the one of the killed hook", bypasses)
		}
		t.Logf("%s: after its hook was killed the tool ran: %v", a.found, ran)
	}
}

// outermostHook returns the process of a hook that asks about a tool below the agent and that
// no other process of the hook has started.
func outermostHook(t *testing.T, agent int) int {
	t.Helper()
	parents, hooks := map[int]int{}, map[int]bool{}
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(all) == 0 {
		t.Skip("needs /proc")
	}
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has exited
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
		parents[pid], _ = strconv.Atoi(fields[1])
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		hooks[pid] = strings.Contains(string(line), "hook") && strings.Contains(string(line), "PreToolUse")
	}
	below := func(pid int) bool {
		for ; pid > 1; pid = parents[pid] {
			if pid == agent {
				return true
			}
		}
		return false
	}
	for pid := range hooks {
		if hooks[pid] && !hooks[parents[pid]] && below(pid) {
			return pid
		}
	}
	t.Fatal("no hook runs below the agent")
	return 0
}
