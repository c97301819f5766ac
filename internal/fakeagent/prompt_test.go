package fakeagent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/ledgertest"
)

// noise makes n bytes of every kind but an end of paste.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(uint64(n), 7))
	pieces := []string{"word ", "\n", "\r", "\r\n", "\x00", "\x1b[A", "\x1b", "ä", "世界", "👩‍🚀", "\t", "\x03", "[[", ";", "\\", "\x1b[200~", "\x7f"}
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(pieces[rng.IntN(len(pieces))])
	}
	return b.String()[:n]
}

func TestPastesArriveByteForByte(t *testing.T) {
	for _, size := range []int{1, 800, 801, 4096, 4097, 64 << 10, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			s := play(t).ready()
			want := noise(size)
			s.paste(want)
			s.send(enter)
			got := s.wait(ledger.Prompt, 1)
			if !got.Is(want) || got.Source != "composer" {
				t.Errorf("ledger has %d bytes %s from %q, sent %d bytes %s", got.Bytes, got.SHA256, got.Source, size, ledger.Sum(want))
			}
			s.wait(ledger.Answered, 1)
			s.painted(fmt.Sprintf("● You said (%d bytes, sha256 %.8s): ", size, ledger.Sum(want)))
		})
	}
}

func TestTypedTextArrivesByteForByte(t *testing.T) {
	t.Parallel()
	s := play(t, "--no-bracketed-paste").ready()
	want := strings.Repeat("Grüße, 世界 \t 👩‍🚀 and more; ", 2000)
	s.send(want + enter)
	if got := s.wait(ledger.Prompt, 1); !got.Is(want) {
		t.Errorf("ledger has %d bytes, typed %d", got.Bytes, len(want))
	}
	if strings.Contains(s.output(), "\x1b[?2004h") {
		t.Error("bracketed paste was asked for")
	}
}

func TestInputBoxKeys(t *testing.T) {
	long := strings.Repeat("x", 900)
	for name, c := range map[string]struct{ keys, want string }{
		"text":                 {"hello", "hello"},
		"backspace":            {"ab\x7fc", "ac"},
		"backspace of a rune":  {"a世\x7fb", "ab"},
		"clear":                {"lost\x15kept", "kept"},
		"word":                 {"one two  \x17three", "one three"},
		"left and right":       {"ac\x1b[Db\x1b[Cd", "abcd"},
		"home and end":         {"b\x1b[Ha\x1b[Fc", "abc"},
		"application arrows":   {"ac\x1bODb", "abc"},
		"delete":               {"abc\x01\x1b[3~", "bc"},
		"line feed":            {"a\nb", "a\nb"},
		"alt enter":            {"a\x1b\rb", "a\nb"},
		"unknown keys":         {"a\x1b[15~\x1b[1;5Pb\x0e", "ab"},
		"short paste":          {pasteStart + "a\nb\x1b[Ac\x15" + pasteEnd, "a\nb\x1b[Ac\x15"},
		"paste in the middle":  {"ad\x1b[D" + pasteStart + "bc" + pasteEnd, "abcd"},
		"placeholder is one":   {"a" + pasteStart + long + pasteEnd + "b\x7f\x7fc", "ac"},
		"placeholder is moved": {pasteStart + long + pasteEnd + "\x1b[Da\x1b[Cb", "a" + long + "b"},
		"terminal answers":     {"a\x1b[?62;22c\x1b[12;1R\x1b]11;rgb:0/0/0\x1b\\b", "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t).ready()
			s.send(c.keys + enter)
			if got := s.wait(ledger.Prompt, 1); got.Text != c.want {
				t.Errorf("submitted %q, want %q", got.Text, c.want)
			}
		})
	}
}

func TestPlaceholderShowsForLargePastes(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.paste("1\n2\n3")
	s.painted("❯ 1", "  2", "  3")
	s.paste("1\n2\n3\n4")
	s.paste(strings.Repeat("y", 801))
	s.painted("[Pasted text #1 +3 lines]", "[Pasted text #2 +0 lines]")
}

func TestEmptyInputBoxIsNotSubmitted(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send(enter + enter + "x\x7f" + enter + "y" + enter)
	records := s.until("the prompt", ledgertest.Has(ledger.Answered, 1))
	if prompts := ledger.Prompts(records); len(prompts) != 1 || prompts[0].Text != "y" {
		t.Errorf("prompts: %+v", prompts)
	}
}

func TestPromptIsOnTheDiskBeforeTheAnswerIsPainted(t *testing.T) {
	t.Parallel()
	s := play(t, "--think", "0").ready()
	for i := range 20 {
		s.send(fmt.Sprintf("prompt %d", i) + enter)
		s.painted(fmt.Sprintf("): prompt %d", i))
		records, err := ledger.Read(s.ledger)
		if err != nil || len(ledger.Prompts(records)) != i+1 {
			t.Fatalf("answer %d is painted and the ledger has %d prompts (%v)", i, len(ledger.Prompts(records)), err)
		}
	}
}

func TestPromptsWhileBusyAreQueued(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("[[busy:300ms]]first" + enter + "second" + enter + "third" + enter)
	s.painted("queued: second", "✽ Simmering… (esc to interrupt)")
	records := s.until("three turns", ledgertest.Has(ledger.Answered, 3))
	var kinds []string
	for _, r := range records[2:] {
		kinds = append(kinds, r.Kind+" "+r.Text)
	}
	want := "prompt [[busy:300ms]]first,queued second,queued third,answered ,prompt second,answered ,prompt third,answered "
	if got := strings.Join(kinds, ","); got != want {
		t.Errorf("order\n got %s\nwant %s", got, want)
	}
}

func TestInterrupt(t *testing.T) {
	for name, key := range map[string]string{"ctrl-c": "\x03", "escape": "\x1b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, "--osc7501").ready()
			s.send("[[forever]]" + enter)
			s.wait(ledger.Prompt, 1)
			s.painted("◐ fakeagent")
			s.send(key)
			if got := s.wait(ledger.Interrupted, 1); got.Text != "[[forever]]" {
				t.Errorf("interrupted %q", got.Text)
			}
			s.send("next" + enter)
			if got := s.wait(ledger.Prompt, 2); got.Text != "next" {
				t.Errorf("next prompt is %q", got.Text)
			}
		})
	}
}

func TestCtrlCTwiceExits(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("draft\x03")
	s.painted("Press Ctrl-C again to exit")
	s.send("\x03")
	if code := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := s.wait(ledger.Exit, 1); got.Bytes != 0 || got.Reason != "ctrl-c twice" {
		t.Errorf("exit record %+v", got)
	}
}

func TestCtrlCOnceDoesNot(t *testing.T) {
	t.Parallel()
	s := play(t).ready()
	s.send("\x03a\x03b" + enter)
	if got := s.wait(ledger.Prompt, 1); got.Text != "b" {
		t.Errorf("prompt is %q", got.Text)
	}
}

func TestEnterModes(t *testing.T) {
	t.Run("first is swallowed", func(t *testing.T) {
		t.Parallel()
		s := play(t, "--ignore-first-enter").ready()
		s.send("a" + enter)
		quiet()
		s.send("b" + enter)
		if got := s.wait(ledger.Prompt, 1); got.Text != "ab" {
			t.Errorf("prompt is %q", got.Text)
		}
	})
	t.Run("soon after text is a newline", func(t *testing.T) {
		t.Parallel()
		s := play(t, "--newline-within", "400ms").ready()
		s.send("a" + enter + "b")
		<-time.After(500 * time.Millisecond)
		s.send(enter)
		if got := s.wait(ledger.Prompt, 1); got.Text != "a\nb" {
			t.Errorf("prompt is %q", got.Text)
		}
	})
}

func TestInputBeforeReady(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"waits":   {nil, "early"},
		"is lost": {[]string{"--ignore-input-until-ready"}, "late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, append(c.args, "--slow-start", "400ms")...)
			s.wait(ledger.Start, 1)
			s.painted("Welcome to fakeagent")
			s.send("early" + enter)
			s.ready()
			s.send("late" + enter)
			if got := s.wait(ledger.Prompt, 1); got.Text != c.want {
				t.Errorf("first prompt is %q, want %q", got.Text, c.want)
			}
		})
	}
}

func TestDraftAndArguments(t *testing.T) {
	t.Parallel()
	s := play(t, "--draft", "half a tho", "--ready-prefix", "› ", "do", "this first").ready()
	if got := s.wait(ledger.Prompt, 1); got.Text != "do this first" || got.Source != "argv" {
		t.Errorf("first prompt is %+v", got)
	}
	s.painted("› half a tho")
	s.send("ught" + enter)
	if got := s.wait(ledger.Prompt, 2); got.Text != "half a thought" {
		t.Errorf("second prompt is %q", got.Text)
	}
	s.send("left over")
	s.painted("left over")
	s.signal(15)
	if got := s.wait(ledger.Exit, 1); got.Text != "left over" {
		t.Errorf("exit record %+v", got)
	}
}
