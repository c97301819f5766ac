package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// hostile are words that one layer or another is known to change.
var hostile = []string{
	"", ";", "a;", "a\\;", ";;", "-x", "--", "#", "#{pid}", "##", "$HOME", "~", "~root", "~/x", "{", "}", "{ kill-server }", "'", `"`, `\`, `\\`, `a\`,
	"%1", "%if 1", "=x", "a=b", "@1", "a b", " a", "a ", "\n", "a\nb\n", "\r", "\t", "\x1b[31m", "\x01\x7f", "\xff", "\xff\xfe\x80", "é", "日本語", "👩‍💻",
	"%end 1 1 1", "a # b", "$(id)", "`id`", "!", "*?[", `\n`, `\101`, `\u00e9`, "\u0085", "\xc3\x28",
}

func TestWordsArriveByteForByte(t *testing.T) {
	client := startedClient(t)
	dir, ctx := t.TempDir(), withDeadline(t)
	file := filepath.Join(dir, "out")
	check := func(t interface{ Fatalf(string, ...any) }, word string) {
		if word == "" {
			return // a buffer cannot be empty
		}
		for _, command := range []tmuxCommand{cmd("set-buffer", "-b", "w", "--", word), cmd("save-buffer", "-b", "w", file)} {
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
	client := startedClient(t)
	file := filepath.Join(t.TempDir(), "out")
	for _, word := range hostile {
		if word == "" {
			continue
		}
		set := sequence(cmd("set-buffer", "-b", "w", "--", word), cmd("save-buffer", "-b", "w", file))
		mustOutput(t, client, ifFormat("", "1", ifFormat("", "0", tmuxCommand{}, set), tmuxCommand{}))
		got, err := os.ReadFile(file)
		if err != nil || string(got) != word {
			t.Fatalf("%q arrived as %q (%v)", word, got, err)
		}
	}
}

func TestUnusableWordsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	client, err := newControlClient(clientOptions{Socket: "/nowhere/s"})
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]tmuxCommand{
		"NUL": cmd("set-buffer", "a\x00b"), "zero": {}, "empty name": cmd(""), "name with blanks": cmd("kill-server ; x"),
		"too many": cmd("send-keys", make([]string, 1001)...), "in a block": ifFormat("", "1", cmd("a", "\x00"), tmuxCommand{}),
		"in a sequence": sequence(cmd("a"), cmd("b", "\x00")), "empty sequence": sequence(),
	} {
		if _, err := client.Do(t.Context(), command); !errors.Is(err, errWord) {
			t.Errorf("%s: got %v, want errWord", name, err)
		}
	}
}

func TestAThousandWordsAreOneCommand(t *testing.T) {
	client := startedClient(t)
	id := startPane(t, client, "x", "sh", "-c", "stty raw -echo; printf ready; exec cat >"+"/dev/null")
	keys := append([]string{"-t", id, "-H"}, strings.Split(strings.Repeat("61 ", 997), " ")[:997]...)
	mustOutput(t, client, cmd("send-keys", keys...))
}

func TestBuffersOfAnySizeArrive(t *testing.T) {
	client := startedClient(t)
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = byte(i*7+i/255)%255 + 1
	}
	file := filepath.Join(t.TempDir(), "out")
	save := func(buffer string) tmuxCommand {
		return sequence(cmd("save-buffer", "-b", buffer, file), cmd("delete-buffer", "-b", buffer))
	}
	if _, err := client.WithBuffer(withDeadline(t), text, save); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes arrived (%v), want the %d that were sent", len(got), err, len(text))
	}
	for _, bad := range []string{"", "a\x00"} {
		if _, err := client.WithBuffer(withDeadline(t), []byte(bad), save); !errors.Is(err, errWord) {
			t.Errorf("%q: got %v, want errWord", bad, err)
		}
	}
}

func TestPastedTextReachesTheProgram(t *testing.T) {
	client := startedClient(t)
	file := filepath.Join(t.TempDir(), "got")
	events := client.Subscribe()
	defer events.Close()
	id := startPane(t, client, "x", "sh", "-c", `read line; stty raw -echo; printf '\033[?2004hready'; head -c 1048588 > `+file+`; echo done; cat`) // it stays: what a pane prints last may go with it
	mustOutput(t, client, cmd("send-keys", "-t", id, "Enter"))
	awaitEvent(t, events, "the program", func(e controlEvent) bool {
		return e.Kind == eventOutput && bytes.Contains(e.Data, []byte("ready"))
	})
	text := bytes.Repeat([]byte("0123456;"), 1<<17)
	var name string
	if _, err := client.WithBuffer(withDeadline(t), text, func(buffer string) tmuxCommand {
		name = buffer
		return cmd("paste-buffer", "-p", "-d", "-b", buffer, "-t", id)
	}); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, events, "the end of the program", func(e controlEvent) bool {
		return e.Kind == eventOutput && bytes.Contains(e.Data, []byte("done"))
	})
	got, err := os.ReadFile(file)
	if want := fmt.Sprintf("\x1b[200~%s\x1b[201~", text); err != nil || string(got) != want {
		t.Fatalf("the program read %d bytes (%v), want %d", len(got), err, len(want))
	}
	if _, err := client.Do(withDeadline(t), cmd("show-buffer", "-b", name)); !errors.Is(err, errNotFound) {
		t.Errorf("the buffer is still there: %v", err)
	}
}
