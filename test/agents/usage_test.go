package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// TestUsageIsExact: what the city counts is what the mock has reported, after turns with
// tools, after a compaction, after the conversation is taken up again, and after the
// transcripts were read again from their beginnings (R16).
func TestUsageIsExact(t *testing.T) {
	together(t)
	for _, name := range driven("claude", "codex", "gemini", "pi", "opencode") {
		t.Run(name, func(t *testing.T) {
			together(t)
			files := map[string]string{}
			if name == "pi" { // else it has nothing to compact
				files["a/home/.pi/agent/settings.json"] = `{"defaultProvider": "mock", "defaultModel": "mock-model", "compaction": {"keepRecentTokens": 1}}`
			}
			c := bed.Open(t, "pty", bed.Member{Name: "a", CLI: name, Files: files})
			a := of(t, c, "a")
			recordOnFailure(t, a.found, "token usage after a compaction and a kill")
			a.ready()
			a.primed()
			compact := "/compact"
			if name == "gemini" {
				compact = "/compress"
			}
			unknown := 0
			for _, step := range []struct {
				name string
				do   func()
			}{
				{"turns with tools", func() {}},
				{"a compaction", func() { a.begins(beginning{command: compact}) }},
				{"it was read again", a.resetTranscripts},
				{"it was taken up again", a.killed},
				{"it was read again since", a.resetTranscripts},
			} {
				step.do()
				a.talks("After " + step.name + " [[tools:true;;true]]")
				unknown = a.exact(step.name)
			}
			got := a.counted()
			logFigure(t, a.found, "token usage after a compaction and a kill", "%d responses, %d tokens in and %d out: as the simulated model reported after a compaction, a kill, and reading all transcripts twice more%s", got.responses, got.input, got.output, withoutKey(unknown))
			closed(a)
		})
	}
}

// exact waits until the city counts what the mock has reported, and then looks once more:
// what is counted twice comes late. It returns how many asides are left out. A turn that a
// CLI writes down later than its hook waits is reported with the next turn.
func (a *agent) exact(after string) (unknown int) {
	a.t.Helper()
	ctx, cancel := a.stepContext()
	defer cancel()
	late := time.Now().Add(30 * time.Second)
	for again := 0; again < 2; {
		got := a.counted()
		left, ok := a.explains(got)
		switch {
		case ok:
			again, unknown = again+1, left
		case ctx.Err() != nil || again > 0:
			main, _, all := a.mockUsage()
			a.t.Fatalf("after %s are counted %+v; reported were %+v, with asides %+v", after, got, main, all)
		}
		if again == 0 && !late.IsZero() && time.Now().After(late) {
			a.t.Logf("after %s are counted %+v so far: another turn is to report", after, got)
			late = time.Time{}
			a.talks("Another turn after " + after)
		}
		<-time.After(time.Second)
	}
	return unknown
}

// explains reports whether what is counted are all answers to prompts, each once, and any of
// the asides, each once: for titles and summaries, which a CLI may not record. It returns
// how many of those are left out.
func (a *agent) explains(got spent) (left int, ok bool) {
	var base spent
	var asides []spent
	for _, r := range a.Model.Requests() {
		one := spent{1, int64(r.Usage.Input), int64(r.Usage.Output)}
		switch {
		case r.Caller != a.name || !r.Fine() || r.Usage == (mockmodel.Usage{}):
		case r.Main:
			base = base.plus(one)
		default:
			asides = append(asides, one)
		}
	}
	for chosen := range 1 << min(len(asides), 16) {
		sum, left := base, 0
		for i, one := range asides {
			if chosen&(1<<i) != 0 {
				sum = sum.plus(one)
			} else {
				left++
			}
		}
		if sum == got {
			return left, true
		}
	}
	return 0, false
}

func (s spent) plus(o spent) spent {
	return spent{s.responses + o.responses, s.input + o.input, s.output + o.output}
}

// resetTranscripts removes how far the hooks have read the transcripts.
func (a *agent) resetTranscripts() {
	a.t.Helper()
	files, err := filepath.Glob(filepath.Join(a.Root, ".gc", "hooks", "*", "read.json"))
	if err != nil {
		a.fail("%v", err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			a.fail("%v", err)
		}
	}
	if len(files) == 0 && a.found.Name != "pi" && a.found.Name != "opencode" { // they report by themselves
		a.fail("its hooks have kept nothing of what they have read")
	}
}

func withoutKey(unknown int) string {
	if unknown == 0 {
		return ""
	}
	return fmt.Sprintf(", without %d requests, for titles and summaries, which the CLI does not report", unknown)
}
