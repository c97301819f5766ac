package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gascity/test/citytest"
)

// talk is the record of a conversation that a test writes.
type talk struct {
	t    *testing.T
	path string
}

// newTalk starts a city with an agent that speaks the Agent Client Protocol, so that its conversation is what the test
// writes.
func newTalk(t *testing.T) (*citytest.City, talk) {
	t.Helper()
	city := citytest.New(t, agent("writer", idle)+"session = \"acp\"\n")
	city.AwaitRunning("writer")
	session, err := city.Client.Session(t.Context(), "writer")
	if err != nil {
		t.Fatal(err)
	}
	return city, talk{t, filepath.Join(city.Root, ".gc", "log", session.Session+".conversation.jsonl")}
}

// add appends lines: kind and text, or a tool call if there are more words.
func (c talk) add(lines ...map[string]any) {
	c.t.Helper()
	file, err := os.OpenFile(c.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, line := range lines {
		line["time"] = time.Now().UTC()
		if err := json.NewEncoder(file).Encode(line); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		c.t.Fatal(err)
	}
}

func text(kind, words string) map[string]any { return map[string]any{"kind": kind, "text": words} }

func tool(id, name, input, status, result string) map[string]any {
	return map[string]any{"kind": "tool", "id": id, "tool": name, "input": input, "status": status, "result": result}
}

const codeAnswer = "The handler drops the error of `Close`. This is the smallest change:\n\n```go\nif err := file.Close(); err != nil {\n\treturn fmt.Errorf(\"close %s: %w\", name, err)\n}\n```\n\nShall I also add a test?"

func (c talk) sample() {
	c.add(
		text("prompt", "Why does the upload test fail?"), text("thinking", "The test closes the file twice.\nLook at upload.go first."),
		tool("1", "Bash", "go test ./internal/upload -run TestUpload", "failed", "--- FAIL: TestUpload (0.01s)\n    upload_test.go:41: file already closed\nFAIL"),
		tool("2", "Read", "internal/upload/upload.go", "done", strings.Repeat("\tfunc (u *Upload) Close() error { return u.file.Close() } // a long line of code that does not fit a phone\n", 12)),
		text("answer", codeAnswer), text("compaction", "The test failed because of a double close."), text("prompt", "Yes, and keep it short."),
		tool("3", "Bash", "go test ./internal/upload", "", ""),
	)
}

// A person reads a conversation, opens the result of a tool, and sees new entries at once.
func TestAConversationIsReadAndFollowed(t *testing.T) {
	city, record := newTalk(t)
	for i := range 150 {
		record.add(text("prompt", fmt.Sprintf("prompt %d", i)), text("answer", fmt.Sprintf("answer %d", i)))
	}
	record.sample()
	p := openConsole(t, city, phone)
	p.open("#/agent/writer/conversation")
	p.until("the newest entries are shown", `document.querySelectorAll('.talk > li').length === 60 && document.querySelector('.talk').innerText.includes('keep it short')`)
	p.until("the newest entry is in view", `(() => { const r = [...document.querySelectorAll('.talk > li')].pop().getBoundingClientRect(); return r.top < innerHeight; })()`)
	if code := p.text(".talk .answer pre.code"); !strings.HasPrefix(code, "if err := file.Close()") || strings.Contains(code, "```") {
		t.Errorf("the code block is %q", code)
	}
	p.do(chromedp.Focus(chromedp.CSS(`.talk > li:nth-last-child(6) summary`)))
	p.press("\r")
	p.until("Enter opens the result", `[...document.querySelectorAll('.talk details[open] pre')].some((e) => e.innerText.includes('file already closed'))`)
	record.add(tool("3", "Bash", "go test ./internal/upload", "done", "ok  \tinternal/upload"), text("answer", "Done: the test passes."))
	p.until("a new answer is shown", `document.querySelector('.talk').innerText.includes('Done: the test passes.')`)
	p.until("the tool call has its result", `!document.querySelector('.talk .tone-busy')`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('.talk-earlier').scrollIntoView({block: 'center'})`))
	p.tap(".talk-earlier button", "Load earlier")
	p.until("earlier entries are shown", `document.querySelectorAll('.talk > li').length > 110`)
	p.until("what was read stays in view", `scrollY > 1000`)
	p.tap(".talk-newest button", "Newest")
	p.until("the newest entry is in view again", `!document.querySelector('.talk-newest')`)
	if wide := get[int](p, `document.documentElement.scrollWidth`); wide > phone {
		t.Errorf("the page is %d px wide", wide)
	}
	for _, theme := range []string{"light", "dark"} {
		p.setTheme(theme)
		p.checkAccess("conversation, " + theme)
	}
}

// What an agent says in its conversation is text: nothing in it runs or becomes part of the page.
func TestAHostileConversationIsText(t *testing.T) {
	city, record := newTalk(t)
	const hostile = "<img src=x onerror=\"window.attacked=1\"><script>window.attacked=1</script> <b>bold</b> [x](javascript:alert(1)) \u202egnp.exe"
	record.add(text("prompt", hostile), text("thinking", hostile), tool("1", hostile, hostile, "done", hostile), text("answer", "```"+hostile+"\n"+hostile+"\n```\n"+hostile), text("error", hostile), text("notice", hostile))
	p := openConsole(t, city, phone)
	p.open("#/agent/writer/conversation")
	p.until("the entries are shown", `document.querySelectorAll('.talk > li').length === 6`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll('.talk details').forEach((d) => (d.open = true))`))
	if get[bool](p, `!!window.attacked || !!document.querySelector('.talk :is(img, script, b, a)')`) {
		t.Error("text of an agent became part of the page")
	}
	if shown := get[string](p, `document.querySelector('.talk').textContent`); strings.Contains(shown, "\u202e") || !strings.Contains(shown, `\u202egnp.exe`) {
		t.Error("a character that changes the order of others is not visible")
	}
}
