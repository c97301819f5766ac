package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// asking is how a CLI is made to ask before it runs a tool.
type asking struct {
	toml string                   // of its agent
	env  map[string]string        // the same
	call func(file string) string // has the model call a tool that makes the file
}

// shelled calls the CLI's shell.
func shelled(file string) string { return "[[tool:touch " + file + "]]" }

// askings returns the CLIs that can ask.
func askings() map[string]asking {
	return map[string]asking{
		"claude": {toml: `permission_mode = "manual"`, call: shelled},
		"codex": {toml: `permission_mode = "suggest"`, call: func(file string) string {
			return fmt.Sprintf(`[[call:exec_command:{"cmd":"touch %s","sandbox_permissions":"require_escalated","justification":"May it?"}]]`, file)
		}},
		"gemini":   {toml: `permission_mode = "default"`, call: shelled},
		"opencode": {env: map[string]string{"OPENCODE_PERMISSION": `{"bash":"ask"}`}, call: shelled},
	}
}

// TestPermissionPrompts has agents that may do nothing unasked call a tool: the CLI's own
// question is listed, a person answers it by the label of an option, and the tool runs or
// does not (R4). The agent is idle then, and takes the next prompt alone.
func TestPermissionPrompts(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "codex", "gemini", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			how := askings()[name]
			c := bed.Open(t, "pty", bed.Member{Name: "asks", CLI: name, TOML: how.toml, Env: how.env})
			a := of(t, c, "asks")
			recordOnFailure(t, a.found, "questions")
			a.ready()
			a.primed()
			var listed, acted []time.Duration
			for _, answer := range []string{"yes", "no", "yes", "no"} {
				file := fmt.Sprint(answer, len(listed))
				text := "Please " + how.call(file) + "[[text:over]]"
				began, p := a.promptForQuestion(text)
				listed = append(listed, p.Since.Sub(began))
				answered := time.Now()
				if out, err := c.Run(t.Context(), "respond", p.ID, label(p, answer)); err != nil {
					a.fail("%q is no answer to %q: %v\n%s", label(p, answer), p.Options, err, out)
				}
				if answer == "yes" {
					a.waitToolResult()
				}
				a.ready()
				made, err := os.Stat(filepath.Join(c.Homes["asks"].Work, file))
				if (err == nil) != (answer == "yes") {
					a.fail("the answer was %q, and the tool ran: %v; the model saw %q", answer, err == nil, a.toolOutputs(text))
				}
				if err == nil {
					acted = append(acted, made.ModTime().Sub(answered))
				}
				heard, next := len(a.Model.Prompts(a.name)), "After "+file
				a.prompt(next, client.ReceiptConsumed)
				a.waitForPrompt(next)
				if got := a.Model.Prompts(a.name)[heard:]; len(got) != 1 {
					t.Errorf("after the answer %q the model received %+v", answer, got)
				}
				a.ready()
			}
			if usual := slices.Sorted(slices.Values(listed))[len(listed)/2]; usual > 2*time.Second {
				t.Errorf("a question was listed %s after the model's call", usual)
			}
			logFigure(t, a.found, "questions", "a question was listed %s after the model called the tool; after a yes, the tool ran %s after gc respond began; after a no, it did not run, and the next prompt arrived alone",
				spread(listed), spread(acted))
			closed(a)
		})
	}
}

// TestNoPermissionPrompts holds that a CLI without permission prompts has none to list: its
// tools run, and nothing is pending at any time of it.
func TestNoPermissionPrompts(t *testing.T) {
	together(t)
	for _, name := range driven("pi") {
		t.Run(name, func(t *testing.T) {
			together(t)
			const tools = 3
			c := bed.Open(t, "pty", bed.Member{Name: "asks", CLI: name})
			a := of(t, c, "asks")
			recordOnFailure(t, a.found, "questions")
			a.ready()
			a.primed()
			for i := range tools {
				file := fmt.Sprint("file", i)
				text := "Please " + shelled(file) + "[[text:over]]"
				a.prompt(text, client.ReceiptSubmitted)
				a.waitForPrompt(text)
				a.waitToolResult()
				a.ready()
				if _, err := os.Stat(filepath.Join(c.Homes["asks"].Work, file)); err != nil {
					a.fail("the tool did not run: %v", err)
				}
			}
			past, err := c.Client.PastEvents(t.Context(), 0)
			raised := slices.ContainsFunc(past.Events, func(e client.Event) bool { return strings.HasPrefix(e.Kind, "pending.") })
			if err != nil || len(past.Events) == 0 || raised {
				t.Errorf("the city reports questions: %v, %+v", err, past.Events)
			}
			logFigure(t, a.found, "questions", "it has no permission prompts: %d tools ran, and nothing was ever pending", tools)
			closed(a)
		})
	}
}

// label returns the option that says so, in the words of the hook or of the screen.
func label(p client.Pending, answer string) string {
	words := map[string][]string{"yes": {"Allow once", "Yes", "Yes, proceed (y)"}, "no": {"Deny", "No", "No, suggest changes (esc)", "Reject"}}[answer]
	for _, option := range p.Options {
		if slices.Contains(words, option) {
			return option
		}
	}
	return answer
}

// promptForQuestion sends a prompt and waits for the question that it raises, with its options: a CLI
// may report that it waits before it reports what for. began is the end of the model's
// response.
func (a *agent) promptForQuestion(text string) (began time.Time, p client.Pending) {
	a.t.Helper()
	a.prompt(text, client.ReceiptSubmitted)
	_, r := a.waitForPrompt(text)
	ctx, cancel := a.stepContext()
	defer cancel()
	for {
		open, err := a.Client.Pending(ctx, a.name, client.OnlyOpen)
		if err == nil && len(open) > 0 && len(open[0].Options) > 0 {
			if open[0].Kind != "permission" || open[0].Input == "" {
				a.t.Errorf("it is listed as %+v", open[0])
			}
			return a.Model.Requests()[r.N-1].Ended, open[0]
		}
		if ctx.Err() != nil {
			a.fail("never asks: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// waitToolResult waits until the model saw the result of the tool.
func (a *agent) waitToolResult() {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	n := len(a.Model.Prompts(a.name))
	err := a.Model.Await(ctx, func(all []mockmodel.Request) bool {
		all = slices.DeleteFunc(all, func(r mockmodel.Request) bool { return r.Caller != a.name || !r.Main })
		last := all[len(all)-1]
		return len(last.Results) > 0 && len(a.Model.Prompts(a.name)) == n && !last.Ended.IsZero()
	})
	if err != nil {
		a.fail("the model never received a result of its tool: %v", err)
	}
}
