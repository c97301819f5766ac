package agents

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// failure is one of the guard. It begins, and returns what ends it.
type failure struct {
	name   string
	begins func() (end func())
}

// TestTheGuardFailsClosed is the guard failure matrix with the CLIs themselves: whatever fails
// between a CLI and its city, the tool that its model calls does not run, and the model sees
// that (R20). Without a failure it runs.
func TestTheGuardFailsClosed(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "codex", "gemini", "pi", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			failsClosed(t, name)
		})
	}
}

func failsClosed(t *testing.T, name string) {
	bed.Need(t, name)
	program, err := bed.Program()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), "gc")
	if err := os.WriteFile(own, text, 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, City: guarded, GC: own})
	c.GC = program // what we call ourselves goes on
	a := of(t, c, "a")
	recordOnFailure(t, a.found, "guard with faults")
	a.ready()
	a.primed()
	if told, ran := a.tries("nothing fails"); !ran {
		a.fail("a tool does not run: %q", told)
	}
	failures := a.cityFailures()
	if name != "pi" && name != "opencode" { // they ask by themselves
		failures = append(failures, a.programFailures(own, program)...)
	}
	if os.Getenv("GC_TEST_AGENTS") == "" { // who hangs is waited for over a minute, and internal/hookrunner has tried it with shorter times
		failures = slices.DeleteFunc(failures, func(f failure) bool { return strings.HasSuffix(f.name, "hangs") })
	}
	blocked := 0
	for _, f := range failures {
		a.ready()
		end := f.begins()
		told, ran := a.tries(f.name)
		end()
		switch {
		case ran:
			t.Errorf("%s: the tool ran", f.name)
		case told == "":
			t.Errorf("%s: the model saw nothing", f.name)
		default:
			blocked++
			t.Logf("%s: the model sees %.300q", f.name, told)
		}
	}
	a.ready()
	if told, ran := a.tries("nothing fails any more"); !ran {
		a.fail("a tool does not run behind the failures: %q", told)
	}
	logFigure(t, a.found, "guard with faults", "%d of %d failures of the hook and of the city blocked the tool, and the model saw why", blocked, len(failures))
}

// tries has the model call a tool that leaves a trace, and returns the result that it saw.
func (a *agent) tries(what string) (told string, ran bool) {
	a.t.Helper()
	trace := filepath.Join(a.Homes[a.name].Work, "RAN-"+strings.ReplaceAll(what, " ", "-"))
	text := fmt.Sprintf("Try while %s: [[tool:touch %s]][[text:over]]", what, trace)
	ctx, cancel := a.stepContext()
	defer cancel()
	if _, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: text}); err != nil {
		a.fail("takes no prompt while %s: %v", what, err)
	}
	_, r := a.waitForPrompt(text)
	if err := a.Model.Await(ctx, func(all []mockmodel.Request) bool { return isSettled(all, a.name, r.N-1) }); err != nil {
		a.fail("the turn does not end while %s: %v", what, err)
	}
	_, err := os.Stat(trace)
	return a.results(r.N), err == nil
}

// programFailures returns those of the hook's program, which is put back from another place. What
// does not decide goes on, so that nothing but the guard fails.
func (a *agent) programFailures(program, original string) (all []failure) {
	put := func(text []byte) {
		next := program + ".next"
		if err := os.WriteFile(next, text, 0o700); err != nil { //nolint:gosec // it is a program
			a.t.Fatal(err)
		}
		if err := os.Rename(next, program); err != nil {
			a.t.Fatal(err)
		}
	}
	back := func() {
		text, err := os.ReadFile(original)
		if err != nil {
			a.t.Fatal(err)
		}
		put(text)
	}
	all = append(all, failure{"gc is gone", func() func() {
		if err := os.Remove(program); err != nil {
			a.t.Fatal(err)
		}
		return back
	}})
	for _, f := range []struct{ name, does string }{
		{"it ends with 1", "exit 1"},
		{"it ends with 3", "exit 3"},
		{"it ends with 127", "exit 127"},
		{"it is killed", "kill -9 $$"},
		{"it says nothing", "exit 0"},
		{"it says garbage", "echo '<html>{]'; exit 0"},
		{"it answers in the form of another agent CLI", `echo '{"decision":"allow","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}'; exit 0`},
		{"it denies in two forms", `echo '{"decision":"deny","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"}}'; exit 0`},
		{"it hangs", "exec sleep 1000"},
	} {
		all = append(all, failure{f.name, func() func() {
			put(fmt.Appendf(nil, "#!/bin/sh\ncase \"$*\" in *PreToolUse*|*BeforeTool*|*PermissionRequest*) %s ;; esac\nexec '%s' \"$@\"\n", f.does, original))
			return back
		}})
	}
	return all
}

// cityFailures returns those of the city: its socket is put aside, and something else is there.
func (a *agent) cityFailures() (all []failure) {
	socket := a.socket()
	aside := func() (back func()) {
		if err := os.Rename(socket, socket+".aside"); err != nil {
			a.t.Fatal(err)
		}
		return func() {
			if err := os.Rename(socket+".aside", socket); err != nil {
				a.t.Fatal(err)
			}
		}
	}
	listen := func() *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
		if err != nil {
			a.t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		return l
	}
	all = append(all,
		failure{"there is no socket", aside},
		failure{"the city is dead", func() func() {
			back := aside()
			_ = listen().Close() // no process is behind the socket any more
			return back
		}})
	for _, f := range []struct {
		name   string
		answer http.HandlerFunc
	}{
		{"the city fails", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"allowed":true}`, http.StatusInternalServerError)
		}},
		{"the city says garbage", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `<html>{"allowed":true}`) }},
		{"the city hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
	} {
		all = append(all, failure{f.name, func() func() {
			back := aside()
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // who hangs up is noticed only then
				f.answer(w, r)
			})}
			l := listen()
			go s.Serve(l) //nolint:errcheck // it ends with the failure
			return func() {
				_ = s.Close() // who waits is cut off
				back()
			}
		}})
	}
	return all
}

// socket returns the city's, as the agent knows it.
func (a *agent) socket() string {
	a.t.Helper()
	s, err := a.Client.Session(a.t.Context(), a.name)
	if err != nil {
		a.fail("is not known: %v", err)
	}
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.PID))
	if err != nil {
		a.t.Skip("the agent's environment cannot be read here") // Linux alone has it
	}
	for variable := range strings.SplitSeq(string(env), "\x00") {
		if path, ok := strings.CutPrefix(variable, "GC_WORKER_SOCKET="); ok {
			return path
		}
	}
	a.fail("has no socket of its city's")
	return ""
}
