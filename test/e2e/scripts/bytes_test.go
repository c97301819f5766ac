package scripts_test

import (
	"fmt"
	osexec "os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gascity/internal/fakeagent/ledger"
)

// Prompts of any size arrive unchanged, by the checksums of the agent.
func TestSizes(t *testing.T) {
	forEachScript(t, func(_ *testing.T, s *script) {
		var texts []string
		for _, size := range []int{1, 511, 512, 513, 4095, 4096, 4097, 64 << 10, 1 << 20} {
			texts = append(texts, filler(size))
		}
		s.start("a", "--think 1ms", nil).prompts(texts...)
	})
}

// filler has lines with other than ASCII characters, and that many bytes.
func filler(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d größe ☃ 'q' %x\n", i, i*2654435761)
	}
	return strings.ToValidUTF8(b.String()[:size-1], "") + strings.Repeat("!", size-len(strings.ToValidUTF8(b.String()[:size-1], "")))
}

// Control characters are refused, and nothing arrives.
func TestControlCharacters(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "", nil)
		for _, text := range []string{"a\x1b[201~b", "\x03", "a\x00b", "a\x7fb", "a\rb", "a\u009b201~b"} {
			if r := s.call(text, "nudge", "a"); r.code == 0 || !strings.Contains(r.stdout, `"state":"refused"`) || !strings.Contains(r.stderr, "gc-error: refused content") {
				t.Errorf("nudge of %q exits %d and prints %q, want it refused", text, r.code, r.stdout)
			}
		}
		a.prompts("alone")
	})
}

// Concurrent prompts never interleave, and none is lost.
func TestTwoAtOnce(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "--think 1ms", nil)
		var wait sync.WaitGroup
		texts := []string{strings.Repeat("a", 3000), strings.Repeat("b", 5000), "c", "d\ne"}
		for _, text := range texts {
			wait.Go(func() { s.do(text, "nudge", "a") })
		}
		wait.Wait()
		got := a.await(ledger.Prompt, len(texts))
		for _, text := range texts {
			n := 0
			for _, r := range got {
				if r.Is(text) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("the prompt of %d bytes was consumed %d times, want once", len(text), n)
			}
		}
	})
}

// Of several starts of one name one succeeds.
func TestStartsAtOnce(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		codes := map[int]int{}
		for range 5 {
			wait.Go(func() {
				r := s.call(`{"command": "exec sleep 300"}`, "start", "a")
				mu.Lock()
				defer mu.Unlock()
				if codes[r.code]++; r.code != 0 && !strings.Contains(r.stderr, "gc-error: session-exists") {
					t.Errorf("a start that lost says %q", r.stderr)
				}
			})
		}
		wait.Wait()
		if codes[0] != 1 || codes[1] != 4 {
			t.Errorf("the starts exit %v, want one 0 and four 1", codes)
		}
	})
}

// An agent that loses its first Enter gets a second one, and the text once.
func TestLostEnter(t *testing.T) {
	forEachScript(t, func(_ *testing.T, s *script) {
		s.start("a", "--ignore-first-enter", nil).prompts("only once", "and then this")
	})
}

// A text whose sender was killed during the write is not typed, and such a metadata value is not saved.
func TestCutInput(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "", nil)
		a.await(ledger.Ready, 1)
		whole := *s
		s.env = append(slices.Clone(s.env), "GC_EXEC_STDIN_BYTES=9")
		if r := s.call("only a p", "nudge", "a"); r.code == 0 || !strings.Contains(r.stdout, `"state":"refused"`) {
			t.Errorf("nudge of a part exits %d and prints %q, want it refused", r.code, r.stdout)
		}
		if r := s.call("only a p", "set-meta", "a", "key"); r.code != 1 {
			t.Errorf("set-meta of a part exits %d, want 1", r.code)
		}
		s.wantOutput("", "", "get-meta", "a", "key")
		s.do("the value", "set-meta", "a", "key")
		s.wantOutput("the value\n", "", "get-meta", "a", "key")
		if r := s.call("", "start", "b"); r.code != 1 {
			t.Errorf("start without its document exits %d, want 1", r.code)
		}
		s.wantOutput("false\n", "", "is-running", "b")
		s.env = whole.env
		a.prompts("this only")
	})
}

// A menu that a prompt opens is not answered by a second Enter, although the prompt is still shown above it.
func TestNoEnterIntoMenu(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "", nil)
		const prompt = "[[askfor:12s|Delete all?|Yes|No]]"
		s.do(prompt, "nudge", "a")
		if got := a.await(ledger.Choice, 1); got[0].Choice != "(gone)" {
			t.Errorf("the menu was answered with %q", got[0].Choice)
		}
	})
}

// An agent without bracketed paste gets none. A prompt to an agent that shows nothing is not reported as
// accepted.
func TestNoEvidence(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "--no-bracketed-paste", func(d document) { delete(d, "ready_prompt_prefix") })
		a.await(ledger.Ready, 1)
		if out := s.do("one line", "nudge", "a"); !strings.Contains(out, `"state":"unconfirmed"`) {
			t.Errorf("nudge prints %q, want unconfirmed", out)
		}
		if got := a.await(ledger.Prompt, 1); !got[0].Is("one line") {
			t.Errorf("the agent consumed %q", got[0].Text)
		}
	})
}

// While a dialog is on the screen nothing is typed.
func TestDialog(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "--dialog trust-no-first", nil)
		a.await(ledger.DialogShown, 1)
		if r := s.call("text", "nudge", "a"); r.code == 0 || !strings.Contains(r.stdout, `"reason":"not_ready"`) {
			t.Errorf("nudge exits %d and prints %q, want it refused", r.code, r.stdout)
		}
		s.wantOutput("true\n", "", "is-running", "a")
	})
}

// A nudge whose caller is killed is one prompt or none. The next prompt is not joined to its text.
func TestCallerDies(t *testing.T) {
	forEachScript(t, func(t *testing.T, s *script) {
		a := s.start("a", "", nil)
		a.await(ledger.Ready, 1)
		var sent []string
		for i := range 3 {
			first, next := fmt.Sprintf("the first of %d", i), fmt.Sprintf("the second of %d", i)
			sent = append(sent, first, next)
			nudge := osexec.Command(s.path, "nudge", "a")
			nudge.Stdin, nudge.Env, nudge.Dir = strings.NewReader(first), s.env, s.dir
			if err := nudge.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "the text is there", func() bool { return strings.Contains(s.do("", "peek", "a", "0"), first) })
			_ = nudge.Process.Signal(syscall.SIGTERM) // it may be over
			until(t, "the next is typed", func() bool { return s.call(next, "nudge", "a").code == 0 })
			_ = nudge.Wait() // by a signal, or not
			until(t, "the next is taken", func() bool {
				records := must(ledger.Read(a.ledger))
				return slices.ContainsFunc(ledger.Prompts(records), func(r ledger.Record) bool { return strings.Contains(r.Text, next) })
			})
		}
		for _, r := range ledger.Prompts(must(ledger.Read(a.ledger))) {
			if !slices.Contains(sent, r.Text) {
				t.Errorf("the agent took %q, which was never sent", r.Text)
			}
		}
	})
}
