package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
	"gascity/test/pushtest"
	"gascity/worker"
)

// frame is a size of the screen whose pictures are taken in both themes.
type frame struct{ width, height int64 }

var frames = []frame{{phone, 780}, {1440, 900}}

// hidden is a script that lists what a person cannot read or hit with a finger on the screen as it is.
const hidden = `(() => {
	const out = new Set(), name = (e) => e.tagName.toLowerCase() + (typeof e.className === 'string' && e.className ? '.' + e.className.trim().split(/\s+/).join('.') : '') + ' ' + JSON.stringify((e.getAttribute('aria-label') || e.innerText || '').slice(0, 40));
	if (document.documentElement.scrollWidth > innerWidth) out.add('the page is ' + document.documentElement.scrollWidth + ' px wide');
	for (const e of document.querySelectorAll('#app *, dialog *')) {
		const r = e.getBoundingClientRect(), s = getComputedStyle(e);
		if (!r.width || !r.height || s.visibility === 'hidden' || e.closest('.hidden, .skip, .xterm')) continue;
		if (e.matches('button, a, input, textarea, select, summary') && innerWidth < 700) {
			const hit = e.matches('input[type=checkbox], input[type=radio]') && e.closest('label') ? e.closest('label').getBoundingClientRect() : r;
			if ((hit.height < 40 || hit.width < 40) && !e.closest('p, dd, td, .chart')) out.add('small: ' + Math.round(hit.width) + 'x' + Math.round(hit.height) + ' ' + name(e));
		}
		if (e.children.length === 0 && (s.overflowX === 'hidden' || s.textOverflow === 'ellipsis') && e.scrollWidth > e.clientWidth + 1) out.add('cut: ' + name(e));
		if (e.children.length === 0 && (r.right > innerWidth + 1 || r.left < -1) && !e.closest('.chips, .tabs, .code, .table-box, .key-bar, .terminal-place, textarea')) out.add('outside: ' + name(e));
	}
	return [...out].join('\n');
})()`

// shot saves what is on the screen and, if the page is longer, the whole page, and logs what is hidden.
func (p *page) shot(name string, f frame, theme string) {
	p.t.Helper()
	name = fmt.Sprintf("%s-%d-%s", name, f.width, theme)
	get[bool](p, `document.fonts.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true)))))`)
	text, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	p.savePicture(name, text)
	if get[int64](p, `document.documentElement.scrollHeight`) > f.height {
		p.savePicture(name+"-whole", p.screenshot())
	}
	if found := get[string](p, hidden); found != "" && theme == "light" {
		p.t.Logf("%s:\n%s", name, found)
	}
}

// shots takes the pictures in both themes.
func (p *page) shots(name string, f frame) {
	p.t.Helper()
	for _, theme := range []string{"dark", "light"} {
		p.setTheme(theme)
		p.shot(name, f, theme)
	}
}

// openFrame opens a tab of the size.
func openFrame(t *testing.T, city *citytest.City, f frame) *page {
	t.Helper()
	p := openTab(t, city, f.width)
	p.do(chromedp.EmulateViewport(f.width, f.height))
	return p
}

// click clicks an element with a script, wherever it is.
func (p *page) click(selector, text string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%q) || e.ariaLabel === %q)`, selector, text, text)
	p.until(fmt.Sprintf("there is %s with %q", selector, text), `!!`+find)
	get[bool](p, `(`+find+`.click(), true)`)
}

// center scrolls an element to the middle of the screen.
func (p *page) center(selector string) {
	p.t.Helper()
	get[bool](p, fmt.Sprintf(`(document.querySelector(%q).scrollIntoView({block: 'center'}), true)`, selector))
}

// busyCity is a city that has something to show on every page.
func busyCity(t *testing.T, service *pushtest.Service) (*citytest.City, talk) {
	t.Helper()
	in := func(dir, name, command string) string { return agent(name, command) + fmt.Sprintf("dir = %q\n", dir) }
	free := fake.Script{Ask: &runtime.PendingInteraction{Kind: runtime.WaitQuestion, Prompt: "Should the guide cover Windows? The draft has only Linux and macOS.", Metadata: map[string]string{runtime.MetaText: "yes"}}}.Command()
	edit := fake.Script{Ask: &runtime.PendingInteraction{
		Kind: runtime.WaitPermission, Prompt: "Do you want to make this edit to total.go?", Options: []string{"Yes", "Yes, allow all edits during this session", "No, and tell Claude what to do differently"},
		Metadata: map[string]string{runtime.MetaTool: "Edit", runtime.MetaInput: `{"file_path":"src/cart/total.go","old_string":"return sum","new_string":"return sum * (100 + tax) / 100"}`},
	}}.Command()
	city := citytest.New(t, "[workspace]\nname = \"shop\"\n"+phoneSink+guarded()+
		"[[usage.budgets]]\nname = \"day\"\nmeasure = \"usd\"\nscope = \"agent\"\nlimit = 10\nwindow = \"24h\"\nact = \"hold\"\n[[usage.budgets]]\nname = \"tokens\"\nmeasure = \"tokens\"\nscope = \"city\"\nlimit = 2000000\nwindow = \"24h\"\nact = \"warn\"\n"+
		in("shop", "checkout", asks(runtime.WaitPermission, migrate, "Yes", "Yes, and don't ask again for npm run migrate commands in this project", "No, and tell Claude what to do differently (esc)"))+
		in("shop", "payments", asks(runtime.WaitPermission, migrate, "Yes", "Yes, and don't ask again for npm run migrate commands in this project", "No, and tell Claude what to do differently (esc)"))+
		in("shop", "refunds", asks(runtime.WaitPermission, migrate, "Yes", "Yes, and don't ask again for npm run migrate commands in this project", "No, and tell Claude what to do differently (esc)"))+
		in("shop", "search", asks(runtime.WaitMenu, "Which index should the search use?", "Postgres full text", "Meilisearch", "Elasticsearch"))+
		in("shop", "cart", edit)+
		in("shop", "frontend", fake.Script{Busy: true}.Command())+
		in("platform", "deploy", idle)+
		in("platform", "billing", fake.Script{Behaviour: runtimetest.Behaviour{ExitAfter: 10 * time.Millisecond, ExitCode: 3, LastWords: "Error: cannot connect to postgres at db.internal:5432: connection refused"}}.Command())+
		in("platform", "infra", idle)+
		in("platform", "migration-of-the-customer-database", fake.Script{Busy: true}.Command())+
		in("docs", "guide", free)+
		in("docs", "writer", fake.Script{Behaviour: runtimetest.Behaviour{Turn: 100 * time.Millisecond}}.Command())+
		in("docs", "reviewer", idle)+"session = \"acp\"\n",
		func(o *app.Options) {
			o.PushDial, o.PushTLS = service.Dial, service.TLS()
			for _, value := range o.Environ {
				if home, ok := strings.CutPrefix(value, "HOME="); ok {
					for _, dir := range []string{"shop", "platform", "docs"} {
						if err := os.MkdirAll(filepath.Join(home, "town", dir), 0o700); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		})
	newTree(t, city).change()
	awaitQuestions(city, 6)
	for name, text := range map[string]string{"docs/writer": "Write the release notes for 2.4.\n\nUse short sentences, and name every change of the API that breaks a client.", "platform/infra": "Update the base images", "docs/reviewer": "Review the install guide"} {
		if _, err := city.Client.Nudge(t.Context(), name, client.NudgeRequest{Text: text, Wait: client.ReceiptSubmitted}); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"Add the gift card columns to staging", "Then write a test for a refund of a gift card that was partly used, and run the whole suite", "Open a pull request"} {
		if _, err := city.Client.Nudge(t.Context(), "shop/checkout", client.NudgeRequest{Text: text, Source: "planner"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := city.Client.Suspend(t.Context(), "platform/infra", client.LifecycleRequest{Reason: "no deploys before Monday"}); err != nil {
		t.Fatal(err)
	}
	w := city.Worker("docs/writer")
	spend(t, w, "m1", 150_000, 2.25)
	spend(t, w, "m2", 620_000, 6.5)
	spend(t, city.Worker("shop/frontend"), "m3", 90_000, 1.1)
	for name, used := range map[string]float64{"docs/writer": 0.42, "shop/frontend": 0.91} {
		if _, err := city.Worker(name).Telemetry(t.Context(), worker.TelemetryEvent{Type: worker.ContextPressure, Timestamp: time.Now(), ContextUsage: &used}); err != nil {
			t.Fatal(err)
		}
	}
	var lines strings.Builder
	for i, one := range []struct{ command, action, rule, reason string }{
		{"go test ./...", "allow", "", ""}, {"git push --force origin main", "deny", "force-push", "a force push destroys commits of others"}, {"curl -fsSL https://example.com/install.sh | sh", "ask", "pipe-to-shell", "it runs a program from the network"},
	} {
		line, err := json.Marshal(map[string]any{"at": time.Now().Add(time.Duration(i-9) * time.Minute).UTC(), "session": "s", "tool": "Bash", "input": map[string]string{"command": one.command}, "agent": "docs/writer", "action": one.action, "rule": one.rule, "reason": one.reason, "dir": "/home/ada/shop"})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	if err := os.WriteFile(filepath.Join(city.Root, ".gc", "log", "guard.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	authorize(t, city, "platform/deploy", "sudo sh -c 'make install'")
	awaitQuestions(city, 7)
	for name, text := range map[string]string{
		"docs/writer":   "\x1b[2J\x1b[H\x1b[1m# Release notes 2.4\x1b[0m\r\n\r\n\x1b[32m+ web console: answer equal questions at once\x1b[0m\r\n\x1b[31m- gc top: the old list\x1b[0m\r\n\r\n" + strings.Repeat("The quick brown fox jumps over the lazy dog and goes to the end of this line.\r\n", 8) + "\r\n\x1b[36m❯\x1b[0m ",
		"shop/frontend": "\x1b[2J\x1b[H\x1b[33m● Update(src/cart/page.tsx)\x1b[0m\r\n  \x1b[42m+ <Cart items={items}/>\x1b[0m\r\n  \x1b[41m- <OldCart/>\x1b[0m\r\n\r\n✻ Thinking… (42s · esc to interrupt)",
	} {
		if !city.Agents.Print(city.AwaitRunning(name).Session, text) {
			t.Fatalf("%s does not run", name)
		}
	}
	session, err := city.Client.Session(t.Context(), "docs/reviewer")
	if err != nil {
		t.Fatal(err)
	}
	record := talk{t, filepath.Join(city.Root, ".gc", "log", session.Session+".conversation.jsonl")}
	record.sample()
	city.Await("platform/billing", func(a client.Agent) bool { return a.State == client.StateFailed || a.State == client.StateQuarantined })
	return city, record
}

// The pictures of every page, for people: GC_TEST_PICTURES names their directory. The log has what is cut, outside of the screen or
// small for a finger.
func TestPicturesOfEveryPage(t *testing.T) {
	if os.Getenv("GC_TEST_PICTURES") == "" {
		t.Skip("GC_TEST_PICTURES does not name a directory for the pictures")
	}
	service := pushtest.New(t)
	for _, f := range frames {
		city, _ := busyCity(t, service)
		p := openFrame(t, city, f)
		p.subscribeAs(service.Subscribe())
		for _, part := range []string{"ERR_", "/api/v1/", "/auth/", "WebSocket", "/terminal"} {
			p.expect(part)
		}
		p.do(chromedp.Navigate(strings.Split(link(t, city), "#")[0]))
		p.until("the page asks for a code", `!!document.querySelector('.signin')`)
		p.shots("signin", f)
		p.do(chromedp.SendKeys(chromedp.CSS("input[name=code]"), "wrong-wrong-wrong\r"))
		p.until("the page says why", `!!document.querySelector('[role=alert]')`)
		p.shots("signin-wrong", f)
		p.visit(link(t, city))
		p.picturesOfNeeds(f)
		p.picturesOfFleet(f)
		p.picturesOfAgents(f)
		p.picturesOfCity(f)
		p.open("#/needs")
		city.Leave()
		p.until("the page says that the connection is lost", `!!document.querySelector('.connection.is-lost')`)
		p.shots("lost-needs", f)
		p.open("#/agent/docs%2Fwriter")
		p.until("the agent is shown", `!!document.querySelector('.terminal-state')`)
		p.shots("lost-agent", f)
		city.Start()
	}
}

// load opens a page and returns when it is complete.
func (p *page) load(hash, ready string) {
	p.t.Helper()
	p.open(hash)
	p.until("the page is loaded", fmt.Sprintf(`location.hash === %q && !!document.querySelector('main #page-title') && !document.querySelector('.loading') && (%s)`, hash, ready))
	get[bool](p, `(scrollTo(0, 0), true)`)
}

func (p *page) picturesOfNeeds(f frame) {
	p.t.Helper()
	p.load("#/needs", `document.querySelectorAll('[data-question]').length === 5`)
	p.shots("needs", f)
	p.click("[data-question] .option", "Yes")
	p.shots("needs-chosen", f)
	p.press("\x1b")
	p.click(".always button", "Allow always")
	p.center(".always.preview")
	p.shots("needs-always", f)
	p.click(".always button", "Cancel")
	if f.width == phone { // docs/images/web-needs-me.png; docs/images/web-fleet.png is fleet-1440-light
		p.do(chromedp.EmulateViewport(phone, 740, chromedp.EmulateScale(2)))
		p.setTheme("dark")
		p.click("[data-question]:has(.askers input) .option", "Yes")
		get[bool](p, `(document.querySelector('[data-question]:has(.askers input)').scrollIntoView(), true)`)
		p.shot("docs-needs", f, "dark")
		p.press("\x1b")
		p.do(chromedp.EmulateViewport(f.width, f.height))
	}
	p.click("[data-agent='shop/search'] .option", "Meilisearch")
	p.click("[data-agent='shop/search'] .send button", "Send")
	p.until("the message", `!!document.querySelector('.message')`)
	p.shots("needs-answered", f)
	p.click(".message button", "Close message")
	p.load("#/needs/"+question(p.t, p.city, "docs/guide").ID, `!!document.querySelector('[data-question]')`)
	p.shots("needs-one", f)
	p.load("#/needs/q-0", `true`)
	p.shots("needs-closed", f)
}

func (p *page) picturesOfFleet(f frame) {
	p.t.Helper()
	p.load("#/fleet", `document.querySelectorAll('.agent-row[data-agent]').length === 13`)
	p.shots("fleet", f)
	p.do(chromedp.Click(chromedp.CSS(`input[aria-label="Select shop/frontend"]`)))
	p.shots("fleet-selected", f)
	p.click(".bulk button", "Stop")
	p.until("the dialog", `!!document.querySelector('dialog[open]')`)
	p.shots("fleet-dialog", f)
	p.press("\x1b")
	p.click(".bulk button", "Clear the selection")
	p.click(".views button", "Screens")
	p.until("a screen is drawn", drawn("shop/checkout", `true`)+` > 0`)
	p.shots("wall", f)
	p.click(".views button", "Table")
	get[bool](p, `(() => { const e = document.querySelector('#search'); e.value = 'nothing like this'; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`)
	p.until("no agent", `!!document.querySelector('.empty')`)
	p.shots("fleet-empty", f)
	p.click(".empty button", "Show all")
	if f.width > 700 {
		p.press("?")
		p.shots("help", f)
		p.press("?")
	}
}

func (p *page) picturesOfAgents(f frame) {
	p.t.Helper()
	p.load("#/agent/docs%2Fwriter", stateIs("Watching")+` && `+shows("Release notes"))
	p.shots("terminal", f)
	p.click(".terminal-bar button", "Take over")
	p.until("the page types", stateIs("You type"))
	p.shots("terminal-driving", f)
	p.click(".terminal-bar button", "Stop typing")
	p.load("#/agent/shop%2Fcheckout", `!!document.querySelector('.terminal-state')`)
	p.shots("terminal-question", f)
	p.load("#/agent/platform%2Fbilling", `!!document.querySelector('.terminal-state')`)
	p.shots("terminal-failed", f)
	p.load("#/agent/platform%2Finfra", `!!document.querySelector('.terminal-state')`)
	p.shots("terminal-stopped", f)
	p.load("#/agent/no-such", `true`)
	p.shots("agent-absent", f)
	p.load("#/agent/docs%2Freviewer/conversation", `document.querySelectorAll('.talk > li').length > 5`)
	p.shots("conversation", f)
	get[bool](p, `(document.querySelectorAll('.talk details').forEach((d) => (d.open = true)), true)`)
	p.shots("conversation-open", f)
	p.load("#/agent/shop%2Fcheckout/queue", `document.querySelectorAll('.prompt-full').length === 3`)
	p.shots("queue", f)
	p.load("#/agent/docs%2Fwriter/queue", `!!document.querySelector('.prompt-full')`)
	p.shots("queue-ended", f)
	p.load("#/agent/shop%2Fcart/queue", `true`)
	p.shots("queue-empty", f)
	p.load("#/agent/docs%2Fwriter/files", `document.querySelectorAll('.file').length >= 5`)
	if f.width < 700 {
		p.click(".file-head", "total.go")
	}
	p.shots("files", f)
	p.load("#/agent/docs%2Fwriter/timeline", `!!document.querySelector('.event')`)
	p.shots("timeline", f)
	p.load("#/agent/docs%2Fwriter/usage", `!!document.querySelector('.usage-total')`)
	p.shots("usage", f)
	p.load("#/agent/shop%2Fcart/usage", `!!document.querySelector('.usage')`)
	p.shots("usage-empty", f)
	p.load("#/agent/docs%2Fwriter/guard", `!!document.querySelector('.decision')`)
	p.do(chromedp.SendKeys(chromedp.CSS("#check"), "sudo sh -c 'git push -f'\r"))
	p.until("the guard's answer", `document.querySelector('.check [role=status]').innerText.includes('Deny')`)
	p.shots("guard", f)
	for _, name := range []string{"docs/writer", "platform/billing"} {
		p.load("#/agent/"+strings.ReplaceAll(name, "/", "%2F")+"/explain", `!!document.querySelector('.explain')`)
		p.shots("explain-"+filepath.Base(name), f)
	}
	get[bool](p, `(document.querySelector('[role=tab][aria-selected=true]').focus(), true)`)
	p.press("\t")
	p.shots("focus", f)
}

func (p *page) picturesOfCity(f frame) {
	p.t.Helper()
	p.load("#/city", `document.querySelector('.notifications')?.innerText.includes('gets no notifications')`)
	p.shots("city", f)
	p.click(".notifications button", "Notify this device")
	p.until("notifications are on", `document.querySelector('.notifications').innerText.includes('This device gets notifications')`)
	p.shots("city-notified", f)
	p.click("button", "Edit city.toml")
	p.until("the text", `document.activeElement?.id === 'city-toml'`)
	edit := func(from, to string) {
		get[bool](p, fmt.Sprintf(`(() => { const e = document.getElementById('city-toml'); e.value = e.value.replace(%q, %q); e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`, from, to))
		p.click(".editor button", "Preview")
	}
	edit("[workspace]", "provder = \"x\"\n[workspace]")
	p.until("the mistake", `/Line \d+.*unknown key/s.test(document.querySelector('.editor .findings')?.innerText)`)
	p.center(".editor > .card-buttons")
	p.shots("city-mistake", f)
	edit("provder = \"x\"\n", "[[agents]]\nname = \"second\"\nstart_command = \"fake_agent\"\n")
	p.until("the plan", `/start\s+second/.test(document.querySelector('.plan-preview')?.innerText)`)
	p.center(".editor > .card-buttons")
	p.shots("city-plan", f)
	p.click(".editor button", "Apply")
	p.until("the dialog", `!!document.querySelector('dialog[open]')`)
	p.shots("city-apply", f)
	p.press("\x1b")
	p.click(".editor button", "Close")
	p.click("dialog button", "Discard")
}

// The pictures of the start page and of a city without agents.
func TestPicturesOfTheBeginning(t *testing.T) {
	if os.Getenv("GC_TEST_PICTURES") == "" {
		t.Skip("GC_TEST_PICTURES does not name a directory for the pictures")
	}
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "claude"), []byte("#!/bin/sh\necho '2.0.1 (Claude Code)'\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, f := range frames {
		city := citytest.New(t, "[workspace]\nname = \"empty\"\n")
		p := openFrame(t, city, f)
		p.expect("/api/v1/")
		p.visit(link(t, city))
		p.load("#/needs", `true`)
		p.shots("empty-needs", f)
		p.load("#/fleet", `true`)
		p.shots("empty-fleet", f)
		p.load("#/city", `true`)
		p.shots("empty-city", f)
		p.click(".doctor button", "Run the checks")
		p.until("the checks are done", `/\d+ passed/.test(document.querySelector('.doctor [role=status]').innerText)`)
		p.click(".doctor button", "Show passed checks")
		p.shots("empty-doctor", f)

		daemon := citytest.NewDaemon(app.Options{Environ: []string{"HOME=" + home, "PATH=" + home}, Executable: "gc", Version: "test"}, fake.New())
		links, ended := make(chan string, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			ended <- daemon.ServeStartPage(ctx, cli.StartPage{
				Folder: filepath.Join(home, "projects", "shop"),
				Ready:  func(link, _ string) error { links <- link; return nil },
				Create: func(context.Context, cli.StartRequest) (cli.StartedCity, error) {
					return cli.StartedCity{}, fmt.Errorf("%w: cannot write /home/ada/projects/shop/city.toml: the disk is full", client.ErrRefused)
				},
			})
		}()
		p.do(chromedp.Navigate(<-links))
		p.untilNavigated(`document.querySelector('h1')?.innerText === 'Start a city'`)
		p.shots("start", f)
		p.click("button", "Start the city")
		p.until("the reason of a failure", `document.querySelector('[role=alert]')?.innerText.includes('the disk is full')`)
		p.shots("start-failed", f)
		cancel()
		t.Log("the start page ended:", <-ended)
	}
}
