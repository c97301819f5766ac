package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/runtime"
)

// nudgeCases returns the cases about Nudge and NudgeNow.
func nudgeCases() []Case {
	return append([]Case{
		prove("nudge.missing", "Nudge of a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			for _, name := range []string{w.Name("none"), "not a name"} {
				expect(t, runtime.ErrSessionNotFound, w.Provider.Nudge(name, runtime.TextContent("hello")), "Nudge(%s)", name)
			}
		}),
		prove("nudge.exact", "Nudge reaches only the session with exactly that name.", func(t T, w *World) {
			other := w.Start("worker-10", Behaviour{})
			expect(t, runtime.ErrSessionNotFound, w.Provider.Nudge(w.Name("worker-1"), runtime.TextContent("for one")), "Nudge")
			other.Nudge("for ten")
			other.consumed("for ten")
		}),
		prove("nudge.exited", "Nudge of a session whose agent has exited is an error.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Hang: true, ExitAfter: time.Millisecond}, fireAndForget)
			s.AwaitEnd()
			if err := w.Provider.Nudge(s.Name, runtime.TextContent("hello")); err == nil {
				t.Errorf("Nudge of a dead session = nil, want an error")
			}
		}),
		prove("nudge.empty", "Nudge with empty content returns nil and sends nothing.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			for _, content := range [][]runtime.ContentBlock{nil, {}, runtime.TextContent("")} {
				expect(t, nil, w.Provider.Nudge(s.Name, content), "Nudge of nothing")
			}
			s.Nudge("something")
			s.consumed("something")
		}),
		prove("nudge.blocks", "Several text blocks are one prompt, joined by newlines.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			content := append(runtime.TextContent("first"), runtime.TextContent("second")...)
			expect(t, nil, w.Provider.Nudge(s.Name, content), "Nudge")
			s.consumed("first\nsecond")
		}),
		nudgeBytes("text", "Plain text of one and of several lines, in any script, arrives byte for byte.", true, plainTexts),
		nudgeBytes("odd", "Text that a terminal, a multiplexer or an agent could misread arrives byte for byte or is refused before its first byte; a text that would be a shell command may arrive with a space before it.", false, oddTexts),
		nudgeBytes("size", "Text of any size up to 1 MiB arrives byte for byte or is refused before its first byte.", false, longTexts),
		prove("nudge.control", "Control characters that could become key events are an error before the first byte, and the next prompt arrives without other text.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			for _, text := range []string{
				"\x1b", "a\x1b[201~b\rrm -rf /", "a\x00b", "a\x07b", "\x03", "\x04", "a\x7fb", "a\x08b", "\x1a", "\x1b[200~", "a\x1b",
			} {
				if err := w.Provider.Nudge(s.Name, runtime.TextContent(text)); err == nil {
					t.Errorf("Nudge(%q) = nil, want an error", text)
				}
			}
			s.Nudge("alone")
			s.consumed("alone")
		}),
		prove("nudge.order", "Prompts that are sent one after the other arrive in this order, each as a separate prompt.", func(_ T, w *World) {
			s := w.Start("a", Behaviour{})
			want := []string{"prompt 0", "prompt 1", "prompt 2", "prompt 3", "prompt 4"}
			for _, text := range want {
				s.Nudge(text)
			}
			s.consumed(want...)
		}),
		prove("nudge.concurrent", "Concurrent nudges of one session never interleave.", nudgeConcurrently),
		prove("nudge.now", "NudgeNow does not wait for an idle agent; for a missing session it returns ErrSessionNotFound.", func(t T, w *World) {
			expect(t, runtime.ErrSessionNotFound, runtime.NudgeNow(w.Provider, w.Name("none"), runtime.TextContent("x")), "NudgeNow")
			s, ended := w.Start("a", Behaviour{Turn: time.Hour}), make(chan error, 1)
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			go func() { ended <- runtime.NudgeNow(w.Provider, s.Name, runtime.TextContent("and this")) }()
			expect(t, nil, awaitResult(w, "NudgeNow of a busy agent", ended), "NudgeNow")
			expect(t, nil, w.Provider.Interrupt(s.Name), "Interrupt")
			s.AwaitPrompt("and this")
		}).needs(NeedImmediate),
	}, idleCases()...)
}

func plainTexts() []string {
	return []string{
		"x", "two words", "one\ntwo\n\nfour", "größer, λ, Привет", "日本語のテキスト", "👩‍👩‍👧‍👦 🇺🇳 👍🏽", "e\u0301 combining",
		strings.Repeat("y", 511), strings.Repeat("z", 512), strings.Repeat("w", 513), strings.Repeat("0123456789", 100),
	}
}

// oddTexts returns texts that a terminal, a multiplexer or an agent could misread.
func oddTexts() []string {
	return []string{
		";", "a;", "-x", "--", "-----BEGIN", "!ls", "/clear", "#note", "@file", "?", "\\", "a\\", "a\\\\", "$HOME `id` $(id)", "'", "\"", "%s %n", "{{.City}}",
		" leading", "trailing ", "\ttab", "line\n", "\nline", "a\r\nb", "a\rb", "C-c", "Enter", "\u2028", "\ufeffbom", "\u202eright to left",
		"\xff\xfe", "a\u009b201~b", "[201~", "~", "^C", "|", "&", "*",
	}
}

// longTexts returns texts whose sizes are near known buffer limits.
func longTexts() []string {
	var texts []string
	for _, size := range []int{1, 511, 512, 513, 1010, 1016, 4095, 4096, 4097, 9994, 9995, 16300, 16384, 16400, 64 << 10, 1 << 20} {
		texts = append(texts, filler(size))
	}
	return texts
}

// filler returns lines of text, size bytes in all. No two lines are equal.
func filler(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d of %d, word %x.%s", i, size, i*2654435761, []string{" ", " ", "\n"}[i%3])
	}
	text := strings.TrimRight(b.String()[:size-1], " \n")
	return text + strings.Repeat(".", size-len(text))
}

// nudgeBytes returns a case that sends each text. A refused text must not have reached the agent.
// If must is true, no text may be refused.
func nudgeBytes(id, sentence string, must bool, texts func() []string) Case {
	return prove("nudge."+id, sentence, func(t T, w *World) {
		s := w.Start("a", Behaviour{Turn: time.Millisecond})
		var arrived []string
		for _, text := range texts() {
			err := s.send(text)
			switch {
			case err == nil:
				arrived = append(arrived, text)
				s.AwaitPrompt(text)
			case must:
				t.Errorf("Nudge(%q) = %v, want nil", shorten(text), err)
			default:
				t.Logf("%d bytes %q are refused: %v", len(text), shorten(text), err)
			}
		}
		if len(arrived) == 0 {
			t.Errorf("every single text was refused")
		}
		s.Nudge("the end")
		s.consumed(append(arrived, "the end")...)
	})
}

// send sends a prompt. The agent of this suite changes no text. If the driver treats it as an agent
// CLI that would change the text, the driver must refuse it first, and send it on request.
func (s *Session) send(text string) error {
	content := runtime.TextContent(text)
	err := s.w.Provider.Nudge(s.Name, content)
	var refused *runtime.RefusedError
	if !errors.As(err, &refused) || refused.Reason != runtime.RefusedChanged {
		return err
	}
	out, err := runtime.Deliver(s.w.ctx, s.w.Provider, s.Name, runtime.Delivery{Content: content, AllowChanges: true})
	if err == nil && out.State != runtime.OutcomeSubmitted && out.State != runtime.OutcomeUnconfirmed {
		return fmt.Errorf("with changes allowed: %s (%s %s)", out.State, out.Reason, out.Detail)
	}
	return err
}

// consumed waits until the agent has consumed as many prompts as want has, and checks that they are
// exactly these in this order.
func (s *Session) consumed(want ...string) {
	s.w.t.Helper()
	got := s.Await(LedgerPrompt, len(want))
	if !slices.EqualFunc(got, want, Entry.Is) {
		s.w.t.Errorf("%s consumed %s, want %s", s.Name, describe(got), describe(asPrompts(want)))
	}
}

// asPrompts returns the ledger entries that the texts must produce.
func asPrompts(texts []string) []Entry {
	entries := make([]Entry, len(texts))
	for i, text := range texts {
		entries[i] = Entry{Kind: LedgerPrompt, Bytes: len(text), SHA256: digest(text), Text: text}
	}
	return entries
}

// describe returns the prompts in a short form for a failure message.
func describe(prompts []Entry) string {
	var parts []string
	for _, e := range prompts {
		parts = append(parts, fmt.Sprintf("%q (%d bytes, %.8s)", shorten(e.Text), e.Bytes, e.SHA256))
	}
	return fmt.Sprintf("%d prompts: %s", len(prompts), strings.Join(parts, ", "))
}

// nudgeConcurrently sends twelve prompts at the same time and checks that each is consumed once and
// unchanged.
func nudgeConcurrently(t T, w *World) {
	s := w.Start("a", Behaviour{Turn: time.Millisecond})
	var want []string
	var wait sync.WaitGroup
	for i := range 12 {
		text := fmt.Sprintf("<%d %s %d>", i, strings.Repeat(string(rune('a'+i)), 1<<(i%11)), i)
		want = append(want, text)
		wait.Go(func() { expect(t, nil, w.Provider.Nudge(s.Name, runtime.TextContent(text)), "Nudge") })
	}
	wait.Wait()
	got := s.Await(LedgerPrompt, len(want))
	for _, text := range want {
		if n := len(slices.DeleteFunc(slices.Clone(got), func(e Entry) bool { return !e.Is(text) })); n != 1 {
			t.Errorf("%s was consumed %d times, want once; the agent got %s", shorten(text), n, describe(got))
		}
	}
}

// idleCases returns the cases about WaitForIdle.
func idleCases() []Case {
	return []Case{
		prove("idle.ready", "WaitForIdle returns nil when the agent waits for input, also after a turn.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Turn: 200 * time.Millisecond})
			expect(t, nil, runtime.WaitForIdle(w.ctx, w.Provider, s.Name, w.patience), "WaitForIdle before a turn")
			s.Nudge("a task")
			s.AwaitPrompt("a task")
			expect(t, nil, runtime.WaitForIdle(w.ctx, w.Provider, s.Name, w.patience), "WaitForIdle after a turn")
		}).needs(NeedIdle),
		prove("idle.busy", "If the agent stays busy, WaitForIdle returns at its timeout, with an error that matches context.DeadlineExceeded.", func(t T, w *World) {
			s, ended := w.Start("a", Behaviour{Turn: time.Hour}), make(chan error, 1)
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			go func() { ended <- runtime.WaitForIdle(w.ctx, w.Provider, s.Name, 300*time.Millisecond) }()
			expect(t, context.DeadlineExceeded, awaitResult(w, "the timeout of WaitForIdle", ended), "WaitForIdle of a busy agent")
		}).needs(NeedIdle),
		prove("idle.missing", "WaitForIdle of a missing session returns ErrSessionNotFound.", func(t T, w *World) {
			expect(t, runtime.ErrSessionNotFound, runtime.WaitForIdle(w.ctx, w.Provider, w.Name("none"), w.patience), "WaitForIdle")
		}).needs(NeedIdle),
	}
}

// keyCases returns the cases about SendKeys.
func keyCases() []Case {
	return append([]Case{
		prove("keys.missing", "SendKeys to a missing session returns nil and reaches no other session.", func(t T, w *World) {
			other := w.Start("worker-10", Behaviour{})
			expect(t, nil, w.Provider.SendKeys(w.Name("worker-1"), "x", "Enter"), "SendKeys")
			other.Nudge("for ten")
			other.consumed("for ten")
		}),
		prove("keys.text", "SendKeys sends key events and adds no Enter.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			expect(t, nil, w.Provider.SendKeys(s.Name, "h", "i", "j", "BSpace"), "SendKeys")
			expect(t, nil, w.Provider.SendKeys(s.Name, "!", "Enter"), "SendKeys")
			s.consumed("hi!")
		}).needs(NeedTerminal),
		prove("keys.unknown", "An unknown key name is an error and nothing is sent.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			if err := w.Provider.SendKeys(s.Name, "x", "NoSuchKey"); err == nil {
				t.Errorf("SendKeys of an unknown key = nil, want an error")
			}
			expect(t, nil, w.Provider.SendKeys(s.Name, "y", "Enter"), "SendKeys")
			s.consumed("y")
		}).needs(NeedTerminal),
		prove("keys.interrupt", "SendKeys of C-c interrupts a turn.", func(t T, w *World) {
			s := w.Start("a", Behaviour{Turn: time.Hour})
			s.Nudge("a long task")
			s.AwaitPrompt("a long task")
			expect(t, nil, w.Provider.SendKeys(s.Name, "C-c"), "SendKeys")
			s.Await(LedgerInterrupted, 1)
		}).needs(NeedTerminal),
	}, slices.Concat(clearInputCases(), hintCases())...)
}

// clearInputCases returns the cases about ClearInput.
func clearInputCases() []Case {
	return []Case{
		prove("clearinput.draft", "ClearInput removes a draft from the input box, returns nil for an empty input box, and the next prompt arrives without other text.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			expect(t, nil, runtime.ClearInput(w.ctx, w.Provider, s.Name, ""), "ClearInput of an empty box")
			expect(t, nil, w.Provider.SendKeys(s.Name, "d", "r", "a", "f", "t"), "SendKeys")
			expect(t, nil, runtime.ClearInput(w.ctx, w.Provider, s.Name, ""), "ClearInput")
			s.Nudge("alone")
			s.consumed("alone")
		}).needs(NeedTerminal, NeedClearInput),
		prove("clearinput.stale", "ClearInput of another instance returns ErrStaleInstance, of a missing session ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			expect(t, runtime.ErrStaleInstance, runtime.ClearInput(w.ctx, w.Provider, s.Name, "another"), "ClearInput of another instance")
			expect(t, runtime.ErrSessionNotFound, runtime.ClearInput(w.ctx, w.Provider, w.Name("none"), ""), "ClearInput of a missing session")
		}).needs(NeedClearInput),
	}
}

// hintCases returns the cases about SetHints.
func hintCases() []Case {
	return []Case{
		prove("hints.running", "SetHints of a running session restarts nothing and sends nothing: process and instance of the agent stay the same, it is alive whatever the process names are, and it gets the next prompt without other text.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			before := s.Observe()
			for _, names := range [][]string{{s.Agent.Process}, {s.Agent.Process}, {"no-such-agent"}, nil} {
				expect(t, nil, runtime.SetHints(w.ctx, w.Provider, s.Name, before.InstanceToken, runtime.Hints{ProcessNames: names}), "SetHints")
			}
			after := s.Observe()
			if after.Agent != runtime.Alive || after.PID != before.PID || after.InstanceToken != before.InstanceToken {
				t.Errorf("the agent is %s in process %d, the same instance: %v; want alive in %d", after.Agent, after.PID, after.InstanceToken == before.InstanceToken, before.PID)
			}
			s.Nudge("alone")
			s.consumed("alone")
		}).needs(NeedHints, NeedObserve),
		prove("hints.stale", "SetHints of another instance returns ErrStaleInstance, of a missing session ErrSessionNotFound.", func(t T, w *World) {
			s := w.Start("a", Behaviour{})
			expect(t, runtime.ErrStaleInstance, runtime.SetHints(w.ctx, w.Provider, s.Name, "another", runtime.Hints{}), "SetHints of another instance")
			expect(t, runtime.ErrSessionNotFound, runtime.SetHints(w.ctx, w.Provider, w.Name("none"), "", runtime.Hints{}), "SetHints of a missing session")
		}).needs(NeedHints),
	}
}
