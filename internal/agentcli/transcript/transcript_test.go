package transcript_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/transcript"
)

// formats are the formats with a hand-made transcript in testdata, each in the form that the agent CLI writes.
var formats = []agentcli.TranscriptFormat{
	agentcli.TranscriptBlocks, agentcli.TranscriptRollout, agentcli.TranscriptFolded, agentcli.TranscriptTree, agentcli.TranscriptRecord,
}

func sample(t testing.TB, f agentcli.TranscriptFormat) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", string(f)+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// file is a transcript that a test writes.
type file struct {
	t    testing.TB
	path string
}

func newFile(t testing.TB) file { return file{t, filepath.Join(t.TempDir(), "c.jsonl")} }

func (f file) append(text string) {
	f.t.Helper()
	w, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := w.WriteString(text); err != nil {
		f.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.t.Fatal(err)
	}
}

func (f file) replace(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

func read(t testing.TB, r *transcript.Reader) []client.ConversationEntry {
	t.Helper()
	if err := r.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.Entries()
}

func readAll(t testing.TB, f agentcli.TranscriptFormat, text string) *transcript.Reader {
	t.Helper()
	path := newFile(t)
	path.append(text)
	r := transcript.NewReader(path.path, f, transcript.Options{})
	read(t, r)
	return r
}

// short returns an entry as one line.
func short(e *client.ConversationEntry) string {
	line := fmt.Sprintf("%d %s", e.Turn, e.Kind)
	if e.Text != "" {
		line += " " + fmt.Sprintf("%q", e.Text)
	}
	if e.Tool != nil {
		line += fmt.Sprintf(" %s(%s) %s %q", e.Tool.Name, e.Tool.Argument, e.Tool.Status, e.Tool.Result)
	}
	return line
}

func shorts(entries []client.ConversationEntry) []string {
	var out []string
	for i := range entries {
		out = append(out, short(&entries[i]))
	}
	return out
}

func TestConversations(t *testing.T) {
	t.Parallel()
	want := map[agentcli.TranscriptFormat][]string{
		agentcli.TranscriptBlocks: {
			`1 prompt "list the files"`,
			`1 thinking "The user wants a list."`,
			`1 answer "I will look."`,
			`1 tool Bash(ls -la) done "a.go\nb.go"`,
			`1 tool Read(/w/a.go) failed "no such file"`,
			`1 answer "There are two files:\n\n` + "```" + `\na.go\n` + "```" + `"`,
			`2 prompt "and then?"`,
			`2 prompt "a second one"`,
			`2 notice "interrupted"`,
			`2 notice "/compact now"`,
			`2 compaction "The summary."`,
			`3 prompt "once more"`,
			`3 error "API Error: 500 overloaded"`,
			`3 answer "the last"`,
		},
		agentcli.TranscriptRollout: {
			`1 prompt "list the files"`,
			`1 thinking "**Looking**"`,
			`1 tool shell(ls -la) done "a.go\nb.go"`,
			`1 tool exec_command(false) failed "Process exited with code 1\nOutput:\nno"`,
			`1 tool apply_patch(*** Begin Patch *** End Patch) done "Done"`,
			`1 answer "Two files."`,
			`2 prompt "more"`,
			`2 notice "interrupted"`,
			`2 compaction "The summary."`,
			`2 error "stream disconnected"`,
		},
		agentcli.TranscriptFolded: {
			`1 prompt "list the files"`,
			`1 thinking "Listing\nI list them."`,
			`1 answer "I list."`,
			`1 tool run_shell_command(ls) done "a.go"`,
			`1 tool read_file(/w/x) failed "no such file"`,
			`2 prompt "more"`,
			`2 error "quota"`,
			`2 compaction "<state_snapshot>the state</state_snapshot>"`,
			`3 prompt "after"`,
			`3 answer "Done."`,
		},
		agentcli.TranscriptTree: {
			`1 prompt "list the files"`,
			`1 thinking "Hm."`,
			`1 answer "I list."`,
			`1 tool bash(ls) done "a.go"`,
			`1 tool read(/w/x) failed "no such file"`,
			`1 notice "! pwd\n/w"`,
			`2 prompt "more"`,
			`2 error "429 limit"`,
			`2 notice "interrupted"`,
			`2 compaction "The summary."`,
		},
		agentcli.TranscriptRecord: {
			`1 prompt "list the files"`,
			`1 thinking "Hm."`,
			`1 answer "I list them."`,
			`1 tool execute(ls -la) done "a.go"`,
			`1 tool read(/w/x) failed ""`,
			`1 answer "Done."`,
			`2 prompt "more"`,
			`2 error "the last turn failed: overloaded"`,
		},
	}
	for _, f := range formats {
		r := readAll(t, f, sample(t, f))
		if diff := cmp.Diff(want[f], shorts(r.Entries())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
		if r.Skipped() != 1 { // each file has one broken line
			t.Errorf("%s: %d lines were skipped, want 1", f, r.Skipped())
		}
		for _, e := range r.Entries() {
			if e.Time.IsZero() {
				t.Errorf("%s: no time: %s", f, short(&e))
			}
		}
	}
}

// TestRecordedTranscripts reads transcripts of claude 2.1.332, codex 0.169.0 and pi 0.87.1 from conversations with a fake model
// of test/agents. Records without a part of the conversation were removed.
func TestRecordedTranscripts(t *testing.T) {
	t.Parallel()
	const asked = `2 prompt "[[tools:ls -la;;cat /nonexistent]] list the files please"`
	for f, want := range map[agentcli.TranscriptFormat][]string{
		agentcli.TranscriptBlocks: {
			`1 prompt "[talk] cl • 2026-11-26T19:25:13"`, `1 answer "This is answer 3."`, asked, `2 tool Bash(ls -la) done`, `2 tool Bash(cat /nonexistent) failed`,
			`2 answer "This is answer 11."`, `2 compaction "The summary."`, `2 notice "/compact"`, `2 notice "Compacted`, `3 prompt "[[slow:8]]`, `3 answer "a long answer "`, `3 notice "interrupted"`,
		},
		agentcli.TranscriptRollout: {
			`1 prompt "[talk] cx • 2026-11-26T19:25:13"`, `1 answer "This is answer 1."`, asked, `2 tool exec_command(ls -la) done`, `2 tool exec_command(cat /nonexistent) failed`,
			`2 answer "This is answer 9."`, `2 answer "This is answer 16."`, `2 compaction "The summary."`,
		},
		agentcli.TranscriptTree: {
			`1 prompt "[talk] pi • 2026-11-26T19:25:13`, `1 answer "This is answer 4."`, asked, `2 tool bash(ls -la) done`, `2 tool bash(cat /nonexistent) failed`,
			`2 answer "This is answer 10."`, `3 prompt "x"`, `3 answer "This is answer 17."`,
		},
	} {
		r := readAll(t, f, sample(t, "recorded-"+f))
		got := shorts(r.Entries())
		if len(got) != len(want) || r.Skipped() > 0 {
			t.Errorf("%s: %d entries, %d lines skipped, want %d entries: %q", f, len(got), r.Skipped(), len(want), got)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) {
				t.Errorf("%s: entry %d is %s, want %s", f, i, got[i], want[i])
			}
		}
	}
}

// TestAnySplitGivesTheSameEntries appends a transcript in random pieces, reads after each, and checks that the entries are those
// of the whole transcript.
func TestAnySplitGivesTheSameEntries(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		text := sample(t, f)
		whole := readAll(t, f, text)
		dir := t.TempDir()
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			path := file{t, filepath.Join(dir, fmt.Sprint(n))}
			r := transcript.NewReader(path.path, f, transcript.Options{})
			for at := 0; at < len(text); {
				piece := rapid.IntRange(1, max(1, len(text)/3)).Draw(rt, "piece")
				end := min(len(text), at+piece)
				path.append(text[at:end])
				at = end
				read(t, r)
			}
			if diff := cmp.Diff(whole.Entries(), r.Entries()); diff != "" {
				rt.Fatalf("%s (-at once +in pieces):\n%s", f, diff)
			}
			if r.Turns() != whole.Turns() || r.Skipped() != whole.Skipped() {
				rt.Fatalf("%s: %d turns, %d skipped; at once %d, %d", f, r.Turns(), r.Skipped(), whole.Turns(), whole.Skipped())
			}
		})
	}
}

// TestReadContinuesAndBeginsAgain checks that a reader continues after appended lines and begins again after the file was
// replaced.
func TestReadContinuesAndBeginsAgain(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	r := transcript.NewReader(path.path, agentcli.TranscriptRecord, transcript.Options{})
	if err := r.Read(t.Context()); !errors.Is(err, transcript.ErrNoFile) {
		t.Fatalf("%v, want ErrNoFile", err)
	}
	line := func(kind, text string) string {
		raw, err := json.Marshal(map[string]string{"kind": kind, "text": text, "time": "2026-11-26T10:00:00Z"})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw) + "\n"
	}
	path.append(line("prompt", "one") + line("answer", "two")[:30])
	if got := shorts(read(t, r)); len(got) != 1 {
		t.Fatalf("an incomplete line was read: %q", got)
	}
	path.append(line("answer", "two")[30:])
	if got := shorts(read(t, r)); len(got) != 2 {
		t.Fatalf("%q", got)
	}
	// A shorter file, a longer one with another text, and another file in its place.
	path.replace(line("prompt", "new"))
	if got := shorts(read(t, r)); len(got) != 1 || got[0] != `1 prompt "new"` {
		t.Fatalf("after a truncation: %q", got)
	}
	path.replace(line("prompt", "NEW") + line("answer", "longer than before"))
	if got := shorts(read(t, r)); len(got) != 2 || got[0] != `1 prompt "NEW"` {
		t.Fatalf("after a rewrite: %q", got)
	}
	if err := os.Remove(path.path); err != nil {
		t.Fatal(err)
	}
	path.append(line("prompt", "third") + line("answer", "a") + line("answer", "b"))
	if got := shorts(read(t, r)); len(got) != 3 || got[0] != `1 prompt "third"` {
		t.Fatalf("after a rotation: %q", got)
	}
}

// TestOnlyRegularFilesAreRead checks that an agent cannot make gc read another file, or wait for one, with a link or a pipe.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	file{t, secret}.append(`{"kind":"prompt","text":"a secret"}` + "\n")
	link := filepath.Join(dir, "link.jsonl")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir, pipe} {
		r := transcript.NewReader(path, agentcli.TranscriptRecord, transcript.Options{})
		ended := make(chan error, 1)
		go func() { ended <- r.Read(t.Context()) }()
		select {
		case err := <-ended:
			if err == nil || errors.Is(err, transcript.ErrNoFile) || len(r.Entries()) > 0 {
				t.Errorf("%s was read: %v, %q", path, err, shorts(r.Entries()))
			}
		case <-time.After(20 * time.Second):
			t.Errorf("the reader waits for %s", path)
			writer, err := os.OpenFile(path, os.O_RDWR, 0) // ends the wait
			if err != nil {
				t.Fatal(err)
			}
			_ = writer.Close()
			t.Logf("the reader returns %v", <-ended)
		}
	}
}

// TestEntriesAreBounded checks that the number and the size of the entries are limited.
func TestEntriesAreBounded(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	long := strings.Repeat("ä", 40_000)
	path.append(`{"kind":"prompt","text":"` + long + `"}` + "\n")
	path.append(`{"kind":"tool","id":"1","tool":"execute","input":"` + long + `"}` + "\n" + `{"kind":"tool","id":"1","status":"done","result":"` + long + `"}` + "\n")
	path.append(`{"kind":"prompt","text":"` + strings.Repeat("x", 17<<20) + `"}` + "\n")
	r := transcript.NewReader(path.path, agentcli.TranscriptRecord, transcript.Options{})
	got := read(t, r)
	if len(got) != 2 || r.Skipped() != 1 {
		t.Fatalf("%d entries, %d skipped; want 2 and the long line skipped", len(got), r.Skipped())
	}
	if e := got[0]; len(e.Text) > 16<<10 || e.Bytes != len(long) || !strings.HasPrefix(long, e.Text) {
		t.Errorf("text of %d bytes, said to be %d", len(e.Text), e.Bytes)
	}
	if tool := got[1].Tool; len(tool.Argument) > 300 || len(tool.Result) > 8<<10 || tool.Bytes != len(long) {
		t.Errorf("argument of %d bytes, result of %d, said to be %d", len(tool.Argument), len(tool.Result), tool.Bytes)
	}
	first := got[0].ID
	for range 6000 {
		path.append(`{"kind":"answer","text":"a"}` + "\n")
	}
	got = read(t, r)
	if len(got) > 5000 || !r.Cut() || got[0].ID <= first {
		t.Errorf("%d entries, cut %v", len(got), r.Cut())
	}
}

// TestTextsAreMaskedBeforeTheyAreShortened checks that the end of a shortened text does not show a part of a secret.
func TestTextsAreMaskedBeforeTheyAreShortened(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret-0123456789"
	path := newFile(t)
	path.append(`{"kind":"answer","text":"` + strings.Repeat("x", 16<<10-8) + secret + `"}` + "\n" +
		`{"kind":"tool","id":"1","tool":"execute","input":"curl -H ` + secret + `"}` + "\n" + `{"kind":"tool","id":"1","status":"done","result":"\u001b[31m` + secret + `\u001b[0m\u0007\u001b]52;c;aGk=\u0007end"}` + "\n")
	r := transcript.NewReader(path.path, agentcli.TranscriptRecord, transcript.Options{Mask: func(text string) string { return strings.ReplaceAll(text, secret, "***") }})
	raw, err := json.Marshal(read(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "sk-") {
		t.Errorf("a part of the secret is left: %s", raw[len(raw)-300:])
	}
	if got := r.Entries()[1].Tool.Result; got != "***end" {
		t.Errorf("control sequences are left: %q", got)
	}
}

func FuzzBlocks(f *testing.F)  { fuzz(f, agentcli.TranscriptBlocks) }
func FuzzRollout(f *testing.F) { fuzz(f, agentcli.TranscriptRollout) }
func FuzzFolded(f *testing.F)  { fuzz(f, agentcli.TranscriptFolded) }
func FuzzTree(f *testing.F)    { fuzz(f, agentcli.TranscriptTree) }
func FuzzRecord(f *testing.F)  { fuzz(f, agentcli.TranscriptRecord) }

// fuzz checks, for any text, that the reader keeps its limits, that the IDs increase, that the entries can be encoded, and that
// the text in two parts gives the same entries.
func fuzz(f *testing.F, format agentcli.TranscriptFormat) {
	f.Add(sample(f, format), 100)
	for line := range strings.Lines(sample(f, format)) {
		f.Add(line+line, 10)
	}
	f.Fuzz(func(t *testing.T, text string, cut int) {
		whole := readAll(t, format, text)
		last := uint64(0)
		for _, e := range whole.Entries() {
			if e.ID <= last {
				t.Fatalf("ID %d after %d", e.ID, last)
			}
			last = e.ID
			if len(e.Text) > 16<<10 || e.Tool != nil && (len(e.Tool.Result) > 8<<10 || len(e.Tool.Argument) > 300) {
				t.Fatal("an entry is too long")
			}
			if strings.ContainsAny(e.Text, "\x1b\x07\r") {
				t.Fatalf("control characters are left: %q", e.Text)
			}
		}
		if _, err := json.Marshal(whole.Entries()); err != nil {
			t.Fatal(err)
		}
		path := newFile(t)
		at := min(max(cut, 0), len(text))
		path.append(text[:at])
		r := transcript.NewReader(path.path, format, transcript.Options{})
		read(t, r)
		path.append(text[at:])
		read(t, r)
		if diff := cmp.Diff(whole.Entries(), r.Entries()); diff != "" {
			t.Errorf("in two pieces (-at once +in pieces):\n%s", diff)
		}
	})
}

// TestACancelledReadContinuesLater checks that a read that was cancelled is continued by the next one.
func TestACancelledReadContinuesLater(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	path.append(sample(t, agentcli.TranscriptRecord))
	r := transcript.NewReader(path.path, agentcli.TranscriptRecord, transcript.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if got := read(t, r); len(got) != 8 {
		t.Errorf("%q", shorts(got))
	}
}
