package inject

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity/runtime"
	"gascity/test/terminal"
)

// TestEnterDoesNotAnswerAQuestion: gemini hides its input box while it asks whether a tool may run.
// The prompt above the question has the mark of the input box. If gc sees no other screen between
// Enter and the question, it does not press Enter again: that would allow the tool.
func TestEnterDoesNotAnswerAQuestion(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "agentcli", "testdata", "dialogs", "gemini", "permission.0-61.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, question, _ := strings.Cut(string(raw), "\n\n")
	synctest.Test(t, func(t *testing.T) {
		const text, box = "Please make a file", "\x1b[H\x1b[2J▝▜▄ Gemini CLI v0.61.0\r\n\r\n"
		f, enters := terminal.New(), 0
		f.Program = func(p []byte) {
			switch {
			case string(p) == "\r":
				if enters++; enters == 1 {
					f.Print(box + " > " + text + "\r\n\r\n" + strings.ReplaceAll(question, "\n", "\r\n"))
					time.AfterFunc(5*time.Second, func() {
						f.Print(box + " > " + text + "\r\n\r\n✦ done\r\n\r\n >   Type your message or @path/to/file\x1b[4G")
					})
				}
			case strings.Contains(string(p), text):
				f.Print(box + " > " + text)
			}
		}
		f.Print(box + " >   Type your message or @path/to/file\x1b[4G")
		time.Sleep(time.Minute)
		out, err := Type(t.Context(), f, Prompt{Text: text, Confirm: 10 * time.Second}, terminal.Rules(t, "gemini"))
		if enters != 1 || err != nil || out.State != runtime.OutcomeSubmitted {
			t.Errorf("%d times Enter, %+v, %v", enters, out, err)
		}
	})
}

// TestEnterRunsNoOtherCommand: gemini shows a list of commands while a text is typed, and Enter runs
// the first one. On a busy machine the list is still that for an earlier text when the text is in
// the input box: the conversation was cleared. Enter waits until the list has changed.
func TestEnterRunsNoOtherCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text, box = "/nonsense-9", "\x1b[H\x1b[2J▝▜▄ Gemini CLI v0.61.0\r\n\r\n"
		f, listed, cleared := terminal.New(), false, false
		f.Program = func(p []byte) {
			switch {
			case string(p) == "\r":
				cleared = cleared || listed
				f.Print(box + " > " + text + "\r\n\r\n✦ done\r\n\r\n >   Type your message or @path/to/file\x1b[4G")
			case strings.Contains(string(p), text):
				listed = true
				f.Print(box + " > " + text + "\r\n\r\n   clear   Clear the screen\x1b[3;15H")
				time.AfterFunc(300*time.Millisecond, func() {
					listed = false
					f.Print(box + " > " + text)
				})
			}
		}
		f.Print(box + " >   Type your message or @path/to/file\x1b[4G")
		time.Sleep(time.Minute)
		out, err := Type(t.Context(), f, Prompt{Text: text}, terminal.Rules(t, "gemini"))
		if cleared || err != nil || out.State != runtime.OutcomeSubmitted {
			t.Errorf("another command ran: %v, %+v, %v", cleared, out, err)
		}
	})
}
