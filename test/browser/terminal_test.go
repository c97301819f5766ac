package browser

import (
	"errors"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// shows returns an expression that is true if the terminal shows the text. A terminal breaks lines
// into elements, and its blanks may be no-break spaces.
func shows(text string) string {
	return fmt.Sprintf(`(document.querySelector('.xterm-rows')?.innerText ?? '').replaceAll('\u00a0', ' ').includes(%q)`, text)
}

// stateIs returns an expression that is true if the terminal has the state.
func stateIs(text string) string {
	return fmt.Sprintf(`document.querySelector('.terminal-state')?.innerText.startsWith(%q)`, text)
}

// A terminal is watched first. One device types at a time, the others see its name and can take
// over.
func TestATerminalIsWatchedAndDriven(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	first, second := openConsole(t, city, desk), openConsole(t, city, phone)
	for _, p := range []*page{first, second} {
		p.open("#/agent/writer")
		p.until("the terminal is watched", stateIs("Watching"))
	}
	if !city.Agents.Print(session, "the build has passed\n") {
		t.Fatal("the agent does not run")
	}
	for _, p := range []*page{first, second} {
		p.until("the output is on the screen", shows("the build has passed"))
	}
	first.checkAccess("terminal")

	first.press("x") // the key to stop an agent: it asks, because nothing types yet
	first.until("the key is not typed", `!!document.querySelector('dialog[open]')`)
	first.press("\x1b")
	first.tap(".terminal-bar button", "Take over")
	first.until("the first device types", stateIs("You type"))
	second.until("the second device sees who types", stateIs("Chrome on Linux types"))
	second.tap(".terminal-bar button", "Take over")
	second.until("the second device types", stateIs("You type"))
	first.until("the first device watches", stateIs("Chrome on Linux types"))
	get[bool](second, `(() => {
		const data = new DataTransfer();
		data.setData('text/plain', 'first line\nsecond line');
		return document.querySelector('.xterm-helper-textarea').dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
	})()`)
	second.until("a paste of two lines is to be confirmed", `document.querySelector('dialog[open]')?.innerText.includes('Paste 2 lines?')`)
	second.press("\x1b")
	second.tap(".terminal-bar button", "Stop typing")
	first.until("no device types", stateIs("Watching"))

	// The terminal of the next instance opens by itself.
	before := city.AwaitRunning("writer").Instance
	if _, err := city.Client.Restart(t.Context(), "writer"); err != nil {
		t.Fatal(err)
	}
	city.Await("writer", func(a client.Agent) bool { return a.State == client.StateRunning && a.Instance != before })
	if !city.Agents.Print(session, "the next instance\n") {
		t.Fatal("the agent does not run")
	}
	first.until("the output of the next instance is on the screen", stateIs("Watching")+` && `+shows("the next instance"))
}

// The terminal of an agent that does not run says so, and opens when the agent runs again. On a phone the selected tab is in view, and a
// question takes one line on the other tabs.
func TestAnAgentWithoutATerminal(t *testing.T) {
	city := citytest.New(t, agent("writer", idle)+agent("asker", asks(runtime.WaitPermission, migrate, "Yes", "No")))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	awaitQuestions(city, 1)
	if _, err := city.Client.Suspend(t.Context(), "writer", client.LifecycleRequest{Reason: "for the weekend"}); err != nil {
		t.Fatal(err)
	}
	p := openConsole(t, city, phone)
	p.expect("/auth/tickets")
	p.open("#/agent/writer")
	p.until("the terminal says why there is none", stateIs("Not running"))
	if get[bool](p, `[...document.querySelectorAll('button')].some((e) => e.innerText === 'Take over')`) {
		t.Error("a person can take over what does not run")
	}
	if _, err := city.Client.Resume(t.Context(), "writer", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	p.until("the terminal is watched", stateIs("Watching"))
	city.Agents.Print(session, "here again\n")
	p.until("the output is on the screen", shows("here again"))
	p.open("#/agent/asker/explain")
	p.until("the selected tab is in view", `(() => { const r = document.querySelector('#tab-explain[aria-selected=true]')?.getBoundingClientRect(); return r && r.left >= 0 && r.right <= innerWidth; })()`)
	p.until("the question is one line", `!document.querySelector('[data-question]') && document.querySelector('.banner').innerText.includes('Do you want to proceed?')`)
	p.tap(".banner a", "Answer")
	p.until("the card is shown", `!!document.querySelector('[data-question]')`)
}

// An answer that a person has begun to write or has chosen is still there after a look at another tab.
func TestABegunAnswerStaysOnOtherTabs(t *testing.T) {
	city := citytest.New(t, agent("asker", asks(runtime.WaitPermission, migrate, "Yes", "No")))
	awaitQuestions(city, 1)
	p := openConsole(t, city, desk)
	p.expect("/terminal")
	lookAway := func() {
		t.Helper()
		p.tap("#tab-timeline", "Timeline")
		p.until("the question is one line", `!document.querySelector('[data-question]') && document.querySelector('.banner').innerText.includes('Do you want to proceed?')`)
		p.tap(".banner a", "Answer")
		p.until("the card is shown", `!!document.querySelector('[data-question]')`)
	}
	p.open("#/agent/asker")
	p.until("the card is shown", `!!document.querySelector('[data-question] textarea')`)
	p.do(chromedp.SendKeys(chromedp.CSS("[data-question] textarea"), "only on staging"))
	lookAway()
	if got := get[string](p, `document.querySelector('[data-question] textarea').value`); got != "only on staging" {
		t.Errorf("the text of the answer is %q", got)
	}
	p.tap("[data-question] .option", "No")
	lookAway()
	p.tap("[data-question] .send button", "No")
	p.until("the card disappears", `!document.querySelector('[data-question]')`)
	if q := question(t, city, "asker"); q.State != client.PendingAnswered || q.Answer != "No" {
		t.Errorf("the question is %s with %q", q.State, q.Answer)
	}
}

// The terminal of an agent that gc cannot observe, or that does not stop, says why it cannot be opened. It does not say that the agent
// does not run.
func TestATerminalThatCannotBeOpenedSaysWhy(t *testing.T) {
	city := citytest.New(t, agent("hidden", idle)+agent("stubborn", fake.Script{Immortal: true}.Command()))
	names := []string{"hidden", "stubborn"}
	for _, name := range names {
		session := city.AwaitRunning(name, runtime.ActivityIdle).Session
		city.Agents.Fail("OpenTerminal", session, errors.New("the host does not answer"))
		if name == "hidden" {
			city.Leave()
			city.Agents.Fail("Observe", session, errors.New("the host does not answer"))
			city.Start()
		} else if _, err := city.Client.Suspend(t.Context(), name, client.LifecycleRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	city.Await("hidden", func(a client.Agent) bool { return a.State == client.StateUnknown })
	city.Await("stubborn", func(a client.Agent) bool { return a.State == client.StateStopping })
	p := openConsole(t, city, phone)
	for _, name := range names {
		p.open("#/agent/" + name)
		p.until("the reason is shown for "+name, fmt.Sprintf(`document.querySelector('#page-title').innerText === %q && document.querySelector('.terminal-frame .empty')?.innerText.includes('the host does not answer')`, name))
		if !get[bool](p, `(async () => {
			for (let i = 0; i < 20; i++) {
				await new Promise((next) => setTimeout(next, 50));
				if (!document.querySelector('.terminal-frame .empty')) return false;
			}
			return true;
		})()`) {
			t.Errorf("the reason for %s does not stay", name)
		}
		if !get[bool](p, stateIs("Reconnecting")) || get[bool](p, `document.querySelector('.terminal-frame').innerText.includes('does not run')`) {
			t.Errorf("the terminal of %s shows %q", name, p.text(".terminal-frame"))
		}
	}
	session := city.Await("hidden", func(client.Agent) bool { return true }).Session
	city.Agents.Fail("Observe", session, nil)
	city.Agents.Fail("OpenTerminal", session, nil)
	p.open("#/agent/hidden")
	p.until("the terminal is watched, without the reason", stateIs("Watching")+` && !document.querySelector('.terminal-frame').innerText.includes('does not answer')`)
	city.Agents.Exit(city.Await("stubborn", func(client.Agent) bool { return true }).Session, runtime.Exit{}) // the city can stop
}

// A screen reader gets the rows of a terminal as text, and new output is announced, if the person
// wants it. The choice stays after a reload.
func TestScreenReadersGetTheTextOfATerminal(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	p := openConsole(t, city, phone)
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	if get[bool](p, `!!document.querySelector('.xterm-accessibility')`) {
		t.Error("the text is there before the person wants it")
	}
	p.do(chromedp.Click(chromedp.CSS(`button[aria-label="Text for screen readers"]`)))
	reads := func(text string) string {
		return fmt.Sprintf(`(document.querySelector('.xterm-accessibility-tree')?.textContent ?? '').replaceAll('\u00a0', ' ').includes(%q)`, text)
	}
	city.Agents.Print(session, "the tests have passed\n")
	p.until("the row is text", reads("the tests have passed"))
	p.until("there is a place for announcements", `!!document.querySelector('.xterm-accessibility [aria-live]')`)
	p.checkAccess("terminal with text")
	p.picture("reader")
	p.do(chromedp.Reload())
	p.until("the row is text after a reload", reads("the tests have passed"))
	p.do(chromedp.Click(chromedp.CSS(`button[aria-label="Text for screen readers"]`)))
	p.until("the text is gone", `!document.querySelector('.xterm-accessibility')`)
}

// Output of agents stays in the terminal: it copies nothing, opens nothing, and changes neither the
// page nor its title.
func TestHostileOutputStaysInTheTerminal(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	session := city.AwaitRunning("writer", runtime.ActivityIdle).Session
	p := openConsole(t, city, desk)
	p.open("#/agent/writer")
	p.until("the terminal is watched", stateIs("Watching"))
	title := get[string](p, `(() => {
		window.done = [];
		navigator.clipboard.writeText = async (text) => window.done.push('copied ' + text);
		window.open = (url) => window.done.push('opened ' + url);
		document.execCommand = (command) => window.done.push(command);
		return document.title;
	})()`)
	const hostile = "\x1b]52;c;aGFja2Vk\x07\x1b]0;hacked\x07\x1b]8;;javascript:alert(1)\x07a link\x1b]8;;\x07 <img src=x onerror=window.done.push(1)> the end\n"
	if !city.Agents.Print(session, hostile) {
		t.Fatal("the agent does not run")
	}
	p.until("the output is on the screen as text", shows("<img src=x onerror=window.done.push(1)> the end"))
	p.do(chromedp.MouseClickXY(300, 300))
	if done := get[[]string](p, `window.done.map(String)`); len(done) > 0 {
		t.Errorf("the output did: %q", done)
	}
	if now := get[string](p, `document.title`); now != title {
		t.Errorf("the title is %q, was %q", now, title)
	}
	if get[bool](p, `!!document.querySelector('.xterm img, .xterm script')`) {
		t.Error("output became part of the page")
	}
}
