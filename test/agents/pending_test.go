package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// TestPermissionPrompts has agents that may do nothing unasked call a tool: the CLI's own
// question is listed, a person answers it by the label of an option, and the tool runs or
// does not (R4).
func TestPermissionPrompts(t *testing.T) {
	together(t)
	modes := map[string]string{"claude": "manual", "codex": "suggest"}
	calls := map[string]func(string) string{
		"claude": func(file string) string { return "[[tool:touch " + file + "]]" },
		"codex": func(file string) string {
			return fmt.Sprintf(`[[call:exec_command:{"cmd":"touch %s","sandbox_permissions":"require_escalated","justification":"May it?"}]]`, file)
		},
	}
	for _, name := range driven("claude", "codex") {
		t.Run(name, func(t *testing.T) {
			together(t)
			c := bed.Open(t, "pty", bed.Member{Name: "asks", CLI: name, TOML: fmt.Sprintf("permission_mode = %q", modes[name])})
			a := of(t, c, "asks")
			owes(t, a.found, "pending")
			a.ready()
			a.primed()
			var listed, acted []time.Duration
			for _, answer := range []string{"yes", "no"} {
				trap := filepath.Join(c.Seats["asks"].Work, answer)
				began, p := a.asked("Please " + calls[name](answer) + "[[text:over]]")
				listed = append(listed, p.Since.Sub(began))
				answered := time.Now()
				if out, err := c.Run(t.Context(), "respond", p.ID, label(p, answer)); err != nil {
					a.fail("%q is no answer to %q: %v\n%s", label(p, answer), p.Options, err, out)
				}
				if answer == "yes" {
					a.over()
					acted = append(acted, time.Since(answered))
				} else {
					a.ready()
				}
				if _, err := os.Stat(trap); (err == nil) != (answer == "yes") {
					a.fail("the answer was %q, and the tool ran: %v; the model was told %q", answer, err == nil, a.about("Please "+calls[name](answer)))
				}
			}
			note(t, a.found, "pending", "listed %s after the model's call; allowed and denied by the options' labels, the tool ran and the model heard of it %s after the answer",
				spread(listed), spread(acted))
			closed(a)
		})
	}
}

// label is the option that says so, in the words of the hook or of the screen.
func label(p client.Pending, answer string) string {
	words := map[string][]string{"yes": {"Allow once", "Yes"}, "no": {"Deny", "No"}}[answer]
	for _, option := range p.Options {
		if slices.Contains(words, option) {
			return option
		}
	}
	return answer
}

// asked sends a prompt and waits for the question that it raises, with its options: a CLI
// may tell that it waits before it tells what for. began is the end of the model's response.
func (a *agent) asked(text string) (began time.Time, p client.Pending) {
	a.t.Helper()
	a.say(text, client.ReceiptSubmitted)
	_, r := a.heard(text)
	ctx, cancel := a.patient()
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

// over waits until the model was told what the tool gave.
func (a *agent) over() {
	a.t.Helper()
	ctx, cancel := a.patient()
	defer cancel()
	n := len(a.Model.Prompts(a.name))
	err := a.Model.Await(ctx, func(all []mockmodel.Request) bool {
		all = slices.DeleteFunc(all, func(r mockmodel.Request) bool { return r.Caller != a.name || !r.Main })
		last := all[len(all)-1]
		return len(last.Results) > 0 && len(a.Model.Prompts(a.name)) == n && !last.Ended.IsZero()
	})
	if err != nil {
		a.fail("the model never heard of its tool: %v", err)
	}
}
