package screen_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gascity/internal/terminal/screen"
	"gascity/runtime"
	"gascity/test/terminal"
)

// watched is a session whose questions are listed by the readings of one memory.
type watched struct {
	t      *testing.T
	screen screen.Terminal
	rules  screen.Rules
	life   screen.Life
	memory screen.Memory
}

// asks returns the RequestID of what blocks the session, empty if nothing does.
func (w *watched) asks() string {
	w.t.Helper()
	r, err := w.memory.Sense(w.t.Context(), "s", w.life, w.screen, w.rules)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Pending == nil {
		return ""
	}
	return r.Pending.RequestID
}

// settled returns what asks does as soon as it names a question. Until then each reading of the
// screen must be one of a blocked agent.
func (w *watched) settled() string {
	w.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		r, err := w.memory.Sense(w.t.Context(), "s", w.life, w.screen, w.rules)
		switch {
		case err != nil || time.Since(began) > 2*time.Second:
			w.t.Fatalf("no question is listed: %v", err)
		case r.Pending != nil:
			return r.Pending.RequestID
		case !slices.ContainsFunc(r.Evidence, func(e runtime.Evidence) bool { return e.Activity == runtime.ActivityWaiting }) || r.Again.IsZero():
			w.t.Errorf("before the question is listed the reading is %+v", r)
		}
	}
}

// TestAQuestionThatIsDrawnAnewStands: a program that repaints its question part after part asks
// one question, whenever its screen is read.
func TestAQuestionThatIsDrawnAnewStands(t *testing.T) {
	parts := map[string]string{
		"nothing":          "\x1b[H\x1b[2J",
		"the text":         "\x1b[H\x1b[2J" + trustWords + "\r\n",
		"a part of a text": "\x1b[H\x1b[2J" + trustWords[:20] + "\r\n\r\n ❯ No, exit\r\n   Yes, I trust this folder\r\n\r\n Enter to confirm · Esc to cancel",
		"some options":     "\x1b[H\x1b[2J" + trustWords + "\r\n\r\n ❯ No, exit\r\n   Yes, I trust this folder\r\n",
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newDialogs([]string{trustWords}, []string{"No, exit", "Yes, I trust this folder", "Ask me later"})
				w := &watched{t: t, screen: p.t, rules: terminal.Rules(t, "claude"), life: screen.Life{Name: "one"}}
				p.t.Print(part)
				time.AfterFunc(60*time.Millisecond, p.draw)
				first := w.asks() // while it is drawn for the first time
				time.Sleep(time.Second)
				whole := w.settled()
				if whole == "" || first != "" && first != whole {
					t.Errorf("half drawn it is listed as %q, whole as %q", first, whole)
				}
				for range 20 { // a spinner in it
					p.t.Print(part)
					time.AfterFunc(60*time.Millisecond, p.draw)
					if again := w.asks(); again != whole {
						t.Errorf("redrawn it is %q, was %q", again, whole)
					}
					time.Sleep(40 * time.Millisecond)
				}
				p.t.Print("\x1b[H\x1b[2JDone.")
				if left := w.asks(); left != "" {
					t.Errorf("it is gone from the screen and still listed as %q", left)
				}
			})
		})
	}
}

// TestAnAnswerDoesNotRenameTheNextQuestion: the next dialog may be on the screen before the
// answer to the one before it is counted. It is one question. The same dialog once more is another.
func TestAnAnswerDoesNotRenameTheNextQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := []string{"No, exit", "Yes, I accept"}
		p := newDialogs([]string{trustWords, bypassWords, trustWords}, options, options, options)
		w := &watched{t: t, screen: p.t, rules: terminal.Rules(t, "claude"), life: screen.Life{Name: "one"}}
		answer := func() (asked, next string) {
			f, err := screen.Whole(t.Context(), p.t)
			if err != nil {
				t.Fatal(err)
			}
			request := screen.Sense(f, w.rules, time.Now()).Pending.RequestID
			asked = w.settled()
			err = screen.Respond(t.Context(), p.t, w.rules, screen.Response{Request: request, Action: runtime.ActionChoose, Text: "Yes, I accept"})
			if err != nil {
				t.Fatal(err)
			}
			next = w.asks()
			w.life = w.life.Add(request)
			if counted := w.asks(); next != counted {
				t.Errorf("the next question is %q before the answer is counted, %q afterwards", next, counted)
			}
			return asked, next
		}
		trust, bypass := answer()
		second, again := answer()
		if second != bypass || trust == bypass || trust == "" || again == trust || again == "" {
			t.Errorf("the questions are %q, %q and %q", trust, bypass, again)
		}
	})
}

// TestAnAnswerIsNotTakenForGivenWhileTheQuestionIsDrawnAnew: the program repaints its question
// after the confirming key came and before it reads it.
func TestAnAnswerIsNotTakenForGivenWhileTheQuestionIsDrawnAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDialogs([]string{trustWords}, []string{"Yes, I trust this folder", "No, exit"})
		rules := terminal.Rules(t, "claude")
		f, err := p.t.Frame(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		asked := screen.Sense(f, rules, time.Now()).Pending.RequestID
		p.t.Program = func(in []byte) {
			p.t.Print("\x1b[H\x1b[2J" + trustWords + "\r\n")
			time.AfterFunc(30*time.Millisecond, func() {
				p.draw()
				time.AfterFunc(time.Second, func() { p.handleKeys(in) })
			})
		}
		if err := screen.Respond(t.Context(), p.t, rules, screen.Response{Request: asked, Action: runtime.ActionChoose, Text: "Yes, I trust this folder"}); err != nil {
			t.Fatal(err)
		}
		if want := []string{"Yes, I trust this folder"}; !slices.Equal(p.chosen, want) {
			t.Errorf("the answer counts, and the program has read %q", p.chosen)
		}
	})
}
