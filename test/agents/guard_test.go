package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gascity/client"
	"gascity/test/agents/mockmodel"
)

// guarded is the guard of the cities in which a day is spent.
const guarded = "[guard]\nsets = [\"dangerous-command\"]\n"

// guard has the model call tools: one that the city allows runs, one that it denies does
// not, and the model sees why, and one that no city answers for does not either (R20).
func guard(a *agent, in string) {
	work := a.Homes[a.name].Work
	a.calls("mkdir allowed", "")
	if _, err := os.Stat(filepath.Join(work, "allowed")); err != nil {
		a.fail("what is allowed did not run: %v", err)
	}
	reason := a.calls("mkdir denied; git push --force origin main", "force")
	if _, err := os.Stat(filepath.Join(work, "denied")); err == nil {
		a.fail("what is denied ran")
	}
	a.alone()
	logFigure(a.t, a.found, "guard", "an allowed command runs; a force push is denied, and the model sees %q; while no controller runs, every command is blocked%s", reason, in)
}

// calls has the model call its shell, and returns the result that it saw. That must hold
// the word.
func (a *agent) calls(command, word string) string {
	a.t.Helper()
	text := fmt.Sprintf("Please [[tool:%s]][[text:over]]", command)
	a.prompt(text, client.ReceiptSubmitted)
	_, r := a.waitForPrompt(text)
	ctx, cancel := a.stepContext()
	defer cancel()
	if err := a.Model.Await(ctx, func(all []mockmodel.Request) bool { return isSettled(all, a.name, r.N-1) }); err != nil {
		a.fail("the turn does not end: %v", err)
	}
	told := a.results(r.N)
	if !strings.Contains(told, word) {
		a.t.Errorf("of %q the model saw %q", command, told)
	}
	a.ready()
	return brief(told)
}

// results returns what the model saw of its tools after the request.
func (a *agent) results(n int) string {
	var told []string
	for _, r := range a.Model.Requests()[n:] {
		if r.Main && r.Caller == a.name {
			told = r.Results
		}
	}
	return strings.Join(told, "\n")
}

// brief returns the line of a text that gives the reason.
func brief(text string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, "rule") {
			text = line
		}
	}
	if _, reason, named := strings.Cut(text, "]: "); named { // of the command that says so
		text = reason
	}
	text = strings.TrimSpace(text)
	return text[:min(len(text), 160)]
}

// alone kills the controller behind a prompt whose model then calls a tool. On a machine
// that is too slow to do that in time it is done again with more of it.
func (a *agent) alone() {
	a.t.Helper()
	for _, wait := range []int{2, 8, 30} {
		trap := filepath.Join(a.Homes[a.name].Work, fmt.Sprintf("alone-%d", wait))
		text := fmt.Sprintf("Alone [[delay:%d]][[tool:mkdir %s]][[text:over]]", wait, trap)
		a.prompt(text, client.ReceiptSubmitted)
		_, r := a.waitForPrompt(text)
		a.killController()
		late := time.Since(r.At) > time.Duration(wait)*time.Second
		ctx, cancel := a.stepContext()
		err := a.Model.Await(ctx, func(all []mockmodel.Request) bool { return isSettled(all, a.name, r.N-1) })
		cancel()
		if err != nil {
			a.fail("the turn without a city does not end: %v", err)
		}
		if told := a.results(r.N); told == "" {
			a.t.Error("the model saw nothing of the tool that no city authorized")
		}
		_, ran := os.Stat(trap)
		if out, err := a.Run(a.t.Context(), "start"); err != nil {
			a.fail("the city does not come back: %v\n%s", err, out)
		}
		a.ready()
		if !late && ran == nil {
			a.fail("it ran while no city answered")
		}
		if !late {
			return
		}
	}
	a.fail("the controller could not be killed in time")
}

// killController ends it as kill -9 does.
func (a *agent) killController() {
	a.t.Helper()
	status, err := a.Client.Status(a.t.Context())
	if err != nil || status.Controller.PID <= 0 {
		a.fail("the controller is not known: %v", err)
	}
	if err := syscall.Kill(status.Controller.PID, syscall.SIGKILL); err != nil {
		a.fail("the controller cannot be killed: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); syscall.Kill(status.Controller.PID, 0) == nil && time.Now().Before(end); {
		<-time.After(10 * time.Millisecond)
	}
}

// spent is what a model has reported as used.
type spent struct{ responses, input, output int64 }

// mockUsage returns what the mock has reported to the agent: in answer to prompts, with summaries of
// its own conversation, and with other asides. What it had reported of an answer that was
// cut off counts if the CLI has kept that.
func (a *agent) mockUsage() (main, summed, all spent) {
	kept := a.transcripts()
	for _, r := range a.Model.Requests() {
		if r.Caller != a.name || r.Usage == (mockmodel.Usage{}) || !r.Fine() && (!r.Aborted || !strings.Contains(kept, `"`+r.Response+`"`)) {
			continue
		}
		one := spent{1, int64(r.Usage.Input), int64(r.Usage.Output)}
		all = all.plus(one)
		if r.Main || r.Summary {
			summed = summed.plus(one)
		}
		if r.Main {
			main = main.plus(one)
		}
	}
	return main, summed, all
}

// transcripts returns the JSON lines that the CLI keeps in its home, of all conversations.
func (a *agent) transcripts() string {
	var all strings.Builder
	err := filepath.WalkDir(a.Homes[a.name].Home, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || filepath.Ext(path) != ".jsonl" {
			return nil // it comes and goes while the CLI runs
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		a.t.Errorf("the transcripts of %s: %v", a.name, err)
	}
	return all.String()
}

// usage compares what the city counts with what the mock reported (R16). Asides, as
// for a title, are counted by some CLIs and not by others.
func usage(a *agent, in string) {
	a.ready()
	ctx, cancel := a.stepContext()
	defer cancel()
	for {
		main, summed, all := a.mockUsage()
		got := a.counted()
		switch {
		case got == all:
			logFigure(a.t, a.found, "usage", "%d responses, %d tokens in and %d out: as the simulated model reported%s", all.responses, all.input, all.output, in)
			return
		case got == main || got == summed:
			logFigure(a.t, a.found, "usage", "%d responses, %d tokens in and %d out: as the simulated model reported, without %d requests that the CLI does not report%s",
				got.responses, got.input, got.output, all.responses-got.responses, in)
			return
		case ctx.Err() != nil:
			if lost := a.dropped(); lost.responses > 0 && got.plus(lost) == main {
				logFigure(a.t, a.found, "usage", "%d responses, %d tokens in and %d out: as the simulated model reported, except %d that the CLI has dropped and has no record of%s",
					got.responses, got.input, got.output, lost.responses, in)
				return
			}
			a.t.Errorf("counted are %+v; reported were %+v, with summaries %+v, with all asides %+v; not reported was of %q", got, main, summed, all, a.unreportedAnswers())
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

// dropped are answers that were sent in full, and that Claude Code, whose transcripts name each
// answer, has kept nothing of: they cannot be reported.
func (a *agent) dropped() (lost spent) {
	if a.found.Name != "claude" {
		return spent{}
	}
	kept := a.transcripts()
	for _, r := range a.Model.Requests() {
		if r.Caller == a.name && r.Main && r.Fine() && r.Response != "" && !strings.Contains(kept, r.Response) {
			lost = lost.plus(spent{1, int64(r.Usage.Input), int64(r.Usage.Output)})
		}
	}
	return lost
}

// unreportedAnswers returns the answers that no word to the city has named, for who looks into it.
func (a *agent) unreportedAnswers() (out []string) {
	past, err := a.Client.PastEvents(a.t.Context(), 0)
	if err != nil {
		return []string{err.Error()}
	}
	var told strings.Builder
	for _, e := range past.Events {
		if e.Kind == "worker.telemetry" {
			told.WriteString(e.Data["body"])
		}
	}
	for _, r := range a.Model.Requests() {
		if r.Caller == a.name && r.Response != "" && !strings.Contains(told.String(), r.Response) {
			last := ""
			if n := len(r.History); n > 0 {
				last = r.History[n-1]
			}
			out = append(out, fmt.Sprintf("%d %s %s main %v aborted %v calls %d %s behind %.60s", r.N, r.Response, r.Model, r.Main, r.Aborted, len(r.Calls), r.Ended.Format(time.TimeOnly), last))
		}
	}
	return out[max(0, len(out)-20):]
}

// counted returns what the city says that the agent has spent.
func (a *agent) counted() (got spent) {
	sum, err := a.Client.Usage(a.t.Context(), client.UsageRequest{})
	if err != nil {
		return spent{}
	}
	for _, g := range sum.Groups {
		if g.Group == a.name && g.Tokens.Input != nil && g.Tokens.Output != nil {
			got = spent{int64(g.Responses), *g.Tokens.Input, *g.Tokens.Output}
		}
	}
	return got
}
