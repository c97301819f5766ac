package browser

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// agent returns the section of an agent in city.toml.
func agent(name, command string) string {
	return fmt.Sprintf("[[agents]]\nname = %q\nstart_command = '''%s'''\n", name, command)
}

// asks returns the command of an agent that asks a question when it is ready.
func asks(kind, prompt string, options ...string) string {
	return fake.Script{Ask: &runtime.PendingInteraction{Kind: kind, Prompt: prompt, Options: options}}.Command()
}

const (
	idle    = "fake_agent"
	migrate = "Bash command\n\n  npm run migrate -- --env staging\n\nDo you want to proceed?"
)

// newCity starts a city of agents: two with the same question, one with another and younger one, one
// that works and one that is idle.
func newCity(t *testing.T) *citytest.City {
	t.Helper()
	city := citytest.New(t, agent("checkout", asks(runtime.WaitPermission, migrate, "Yes", "No"))+
		agent("payments", asks(runtime.WaitPermission, migrate, "Yes", "No"))+
		agent("search", idle)+
		agent("frontend", fake.Script{Busy: true}.Command())+
		agent("writer", idle))
	awaitQuestions(city, 2)
	city.AwaitRunning("writer", runtime.ActivityIdle)
	city.AwaitRunning("search", runtime.ActivityIdle)
	makeAsk(t, city, "search") // later than the others
	awaitQuestions(city, 3)
	return city
}

func awaitQuestions(city *citytest.City, n int) {
	city.Until(fmt.Sprintf("%d questions are pending", n), func(ctx context.Context) bool {
		list, err := city.Client.Pending(ctx, "", client.OnlyOpen)
		return err == nil && len(list) == n
	})
}

// makeAsk makes an agent ask "Proceed?" with the options yes and no.
func makeAsk(t *testing.T, city *citytest.City, name string) {
	t.Helper()
	if _, err := city.Client.Nudge(t.Context(), name, client.NudgeRequest{Text: "[[ask:Proceed?|yes|no]]"}); err != nil {
		t.Fatal(err)
	}
}

// question returns the newest question of an agent, also an ended one.
func question(t *testing.T, city *citytest.City, name string) client.Pending {
	t.Helper()
	list, err := city.Client.Pending(t.Context(), name, client.WithEnded)
	if err != nil || len(list) == 0 {
		t.Fatalf("the questions of %s are %v, %v", name, list, err)
	}
	return list[len(list)-1]
}

// A person opens the link, is signed in, and the code is nowhere in the address or the history.
func TestALinkSignsIn(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, desk)
	if at := get[string](p, `location.href + ' ' + history.length`); strings.Contains(at, "code") {
		t.Errorf("the address is %s", at)
	}
	if title := get[string](p, `document.title`); !strings.HasPrefix(title, "(3) ") {
		t.Errorf("the title is %q, want the number of questions", title)
	}
	if icon := get[string](p, `document.getElementById('favicon').getAttribute('href')`); !strings.Contains(icon, "/3-") {
		t.Errorf("the icon is %q, want that with the number", icon)
	}
	p.do(chromedp.Reload())
	p.until("a reload stays signed in", `!!document.querySelector('.connection.is-live')`)
	p.open("#/city")
	p.tap("button", "Sign out")
	p.until("the page asks for a code", `!!document.querySelector('.signin input[name=code]')`)
	p.do(chromedp.Reload())
	p.until("the device is signed out", `!!document.querySelector('.signin input[name=code]')`)
}

// A wrong code is refused with a reason, and a right one that is typed signs in.
func TestACodeSignsIn(t *testing.T) {
	city := newCity(t)
	p := openTab(t, city, phone)
	p.expect("/auth/sign-in")
	right := link(t, city)
	base, code, _ := strings.Cut(right, "#code=")
	p.do(chromedp.Navigate(base))
	p.until("the page asks for a code", `document.activeElement?.name === 'code'`)
	p.press("wrong-wrong-wrong", "\r")
	p.until("the page says why", `document.querySelector('[role=alert]')?.innerText.includes('not accepted')`)
	p.do(chromedp.SendKeys(chromedp.CSS("input[name=code]"), code+"\r"))
	p.until("the page is live", `!!document.querySelector('.connection.is-live')`)
}

// A phone answers the oldest question with two taps, without a scroll, for both agents that ask it.
// The agent with another question is not answered.
func TestTwoTapsAnswer(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, phone)
	p.until("two cards for three questions", `document.querySelectorAll('[data-question]').length === 2`)
	if wide := get[int](p, `document.documentElement.scrollWidth`); wide > phone {
		t.Errorf("the page is %d px wide", wide)
	}
	p.tap("[data-question]:first-child .option", "Yes")
	p.tap("[data-question]:first-child .send button", "to 2 agents")
	p.until("the card disappears", `document.querySelectorAll('[data-question]').length === 1`)
	for _, name := range []string{"checkout", "payments"} {
		if q := question(t, city, name); q.State != client.PendingAnswered || q.Answer != "Yes" {
			t.Errorf("the question of %s is %s with %q", name, q.State, q.Answer)
		}
	}
	if q := question(t, city, "search"); q.State != client.PendingOpen {
		t.Errorf("the question of search is %s", q.State)
	}
}

// The address in a notification shows just that question, and says when it is closed.
func TestALinkOpensOneQuestion(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, phone)
	asked := question(t, city, "payments")
	p.open("#/needs/" + asked.ID)
	p.until("one card for one agent", `document.querySelectorAll('[data-question]').length === 1 && document.querySelector('h1').innerText.includes('payments')`)
	p.tap("[data-question] .option", "Yes")
	p.tap("[data-question] .send button", "")
	p.until("the page says that it is closed", `document.querySelector('h1').innerText.includes('closed')`)
	if q := question(t, city, "payments"); q.State != client.PendingAnswered {
		t.Errorf("the question of payments is %s", q.State)
	}
	if q := question(t, city, "checkout"); q.State != client.PendingOpen {
		t.Errorf("the equal question of checkout is %s", q.State)
	}
}

// An address that is not well formed shows the start page.
func TestAMalformedAddressShowsTheStartPage(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	p := openConsole(t, city, desk)
	home := p.text("h1")
	p.open("#/city")
	p.until("another page", fmt.Sprintf(`document.querySelector('h1')?.innerText !== %q`, home))
	p.open("#/%")
	p.until("the start page", fmt.Sprintf(`document.querySelector('h1')?.innerText === %q`, home))
	p.do(chromedp.Reload())
	p.until("the start page after a reload", fmt.Sprintf(`document.querySelector('h1')?.innerText === %q`, home))
}

// Characters that change the order of others are visible on a card: a command must not look like
// another one. The answer has them.
func TestACardShowsCharactersThatReorder(t *testing.T) {
	const command, option = "echo \u202etset\u202c # \u2066x\u2069", "Yes\u202d"
	city := citytest.New(t, agent("coder", asks(runtime.WaitPermission, "Bash \u202bcommand\n\n  "+command+"\n\nProceed?", option, "No")))
	awaitQuestions(city, 1)
	p := openConsole(t, city, desk)
	p.until("the card", `!!document.querySelector('[data-question]')`)
	card := p.text("[data-question]")
	for _, want := range []string{`Bash \u202bcommand`, `echo \u202etset\u202c # \u2066x\u2069`, `Yes\u202d`} {
		if !strings.Contains(card, want) {
			t.Errorf("the card does not show %s:\n%q", want, card)
		}
	}
	p.tap(".option", `Yes\u202d`)
	p.tap(".send button", `Yes\u202d`)
	p.until("the card disappears", `!document.querySelector('[data-question]')`)
	if q := question(t, city, "coder"); q.State != client.PendingAnswered || q.Answer != option {
		t.Errorf("the question is %s with %q", q.State, q.Answer)
	}
}

// No page has characters that cannot be seen or that change the order of others, whatever agents and
// people wrote, in its texts and in the attributes that people read. Emojis stay as they are.
func TestNoPageHasInvisibleCharacters(t *testing.T) {
	const hostile = "a\u202eb\u200bc\u00add\U000e0041e\x1bf\u2028g \U0001f468\u200d\U0001f4bb"
	city := citytest.New(t, agent("coder", asks(runtime.WaitPermission, hostile, "Yes"+hostile, "No"))+agent("writer", idle))
	awaitQuestions(city, 1)
	city.AwaitRunning("writer", runtime.ActivityIdle)
	if _, err := city.Client.Nudge(t.Context(), "writer", client.NudgeRequest{Text: "prompt " + strings.ReplaceAll(hostile, "\x1b", ""), Wait: client.ReceiptSubmitted, Source: "x\u202ey"}); err != nil {
		t.Fatal(err)
	}
	p := openConsole(t, city, desk)
	for _, hash := range []string{"#/needs", "#/fleet", "#/agent/coder/timeline", "#/agent/coder/explain", "#/agent/writer/queue", "#/agent/writer/timeline", "#/agent/no\u202esuch"} {
		p.open(hash)
		p.until("the page is loaded", `!!document.querySelector('main #page-title') && !document.querySelector('.loading')`)
		found := get[string](p, `(() => {
			const hidden = /[\p{Cf}\p{Zl}\p{Zp}\u0000-\u0008\u000b-\u001f]/gu, found = [], emoji = '\u{1f468}\u200d\u{1f4bb}';
			const check = (where, text) => hidden.test(text = text.replaceAll(emoji, '')) && found.push(where + ': ' + JSON.stringify(text));
			const walk = document.createTreeWalker(document.querySelector('#app'), NodeFilter.SHOW_ALL);
			for (let n = walk.nextNode(); n; n = walk.nextNode()) {
				hidden.lastIndex = 0;
				if (n.nodeType === Node.TEXT_NODE) check(n.parentElement.className, n.data);
				else for (const name of ['title', 'aria-label', 'placeholder']) check(name, n.getAttribute?.(name) ?? '');
			}
			return found.join('\n');
		})()`)
		if found != "" {
			t.Errorf("%s has invisible characters:\n%s", hash, found)
		}
	}
	p.open("#/agent/writer/queue")
	p.until("the prompt is shown with escapes and its emoji", `document.querySelector('.prompt-full')?.innerText.includes('a\\u202eb\\u200bc\\u00add\\ue0041ef\\u2028g \u{1f468}\u200d\u{1f4bb}')`)
}

// An agent that asks the same question after a person has chosen an answer does not get this answer.
func TestALateQuestionIsNotAnswered(t *testing.T) {
	city := citytest.New(t, agent("first", idle)+agent("second", idle))
	city.AwaitRunning("first", runtime.ActivityIdle)
	city.AwaitRunning("second", runtime.ActivityIdle)
	makeAsk(t, city, "first")
	awaitQuestions(city, 1)
	p := openConsole(t, city, phone)
	p.tap("[data-question] .option", "yes")
	makeAsk(t, city, "second")
	p.until("the questions share a card, and only the first is marked", `[...document.querySelectorAll('.askers input')].map((e) => e.checked).join() === 'true,false'`)
	p.tap("[data-question] .send button", "to 1 agent")
	p.until("only the second question is left", `document.querySelectorAll('[data-question]').length === 1 && !document.querySelector('.askers').innerText.includes('first')`)
	if a, b := question(t, city, "first"), question(t, city, "second"); a.Answer != "yes" || b.State != client.PendingOpen {
		t.Errorf("the questions are %q and %s", a.Answer, b.State)
	}
}

// An agent that is taken out of a group is not answered.
func TestAnAgentLeavesTheGroup(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, desk)
	p.do(chromedp.Click(chromedp.CSS(`[data-question] input[aria-label="Answer checkout"]`)))
	p.tap("[data-question]:first-child .option", "No")
	p.tap("[data-question]:first-child .send button", "to 1 agent")
	p.until("payments is not in the list", `![...document.querySelectorAll('.askers')].some((e) => e.innerText.includes('payments'))`)
	if a, b := question(t, city, "checkout"), question(t, city, "payments"); a.State != client.PendingOpen || b.Answer != "No" {
		t.Errorf("the questions are %s and %q", a.State, b.Answer)
	}
}

// A question is on the screen soon after the agent asks it, and gone soon after another device
// answers it.
func TestQuestionsAppearAndDisappear(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	p := openConsole(t, city, phone)
	p.until("the page says that nothing waits", `document.querySelector('#page-title').innerText === 'No agent needs you'`)
	get[bool](p, `(() => {
		window.seen = [];
		new MutationObserver(() => {
			const id = document.querySelector('[data-question]')?.dataset.question ?? '';
			if ((window.seen.at(-1)?.id ?? '') !== id) window.seen.push({id, at: Date.now()});
		}).observe(document.body, {subtree: true, childList: true});
		return true;
	})()`)
	var appear, disappear []time.Duration
	for range 5 {
		makeAsk(t, city, "writer")
		p.until("the question is on the screen", `document.querySelector('[data-question]')?.innerText.includes('Proceed?')`)
		q := question(t, city, "writer")
		seen := time.UnixMilli(get[int64](p, `window.seen.at(-1).at`))
		appear = append(appear, seen.Sub(q.Since))
		before := time.Now()
		if _, err := city.Client.Respond(t.Context(), q.ID, client.RespondRequest{Option: "yes"}); err != nil {
			t.Fatal(err)
		}
		p.until("the question is gone", `!document.querySelector('[data-question]')`)
		disappear = append(disappear, time.UnixMilli(get[int64](p, `window.seen.at(-1).at`)).Sub(before))
		city.AwaitRunning("writer", runtime.ActivityIdle)
	}
	slices.Sort(appear)
	slices.Sort(disappear)
	t.Logf("a question appears after %v and disappears after %v", appear, disappear)
	if appear[2] > 500*time.Millisecond {
		t.Errorf("half of the questions appear after more than %v", appear[2])
	}
	if disappear[2] > time.Second {
		t.Errorf("half of the questions disappear after more than %v", disappear[2])
	}
}

// The main flows need no mouse.
func TestTheKeyboardIsEnough(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, desk)
	p.expect("/terminal") // the simulated agents have no terminal
	p.press("n")
	p.until("the first question has the focus", `/checkout|payments/.test(document.activeElement.dataset.agent)`)
	p.press("n")
	p.until("the next question has the focus", `document.activeElement.dataset.agent === 'search'`)
	p.press("2")
	p.until("the option is chosen", `document.activeElement.getAttribute('aria-pressed') === 'true'`)
	if q := question(t, city, "search"); q.State != client.PendingOpen {
		t.Fatalf("one key answered: %+v", q)
	}
	p.press("\r")
	p.until("the question is gone", `document.querySelectorAll('[data-question]').length === 1`)
	if q := question(t, city, "search"); q.Answer != "no" {
		t.Errorf("the answer is %q", q.Answer)
	}
	p.press("f")
	p.until("the fleet has the focus", `document.activeElement.id === 'page-title' && document.activeElement.innerText === 'Fleet'`)
	p.press("/")
	p.press("writ")
	p.until("only writer is shown", `document.querySelectorAll('.agent-row[data-agent]').length === 1`)
	p.press("\x1b", "j", "\r")
	p.until("the agent is shown", `document.querySelector('#page-title').innerText === 'writer'`)
	p.press("p")
	p.press("hello from the keyboard", "\r")
	p.until("the receipt is shown", `/Delivered|Worked on/.test(document.querySelector('.receipt')?.innerText)`)
	p.press("\x1b", "e")
	p.until("the reasons are shown", `document.querySelector('.explain')?.innerText.includes('Activity signals')`)
	before := city.AwaitRunning("writer").Instance
	p.press("r")
	p.until("the restart is to be confirmed by name", `document.querySelector('dialog[open]')?.innerText.includes('Restart writer?')`)
	p.press("\x1b")
	p.until("the dialog is gone", `!document.querySelector('dialog')`)
	if now := city.AwaitRunning("writer").Instance; now != before {
		t.Error("a cancelled restart restarted the agent")
	}
	p.press("r")
	p.until("the restart is to be confirmed", `!!document.querySelector('dialog[open]')`)
	p.press("\t", "\r")
	city.Await("writer", func(a client.Agent) bool { return a.State == client.StateRunning && a.Instance != before })
	p.press("?")
	p.until("the keys are shown", `!!document.querySelector('.help')`)
}

// Several agents are selected and stopped after a confirmation that names them.
func TestSeveralAgentsStop(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, phone)
	p.open("#/fleet")
	for _, name := range []string{"frontend", "writer"} {
		p.do(chromedp.Click(chromedp.CSS(`input[aria-label="Select ` + name + `"]`)))
	}
	p.tap(".bulk button", "Stop")
	p.until("the dialog names the agents", `document.querySelector('dialog .names')?.innerText.split('\n').join() === 'frontend,writer'`)
	p.tap("dialog button", "Stop 2 agents")
	for _, name := range []string{"frontend", "writer"} {
		city.Await(name, func(a client.Agent) bool { return a.State == client.StateSuspended })
	}
	if a := city.AwaitRunning("search"); a.State != client.StateRunning {
		t.Errorf("search is %s", a.State)
	}
}

// The page finds the controller again after a restart of it, and shows what happened meanwhile.
func TestThePageRecovers(t *testing.T) {
	city := newCity(t)
	p := openConsole(t, city, phone)
	p.expect("ERR_")
	p.expect("/api/v1/")
	city.Leave()
	p.until("the page says that the connection is lost", `!!document.querySelector('.connection.is-lost')`)
	p.until("the page says that it may be old", `document.querySelector('.lost-note')?.innerText.includes('may be old')`)
	city.Start()
	p.until("the page is live again", `!!document.querySelector('.connection.is-live') && !document.querySelector('.lost-note')`)
	if _, err := city.Client.Respond(t.Context(), question(t, city, "search").ID, client.RespondRequest{Option: "no"}); err != nil {
		t.Fatal(err)
	}
	p.until("the answered question is gone", `document.querySelectorAll('[data-question]').length === 1`)
}

// Text of agents is text: nothing in it runs or becomes part of the page.
func TestHostileTextIsText(t *testing.T) {
	const hostile = "<img src=x onerror=\"window.attacked=1\"><script>window.attacked=1</script>\n\n  <b>bold</b>\n\njavascript:alert(1) \x1b]52;c;AAAA\x07 proceed?"
	city := citytest.New(t, agent("worker", asks(runtime.WaitQuestion, hostile, "<i>Yes</i>", "No")))
	city.AwaitRunning("worker")
	p := openConsole(t, city, phone)
	p.until("the text is shown as it is", `document.querySelector('[data-question]')?.innerText.includes('<script>window.attacked=1</script>')`)
	if get[bool](p, `!!window.attacked || !!document.querySelector('[data-question] :is(img, script, b, i)')`) {
		t.Error("text of an agent became part of the page")
	}
}

// A city of 200 agents is on the screen within a second, and its store does not grow with the events.
func TestTwoHundredAgents(t *testing.T) {
	var config strings.Builder
	for i := range 200 {
		config.WriteString(agent(fmt.Sprintf("worker-%03d", i), idle))
	}
	city := citytest.New(t, "[daemon]\nmax_wakes_per_tick = 50\n"+config.String())
	city.Until("all agents are idle", func(ctx context.Context) bool {
		status, err := city.Client.Status(ctx)
		return err == nil && !slices.ContainsFunc(status.Agents, func(a client.Agent) bool { return a.Activity.State != string(runtime.ActivityIdle) })
	})
	p := openConsole(t, city, desk)
	p.open("#/fleet")
	p.until("all agents are in the table", `document.querySelectorAll('.agent-row[data-agent]').length === 200`)
	p.do(chromedp.Reload())
	p.until("all agents are in the table", `document.querySelectorAll('.agent-row[data-agent]').length === 200`)
	took := time.Duration(get[float64](p, `performance.now()`)) * time.Millisecond
	t.Logf("the table of 200 agents is complete %v after the reload began", took)
	if took > time.Second {
		t.Errorf("the table of 200 agents takes %v", took)
	}
}

// Each page has no violation of accessibility, in both themes, on a phone and on a desk.
func TestPagesAreAccessible(t *testing.T) {
	city := newCity(t)
	pages := map[string]string{
		"needs": "#/needs", "fleet": "#/fleet", "agent": "#/agent/checkout", "queue": "#/agent/writer/queue", "conversation": "#/agent/writer/conversation",
		"timeline": "#/agent/writer/timeline", "usage": "#/agent/writer/usage", "explain": "#/agent/writer/explain", "guard": "#/agent/writer/guard", "city": "#/city",
	}
	pages["one question"] = "#/needs/" + question(t, city, "search").ID
	if _, err := city.Client.Nudge(t.Context(), "writer", client.NudgeRequest{Text: "hello", Wait: client.ReceiptSubmitted}); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{phone, desk} {
		p := openTab(t, city, width)
		p.expect("/terminal") // the simulated agents have no terminal
		p.do(chromedp.Navigate(strings.Split(link(t, city), "#")[0]))
		for _, theme := range []string{"light", "dark"} {
			p.setTheme(theme)
			p.until("the page asks for a code", `!!document.querySelector('.signin')`)
			p.checkAccess(fmt.Sprintf("sign-in, %s, %d px", theme, width))
		}
		p.do(chromedp.Navigate(link(t, city)))
		p.until("the page is live", `!!document.querySelector('.connection.is-live') && !!document.querySelector('#page-title')`)
		for _, theme := range []string{"light", "dark"} {
			p.setTheme(theme)
			for name, hash := range pages {
				p.open(hash)
				p.until("the page is loaded", fmt.Sprintf(`location.hash === %q && !!document.querySelector('main #page-title') && !document.querySelector('.loading')`, hash))
				p.checkAccess(fmt.Sprintf("%s, %s, %d px", name, theme, width))
				if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > width {
					t.Errorf("%s is %d px wide on a screen of %d px", name, wide, width)
				}
			}
			p.open("#/fleet")
			p.tap(".views button", "Screens")
			p.until("a screen is drawn", drawn("checkout", `true`)+` > 0`)
			p.checkAccess(fmt.Sprintf("wall, %s, %d px", theme, width))
			if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > width {
				t.Errorf("the wall is %d px wide on a screen of %d px", wide, width)
			}
			p.tap(".views button", "Table")
		}
	}
}
