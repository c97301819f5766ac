package tmuxserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/tmuxserver"
)

// hostile are words that one layer or another is known to change.
var hostile = []string{
	"", ";", "a;", "a\\;", ";;", "-x", "--", "#", "#{pid}", "##", "$HOME", "~", "~root", "~/x", "{", "}", "{ kill-server }", "'", `"`, `\`, `\\`, `a\`,
	"%1", "%if 1", "=x", "a=b", "@1", "a b", " a", "a ", "\n", "a\nb\n", "\r", "\t", "\x1b[31m", "\x01\x7f", "\xff", "\xff\xfe\x80", "é", "日本語", "👩‍💻",
	"%end 1 1 1", "a # b", "$(id)", "`id`", "!", "*?[", `\n`, `\101`, `\u00e9`, "\u0085", "\xc3\x28",
}

func TestWordsArriveByteForByte(t *testing.T) {
	client := started(t)
	dir, ctx := t.TempDir(), limit(t)
	file := filepath.Join(dir, "out")
	check := func(t interface{ Fatalf(string, ...any) }, word string) {
		if word == "" {
			return // a buffer cannot be empty
		}
		for _, command := range []tmuxserver.Command{tmuxserver.Cmd("set-buffer", "-b", "w", "--", word), tmuxserver.Cmd("save-buffer", "-b", "w", file)} {
			if _, err := client.Do(ctx, command); err != nil {
				t.Fatalf("%q: %v", word, err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != word {
			t.Fatalf("%q arrived as %q (%v)", word, got, err)
		}
	}
	for _, word := range hostile {
		check(t, word)
	}
	check(t, strings.Repeat("x;", 100_000))
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune(`;#$~{}'"\%= -`+"\n\x1b"))),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "word")
		check(t, strings.ReplaceAll(word, "\x00", ""))
	})
}

func TestWordsInsideBlocksAreTheSame(t *testing.T) {
	client := started(t)
	file := filepath.Join(t.TempDir(), "out")
	for _, word := range hostile {
		if word == "" {
			continue
		}
		set := tmuxserver.Sequence(tmuxserver.Cmd("set-buffer", "-b", "w", "--", word), tmuxserver.Cmd("save-buffer", "-b", "w", file))
		output(t, client, tmuxserver.If("", "1", tmuxserver.If("", "0", tmuxserver.Command{}, set), tmuxserver.Command{}))
		got, err := os.ReadFile(file)
		if err != nil || string(got) != word {
			t.Fatalf("%q arrived as %q (%v)", word, got, err)
		}
	}
}

func TestUnusableWordsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	client, err := tmuxserver.NewClient(tmuxserver.ClientOptions{Socket: "/nowhere/s"})
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]tmuxserver.Command{
		"NUL": tmuxserver.Cmd("set-buffer", "a\x00b"), "zero": {}, "empty name": tmuxserver.Cmd(""), "name with blanks": tmuxserver.Cmd("kill-server ; x"),
		"too many": tmuxserver.Cmd("send-keys", make([]string, 1001)...), "in a block": tmuxserver.If("", "1", tmuxserver.Cmd("a", "\x00"), tmuxserver.Command{}),
		"in a sequence": tmuxserver.Sequence(tmuxserver.Cmd("a"), tmuxserver.Cmd("b", "\x00")), "empty sequence": tmuxserver.Sequence(),
	} {
		if _, err := client.Do(t.Context(), command); !errors.Is(err, tmuxserver.ErrWord) {
			t.Errorf("%s: got %v, want ErrWord", name, err)
		}
	}
}

func TestAThousandWordsAreOneCommand(t *testing.T) {
	client := started(t)
	id := pane(t, client, "x", "sh", "-c", "stty raw -echo; printf ready; exec cat >"+"/dev/null")
	keys := append([]string{"-t", id, "-H"}, strings.Split(strings.Repeat("61 ", 997), " ")[:997]...)
	output(t, client, tmuxserver.Cmd("send-keys", keys...))
}

func TestBuffersOfAnySizeArrive(t *testing.T) {
	client := started(t)
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = byte(i*7+i/255)%255 + 1
	}
	file := filepath.Join(t.TempDir(), "out")
	save := func(buffer string) tmuxserver.Command {
		return tmuxserver.Sequence(tmuxserver.Cmd("save-buffer", "-b", buffer, file), tmuxserver.Cmd("delete-buffer", "-b", buffer))
	}
	if _, err := client.WithBuffer(limit(t), text, save); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes arrived (%v), want the %d that were sent", len(got), err, len(text))
	}
	for _, bad := range []string{"", "a\x00"} {
		if _, err := client.WithBuffer(limit(t), []byte(bad), save); !errors.Is(err, tmuxserver.ErrWord) {
			t.Errorf("%q: got %v, want ErrWord", bad, err)
		}
	}
}

func TestPastedTextReachesTheProgram(t *testing.T) {
	client := started(t)
	file := filepath.Join(t.TempDir(), "got")
	events := client.Subscribe()
	defer events.Close()
	id := pane(t, client, "x", "sh", "-c", `read line; stty raw -echo; printf '\033[?2004hready'; head -c 1048588 > `+file+`; echo done; cat`) // it stays: what a pane prints last may go with it
	output(t, client, tmuxserver.Cmd("send-keys", "-t", id, "Enter"))
	await(t, events, "the program", func(e tmuxserver.Event) bool {
		return e.Kind == tmuxserver.Output && bytes.Contains(e.Data, []byte("ready"))
	})
	text := bytes.Repeat([]byte("0123456;"), 1<<17)
	var name string
	if _, err := client.WithBuffer(limit(t), text, func(buffer string) tmuxserver.Command {
		name = buffer
		return tmuxserver.Cmd("paste-buffer", "-p", "-d", "-b", buffer, "-t", id)
	}); err != nil {
		t.Fatal(err)
	}
	await(t, events, "the end of the program", func(e tmuxserver.Event) bool {
		return e.Kind == tmuxserver.Output && bytes.Contains(e.Data, []byte("done"))
	})
	got, err := os.ReadFile(file)
	if want := fmt.Sprintf("\x1b[200~%s\x1b[201~", text); err != nil || string(got) != want {
		t.Fatalf("the program read %d bytes (%v), want %d", len(got), err, len(want))
	}
	if _, err := client.Do(limit(t), tmuxserver.Cmd("show-buffer", "-b", name)); !errors.Is(err, tmuxserver.ErrNotFound) {
		t.Errorf("the buffer is still there: %v", err)
	}
}
