package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gascity/client"
	"gascity/test/agents/bed"
	"gascity/test/agents/mockmodel"
)

// oddTexts returns the texts of the probe. Each has its own mark, "Q" and a number, by which it
// is found in the log of the model.
func oddTexts() []oddText {
	lines := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "line %d of a longer prompt with \"quotes\", $HOME and `ticks`\n", i)
		}
		return out.String()
	}
	texts := []oddText{
		{"plain words", "MARK plain words"},
		{"two lines", "MARK one\ntwo"},
		{"quotes, dollar, backticks, tags", "MARK 'a' \"b\" $HOME $(id) `id` <b>c</b> %s {{x}}"},
		{"Chinese, Japanese, Korean", "MARK 漢字 かな 한글"},
		{"Hebrew and Arabic", "MARK שלום مرحبا"},
		{"composed letters", "MARK é ü ñ"},
		{"decomposed letter (U+0065 U+0301)", "MARK e\u0301 end"},
		{"decomposed Hangul", "MARK \u1112\u1161\u11ab end"},
		{"Angstrom and Ohm sign (U+212B U+2126)", "MARK \u212b \u2126 end"},
		{"ligature and full width (U+FB01 U+FF21)", "MARK \ufb01 \uff21 end"},
		{"marks in another order (U+0061 U+0301 U+0323)", "MARK a\u0301\u0323 end"},
		{"soft hyphen (U+00AD)", "MARK soft\u00adhyphen"},
		{"combining grapheme joiner (U+034F)", "MARK a\u034fb"},
		{"Arabic letter mark (U+061C)", "MARK a\u061cb"},
		{"Mongolian vowel separator (U+180E)", "MARK a\u180eb"},
		{"zero width space (U+200B)", "MARK a\u200bb"},
		{"zero width non-joiner (U+200C)", "MARK می\u200cخواهم"},
		{"zero width joiner (U+200D)", "MARK क्\u200dष"},
		{"joiners between Latin letters (U+200C U+200D)", "MARK a\u200cb a\u200db"},
		{"other variation selectors", "MARK a\ufe0f \u2268\ufe00 1\ufe0f"},
		{"joiners between other letters", "MARK 漢\u200c字 é\u200dè"},
		{"emoji joined by U+200D", "MARK 👩\u200d💻 end"},
		{"left-to-right mark (U+200E)", "MARK a\u200eb"},
		{"right-to-left mark (U+200F)", "MARK a\u200fb"},
		{"embedding (U+202A U+202C)", "MARK \u202aab\u202c"},
		{"override (U+202E U+202C)", "MARK \u202eRTL\u202c"},
		{"word joiner (U+2060)", "MARK a\u2060b"},
		{"invisible times (U+2062)", "MARK a\u2062b"},
		{"isolate (U+2066 U+2069)", "MARK \u2066ab\u2069"},
		{"Hangul filler (U+3164)", "MARK a\u3164b"},
		{"emoji variation selector (U+FE0F)", "MARK ❤\ufe0f end"},
		{"byte order mark (U+FEFF)", "MARK a\ufeffb"},
		{"interlinear annotation (U+FFF9)", "MARK a\ufff9b"},
		{"replacement character (U+FFFD)", "MARK a\ufffdb"},
		{"private use (U+E000)", "MARK a\ue000b"},
		{"flag of England (tag characters)", "MARK 🏴\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F end"},
		{"line separator (U+2028)", "MARK a\u2028b"},
		{"paragraph separator (U+2029)", "MARK a\u2029b"},
		{"no-break and ideographic space (U+00A0 U+3000)", "MARK a\u00a0b\u3000c"},
		{"CR LF", "MARK one\r\ntwo"},
		{"CR alone", "MARK one\rtwo"},
		{"tab inside", "MARK a\tb"},
		{"tab at the beginning", "\tMARK a"},
		{"blanks at the beginning", "   MARK a"},
		{"line feed at the beginning", "\nMARK a"},
		{"blanks at the end", "MARK a   "},
		{"one line feed at the end", "MARK a\n"},
		{"three line feeds at the end", "MARK a\n\n\n"},
		{"blank lines and blanks inside", "MARK a  \n\n\n   b"},
		{"! at the beginning", "!MARK echo a"},
		{"! and a blank at the beginning", "! MARK echo a"},
		{"# at the beginning", "# MARK heading"},
		{"@ at the beginning", "@MARK look"},
		{"? at the beginning", "? MARK a"},
		{"& and $ at the beginning", "&$ MARK a"},
		{"- at the beginning", "- MARK item"},
		{`\ at the end`, `MARK a\`},
		{`two \ at the end`, `MARK a\\`},
		{`\ at the end of an inner line`, "MARK a\\\nb"},
		{"@ at the end", "MARK look at @"},
		{"@ and a name at the end", "MARK look at @note"},
		{"/ and # at the end", "MARK a / #"},
		{"800 bytes in one line", "MARK " + strings.Repeat("word ", 160) + "end"},
		{"tag characters without a flag (U+E0041)", "MARK a\U000E0041b"},
		{"a name of a file behind @ inside", "MARK see @note.txt please"},
		{"1 KB in 16 lines", "MARK\n" + lines(16) + "end"},
		{"10 KB", "MARK\n" + lines(160) + "end"},
		{"100 KB", "MARK\n" + lines(1600) + "end"},
	}
	texts = append(texts, moreOddTexts()...)
	for i := range texts {
		texts[i].text = strings.ReplaceAll(texts[i].text, "MARK", mark(i))
	}
	return texts
}

// moreOddTexts are texts that look like something else to a terminal, to an input box or to gc,
// and texts of a few characters. A text without MARK is found as the next prompt of the model.
func moreOddTexts() []oddText {
	return []oddText{
		{"right to left with digits and brackets", "MARK مرحبا 123 (שלום) abc؟"},
		{"emoji: family, skin, key cap, flags", "MARK 👨\u200d👩\u200d👧\u200d👦 👍🏽 1\ufe0f\u20e3 🇩🇪 🏳\ufe0f\u200d🌈 end"},
		{"Devanagari, Thai, Tamil, Tibetan", "MARK नमस्ते สวัสดี தமிழ் བོད"},
		{"thirty marks on one letter", "MARK a" + strings.Repeat("\u0316\u0300", 15) + " end"},
		{"ideographic variation (U+E0100)", "MARK 葛\U000E0100 end"},
		{"noncharacters (U+FFFE U+FFFF U+10FFFF)", "MARK a\ufffeb\uffffc\U0010ffffd"},
		{"control pictures (U+2400 U+241B U+2421)", "MARK ␀ ␛[31m ␡ end"},
		{"color codes as text", `MARK \x1b[31mred\x1b[0m \e[1m \033[0m`},
		{"control characters as text", "MARK ^C ^D ^[ ^M <Esc> <C-u>"},
		{"escape sequence of a color", "MARK \x1b[31mred\x1b[0m"},
		{"end of a bracketed paste", "MARK \x1b[201~a"},
		{"next line and C1 (U+0085 U+009B)", "MARK a\u0085b\u009b31mc"},
		{"vertical tab and form feed", "MARK a\vb\fc"},
		{"delete and bell", "MARK a\x7fb\ac"},
		{"here-document", "MARK cat <<'EOF'\n$HOME `id` \\\nEOF"},
		{"one word of 3,000 letters", "MARK" + strings.Repeat("x", 3000)},
		{"one word of 800 wide letters", "MARK" + strings.Repeat("漢", 800)},
		{"tabs between words", "MARK\t\ta\tb"},
		{"tabs at the beginning of lines", "MARK all:\n\tgo build\n\t\tgo vet"},
		{"tabs at the end", "MARK a\t\t"},
		{"CR LF, LF and CR mixed", "MARK a\r\nb\nc\rd\n\re"},
		{"200 line feeds inside", "MARK a" + strings.Repeat("\n", 200) + "b"},
		{"@ and a path at the beginning", "@/etc/hosts MARK"},
		{"@ and a path inside", "MARK see @/etc/hosts please"},
		{"!! at the beginning", "!! MARK"},
		{"#! at the beginning", "#!/bin/sh\necho MARK"},
		{"// at the beginning", "// MARK a comment"},
		{"/ and a blank at the beginning", "/ MARK a"},
		{"/ and a path at the beginning", "/etc/hosts MARK a"},
		{"/ and no command", "/nope MARK"},
		{"U+200B and ! at the beginning", "\u200b!MARK echo a"},
		{"U+FEFF and / at the beginning", "\ufeff/nope MARK"},
		{"U+200B and / at the beginning", "\u200b/nope MARK"},
		{"JSON with backslashes", `MARK {"a":"C:\\dir\n\u0041","b":"\"q\"","c":[1,2,{}]}`},
		{"a fence of Markdown", "MARK\n```go\nfunc main() {}\n```"},
		{"an address", "https://localhost/MARK?a=b&c=%20#d"},
		{"what stands for a paste", "MARK [Pasted text #1 +9 lines] [Pasted Content 1024 chars] [Pasted Text: 9 lines] [Pasted ~9 lines] [paste #1 +9 lines]"},
		{"only what stands for a paste", "[Pasted text #1 +9 lines]"},
		{"words of an empty box: claude", `Try "MARK" again`},
		{"words of an empty box: codex", "Ask Codex to do anything MARK"},
		{"words of an empty box: gemini", "Type your message or @path MARK"},
		{"words of an empty box: opencode", "Ask anything... MARK"},
		{"words of a turn", "MARK esc to interrupt (esc to cancel, 5s) retrying in 5s"},
		{"words of a limit", "MARK\nYou've hit your limit · resets 3pm"},
		{"words of an error", "MARK\n● API Error: 529\n■ stream error\n✕ quota exceeded"},
		{"a dialog", "MARK Do you want to proceed?\n❯ 1. Yes\n  2. No\n\nEsc to cancel · Tab to amend"},
		{"another dialog", "MARK Would you like to run the following command?\n\n$ ls\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\nPress enter to confirm or esc to cancel"},
		{"an input box", "MARK\n" + strings.Repeat("─", 40) + "\n❯ draft\n" + strings.Repeat("─", 40)},
		{"❯ at the beginning", "❯ MARK a"},
		{"> at the beginning", "> MARK a"},
		{"› at the beginning", "› MARK a"},
		{"* at the beginning", "* MARK a"},
		{"only a number", "1"},
		{"only y", "y"},
		{"only q", "q"},
		{"only n and a line feed", "n\n"},
		{"only ?", "?"},
		{"only &", "&"},
		{"only !", "!"},
		{"only !!", "!!"},
		{"only #", "#"},
		{"only @", "@"},
		{"only $", "$"},
		{"only :", ":"},
		{"only ~", "~"},
		{"only .", "."},
		{`only \`, `\`},
		{"only a quote", `"`},
		{"only a backtick", "`"},
		{"only //", "//"},
		{"only /", "/"},
		{"only the name of a file", "note.txt"},
		{"only the name of a file in quotes", "'note.txt'"},
		{"only @ and the name of a file", "@note.txt"},
		{"only help", "help"},
		{"only clear", "clear"},
		{"only exit", "exit"},
		{"only quit", "quit"},
		{"only :q", ":q"},
		{"only :wq", ":wq"},
	}
}

func mark(i int) string { return fmt.Sprintf("Q%03dq", i) }

type oddText struct{ name, text string }

// probed is the result for one text.
type probed struct {
	Name    string `json:"name"`
	Sent    string `json:"sent,omitempty"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Arrived string `json:"arrived"` // exact, changed, by file, refused, never
	Got     string `json:"got,omitempty"`
	// Said is what the receipt says of changes.
	Said []string `json:"said,omitempty"`
	// Silent: the text was changed and the receipt does not say so.
	Silent bool `json:"silent,omitempty"`
	// Next is what went wrong with an ordinary prompt right behind it; it is sent behind each text
	// that the model did not get as it is.
	Next string `json:"next,omitempty"`
}

// defect returns what contradicts "exact, or by file, or refused with a reason, or listed as changed".
func (p probed) defect() string {
	switch {
	case strings.HasPrefix(p.State, "blocked"):
		return "blocked"
	case p.Next != "":
		return "the next prompt: " + p.Next
	case p.Silent:
		return "changed, and the receipt does not say so"
	case p.Arrived == "never" && p.Reason == "", p.Arrived == "refused" && p.Reason == "":
		return "not with the model, and no reason is given"
	case p.Arrived == "never" && p.State != client.ReceiptSubmitted, p.Arrived == "more than once":
		return p.Arrived + " with the model"
	}
	return ""
}

// probeTime bounds one text.
const probeTime = 40 * time.Second

// TestProbe sends about 140 odd texts, or those with names that $GC_PROBE_ONLY (a regular
// expression) matches, to a real agent CLI and prints what the model got of each. It fails for a
// text that was changed in silence, that did not arrive and has no reason, or behind which the agent
// takes no prompt. It runs for the agent CLI in $GC_PROBE; $GC_PROBE_PART ("1/3") takes a part of the
// texts, $GC_PROBE_FILE gets the result as JSON. See "make probe".
func TestProbe(t *testing.T) {
	name := os.Getenv("GC_PROBE")
	if name == "" {
		t.Skip("set GC_PROBE to the name of an agent CLI")
	}
	only, err := regexp.Compile(os.Getenv("GC_PROBE_ONLY"))
	if err != nil {
		t.Fatal(err)
	}
	part, parts := 0, 1
	if text := os.Getenv("GC_PROBE_PART"); text != "" {
		if n, err := fmt.Sscanf(text, "%d/%d", &part, &parts); n != 2 || part < 1 || part > parts {
			t.Fatalf("GC_PROBE_PART is %q (%v), not one like 1/3", text, err)
		}
		part--
	}
	c := bed.Open(t, "pty", bed.Member{Name: "one", CLI: name, Bare: true, TOML: os.Getenv("GC_PROBE_TOML"), Files: map[string]string{filepath.Join("one", "work", "note.txt"): "x\n"}})
	a := of(t, c, "one")
	a.ready()
	a.prompt("the first prompt, until the agent CLI works at its speed", client.ReceiptConsumed)
	var all []probed
	for i, odd := range oddTexts() {
		if !only.MatchString(odd.name) || i%parts != part {
			continue
		}
		p := a.probe(odd, mark(i))
		if p.Arrived != "exact" && p.Arrived != "by file" {
			p.Next = a.probeNext(mark(i) + " next")
		}
		all = append(all, p)
		t.Logf("%-50s %-12s %-8s %s %s %q", p.Name, p.State, p.Arrived, p.Got, p.Reason, p.Said)
		if defect := p.defect(); defect != "" {
			t.Errorf("%s: %s", p.Name, defect)
		}
	}
	count := map[string]int{}
	for _, p := range all {
		count[p.Arrived]++
		if p.defect() != "" {
			count["defects"]++
		}
	}
	t.Logf("%s %s: %d texts: %v", a.found.Name, a.found.Version, len(all), count)
	if path := os.Getenv("GC_PROBE_FILE"); path != "" {
		raw, err := json.MarshalIndent(map[string]any{"cli": a.found.Name, "version": a.found.Version, "texts": all}, "", "  ")
		if err == nil {
			err = os.WriteFile(path, append(raw, '\n'), 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// probeNext sends an ordinary prompt, and returns what is wrong with it.
func (a *agent) probeNext(text string) string {
	p := a.probe(oddText{"next", text}, text)
	if p.Arrived == "exact" {
		return ""
	}
	return fmt.Sprintf("%s, %s %s %s", p.State, p.Arrived, p.Got, p.Reason)
}

// probe sends one text and returns its result. An input box that is left blocked is
// cleared.
func (a *agent) probe(odd oddText, mark string) probed {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), probeTime)
	defer cancel()
	p := probed{Name: odd.name, Arrived: "never"}
	if len(odd.text) <= 200 {
		p.Sent = odd.text
	}
	before := len(a.Model.Prompts(a.name))
	got := func() []mockmodel.Prompt { // what the model got of the text
		return slices.DeleteFunc(a.Model.Prompts(a.name)[before:], func(said mockmodel.Prompt) bool {
			return strings.Contains(odd.text, mark) && !strings.Contains(said.Text, mark)
		})
	}
	r, err := a.Client.Nudge(ctx, a.name, client.NudgeRequest{Text: odd.text, AllowChanges: os.Getenv("GC_PROBE_ALLOW") != ""})
	if err != nil {
		p.State, p.Reason, p.Arrived = "refused", err.Error(), "refused"
		return p
	}
	id := r.ID
	r, err = a.Client.Receipt(ctx, id, client.ReceiptConsumed)
	if err != nil {
		r, _ = a.Client.Receipt(a.t.Context(), id, "")
	}
	p.State, p.Reason, p.Said = r.State, r.Reason, r.Changes
	if r.State == client.ReceiptDead {
		p.Arrived = "refused"
	}
	if r.State == client.ReceiptConsumed || r.State == client.ReceiptSubmitted {
		soon, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		_ = a.Model.Await(soon, func([]mockmodel.Request) bool { return len(got()) > 0 })
	}
	said := got()
	if same := slices.DeleteFunc(slices.Clone(said), func(p mockmodel.Prompt) bool { return p.Text != odd.text }); len(same) > 0 {
		said = same // beside it are the contents of a file that it refers to
	}
	switch {
	case r.ByFile != "" && r.Ended():
		p.Got = a.readFile(r.ByFile, odd.text)
		if p.Got == "" {
			p.Arrived = "by file"
		}
	case len(said) > 1:
		p.Arrived, p.Got = "more than once", fmt.Sprintf("%d times", len(said))
	case len(said) == 1 && said[0].Text == odd.text:
		p.Arrived = "exact"
	case len(said) == 1:
		p.Arrived, p.Got, p.Silent = "changed", difference(odd.text, said[0].Text), len(r.Changes) == 0
	}
	if !r.Ended() {
		p.State = "blocked: " + p.State
		_, err := a.Client.CancelPrompt(a.t.Context(), id)
		r, _ = a.Client.Receipt(a.t.Context(), id, "")
		screen, _ := a.Client.Peek(a.t.Context(), a.name, 60)
		a.t.Logf("%s: cancelled: %v, now %s (%s), steps %+v\n%s", odd.name, err, r.State, r.Reason, r.Steps, trimmed(screen.Text))
		err = a.await(client.WaitIdle)
		_, clearErr := a.Client.ClearInput(a.t.Context(), a.name, client.LifecycleRequest{})
		a.t.Logf("%s: idle: %v, cleared: %v", odd.name, err, clearErr)
	}
	if a.await(client.WaitIdle) != nil {
		screen, _ := a.Client.Peek(a.t.Context(), a.name, 60)
		a.t.Logf("%s: not idle:\n%s", odd.name, trimmed(screen.Text))
		_, _ = a.Client.ClearInput(a.t.Context(), a.name, client.LifecycleRequest{})
	}
	return p
}

// readFile waits until the agent has read a file for the model, and the file is removed. It
// returns what is wrong: empty if the model got the text.
func (a *agent) readFile(path, text string) string {
	ctx, cancel := context.WithTimeout(a.t.Context(), probeTime)
	defer cancel()
	want := visible(text)
	err := a.Model.Await(ctx, func(all []mockmodel.Request) bool {
		for _, r := range all {
			for _, result := range r.Results {
				if strings.Contains(visible(result), want) {
					return true
				}
			}
		}
		return false
	})
	if err != nil {
		open, _ := a.Client.Pending(a.t.Context(), a.name, client.OnlyOpen) // it says more of what is wrong
		got := ""
		for _, r := range a.Model.Requests() {
			for _, result := range r.Results {
				got = fmt.Sprintf("%.200q", result)
			}
		}
		return fmt.Sprintf("the file was not read: asked %+v, last result %s", open, got)
	}
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return ""
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return "the file was not removed"
		}
	}
}

// lineNumber is what some tools put before each line of a file.
var lineNumber = regexp.MustCompile(`(?m)^ *[0-9]+[\t→:] ?`)

// visible leaves out what a tool that reads files adds: numbers of lines, and line ends.
func visible(text string) string {
	return strings.Trim(strings.ReplaceAll(lineNumber.ReplaceAllString(text, ""), "\r\n", "\n"), " \t\r\n")
}

func (a *agent) await(what string) error {
	ctx, cancel := context.WithTimeout(a.t.Context(), 20*time.Second)
	defer cancel()
	_, err := a.Client.Await(ctx, client.WaitRequest{Target: a.name, For: what})
	if errors.Is(err, context.DeadlineExceeded) {
		err = cmp.Or(ctx.Err(), err)
	}
	return err
}

// difference shows how the text that arrived differs from the one that was sent.
func difference(sent, got string) string {
	if len(sent) <= 200 && len(got) <= 400 {
		return fmt.Sprintf("%+q", got)
	}
	at := 0
	for at < min(len(sent), len(got)) && sent[at] == got[at] {
		at++
	}
	for at > 0 && at < len(sent) && !utf8.RuneStart(sent[at]) {
		at--
	}
	near := func(text string) string { return fmt.Sprintf("%+q", text[min(at, len(text)):min(at+30, len(text))]) }
	return fmt.Sprintf("%d bytes of %d, from byte %d: %s, sent %s", len(got), len(sent), at, near(got), near(sent))
}
