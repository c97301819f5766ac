package screen

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/internal/agentcli"
)

const corpus = "../../agentcli/testdata/dialogs"

// profileRules returns the rules of a built-in profile.
func profileRules(t testing.TB, name string) Rules {
	t.Helper()
	p, err := agentcli.Builtin().Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return Rules{Screen: p.Screen, Dialogs: p.Dialogs, ReadyPrefix: p.ReadyPromptPrefix, AnswerDialogs: true}
}

// TestDialogCorpus answers every recorded dialog: it must end on the wanted
// option by single verified keys, or get no keys at all.
func TestDialogCorpus(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(corpus, "*", "*.txt"))
	if err != nil || len(paths) < 30 {
		t.Fatalf("found %d recorded frames, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimPrefix(path, corpus+"/"), func(t *testing.T) {
			want, rows := readFrame(t, path)
			rules := profileRules(t, filepath.Base(filepath.Dir(path)))
			got, keys, err := play(rows, rules)
			if want == "-" {
				if !errors.Is(err, ErrUnknownLayout) || len(keys) > 0 {
					t.Fatalf("pressed %v and chose %q (%v), want no keys", keys, got, err)
				}
				return
			}
			if err != nil || got != want {
				t.Fatalf("chose %q by %v (%v), want %q", got, keys, err, want)
			}
		})
	}
}

func readFrame(t *testing.T, path string) (want string, rows []string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(string(data), "\n\n")
	return strings.TrimPrefix(head, "want: "), strings.Split(strings.TrimRight(body, "\n"), "\n")
}

// play acts the program behind a dialog: each arrow moves the highlighted row
// by one option. It returns the option that Enter confirmed.
func play(rows []string, rules Rules) (chosen string, keys []string, err error) {
	for range 2 * len(rows) {
		d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(rules)
		if d == nil {
			return "", keys, errors.New("no dialog recognised")
		}
		key, done, err := d.NextKey()
		if err != nil {
			return "", keys, err
		}
		keys = append(keys, key)
		if done {
			return d.Options[d.At].Label, keys, nil
		}
		next := d.At + 1
		if key == "Up" {
			next = d.At - 1
		}
		rows = highlight(rows, d, next)
	}
	return "", keys, errors.New("no end")
}

// highlight moves the glyph from the dialog's present option to another one.
func highlight(rows []string, d *Dialog, to int) []string {
	rows = append([]string(nil), rows...)
	from, dest := d.Options[d.At].Row, d.Options[to].Row
	a, b := []rune(rows[from]), []rune(rows[dest])
	for i, r := range a {
		if strings.ContainsRune("❯›●>", r) {
			a[i], b[i] = ' ', r
			break
		}
	}
	rows[from], rows[dest] = string(a), string(b)
	return rows
}

func TestDialogUnderTheInputLineIsConversation(t *testing.T) {
	_, rows := readFrame(t, filepath.Join(corpus, "claude/trust.no-first-on-no.txt"))
	rule := strings.Repeat("─", 80)
	rows = append(rows, "", rule, "❯ ", rule, "  ? for shortcuts")
	if d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(profileRules(t, "claude")); d != nil {
		t.Errorf("recognised %q above the input box: %s", d.Rule, d.Why)
	}
}

func TestDraftWithAListIsNoDialog(t *testing.T) {
	rule := strings.Repeat("─", 80)
	rows := []string{rule, "❯ 1. do this", "  2. do that", rule, "  ? for shortcuts · Enter to confirm"}
	if d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(profileRules(t, "claude")); d != nil {
		t.Errorf("took a draft for the dialog %+v", d)
	}
}

func TestUnknownMenuIsReported(t *testing.T) {
	tests := map[string][]string{
		"numbered":         {"Something new", "", "❯ 1. Burn it", "  2. Keep it"},
		"with a hint":      {"Something new", "", " ❯ Burn it", "   Keep it", "", " Enter to choose"},
		"with description": {"New", "❯ 1. Burn it", "     all of it", "  2. Keep it", "     none"},
		"radio buttons":    {"New", "● 1. Burn it", "  2. Keep it"},
	}
	for name, rows := range tests {
		t.Run(name, func(t *testing.T) {
			for _, profile := range []string{"claude", "generic"} {
				if profile == "claude" && name == "radio buttons" {
					continue // not one of its glyphs
				}
				d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(profileRules(t, profile))
				if d == nil || d.Kind != agentcli.DialogUnknown {
					t.Fatalf("%s: recognised %+v, want an unknown menu", profile, d)
				}
				if key, _, err := d.NextKey(); err == nil {
					t.Errorf("%s: would press %s", profile, key)
				}
				if u := d.unanswered(); len(u.Options) != 2 || u.Options[1] != "Keep it" || u.Why == "" {
					t.Errorf("%s: reports %+v", profile, u)
				}
			}
		})
	}
}

func TestOrdinaryScreensAreNoDialogs(t *testing.T) {
	tests := map[string][]string{
		"numbered answer": {"Here is the plan:", "1. do this", "2. do that", "$ "},
		"quote":           {"> somebody wrote", "  and went on", "$ "},
		"bullets":         {"● Read(main.go)", "  it says nothing", "$ "},
		"list at prompt":  {"> 1. one", "  2. two"},
	}
	for name, rows := range tests {
		t.Run(name, func(t *testing.T) {
			rules := profileRules(t, "generic")
			rules.Screen.InputBox.Marks = []string{"> "}
			if d := NewSnapshot(Frame{Seq: 1, Rows: rows}).Dialog(rules); d != nil {
				t.Errorf("took it for the dialog %+v", d)
			}
		})
	}
}

// TestForms: a form is answered when its field holds something and as long as it is a form,
// and no report repeats what the field holds.
func TestForms(t *testing.T) {
	_, rows := readFrame(t, filepath.Join(corpus, "gemini/api-key.0-61-below-trust.txt"))
	rules := profileRules(t, "gemini")
	const key = "test-key-0123456789"
	change := func(from, to string) []string {
		return strings.Split(strings.ReplaceAll(strings.Join(rows, "\n"), from, to), "\n")
	}
	tests := map[string]struct {
		rows    []string
		answers bool
		why     string
	}{
		"as recorded":       {rows, true, ""},
		"another border":    {change("│", "┃"), true, ""},
		"a short key":       {change(key, "k"+strings.Repeat(" ", len(key)-1)), true, ""},
		"an empty field":    {change(key, strings.Repeat(" ", len(key))), false, "set GEMINI_API_KEY"},
		"a text in it":      {change(key, "Paste the key here "), false, "set GEMINI_API_KEY"},
		"half painted":      {rows[:len(rows)-12], false, ""},
		"without its words": {change("Enter Gemini API Key", "                    "), false, ""},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			v := NewSnapshot(Frame{Seq: 1, Rows: c.rows})
			d := v.Dialog(rules)
			if d == nil {
				t.Fatal("no dialog is seen")
			}
			pressed, done, err := d.NextKey()
			if got := d.Rule == "api-key" && pressed == "Enter" && done && err == nil; got != c.answers {
				t.Errorf("rule %q, %q is pressed: %v (%s)", d.Rule, pressed, err, d.Why)
			}
			if !strings.Contains(d.Why, c.why) {
				t.Errorf("the reason is %q", d.Why)
			}
			q, _ := v.asked(rules)
			if told := d.unanswered().Text + q.text; d.Rule == "api-key" && (strings.Contains(told, key) || !strings.Contains(told, "Please enter")) {
				t.Errorf("it is described as %q", told)
			}
		})
	}
	quoted := append(change("│", " "), "", strings.Repeat("▄", 60), " >   Type your message or @path/to/file", strings.Repeat("▀", 60))
	if d := NewSnapshot(Frame{Seq: 1, Rows: quoted}).Dialog(rules); d != nil {
		t.Errorf("above the input box it is taken for the dialog %q (%s)", d.Rule, d.Why)
	}
}
