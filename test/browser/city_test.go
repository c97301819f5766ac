package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/cli"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
	"gascity/test/citytest"
)

// checkThemes runs axe in both themes, and checks that nothing is wider than the screen.
func (p *page) checkThemes(what string, width int64) {
	p.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		p.setTheme(theme)
		p.checkAccess(fmt.Sprintf("%s, %s, %d px", what, theme, width))
		p.picture(fmt.Sprintf("%s-%s-%d", what, theme, width))
	}
	if wide := get[int64](p, `document.documentElement.scrollWidth`); wide > width {
		p.t.Errorf("%s is %d px wide on a screen of %d px", what, wide, width)
	}
}

// untilNavigated waits for a JavaScript expression to become true while the page goes to another
// address.
func (p *page) untilNavigated(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	for {
		_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience)))
		if err == nil {
			return
		}
		// While the page changes, its old context is gone; the next try finds the new one.
		if ctx.Err() != nil {
			p.t.Fatalf("the page does not arrive: %v", err)
		}
	}
}

// A person runs the checks of the doctor and reads the results.
func TestTheDoctorRunsOnAButton(t *testing.T) {
	city := citytest.New(t, "[workspace]\nname = \"town\"\n")
	for _, width := range []int64{phone, desk} {
		p := openConsole(t, city, width)
		p.open("#/city")
		p.until("the page of the city", `document.querySelector('.doctor button')?.innerText === 'Run the checks'`)
		get[bool](p, `(document.querySelector('.doctor').scrollIntoView(), true)`)
		p.tap(".doctor button", "Run the checks")
		p.until("the checks are done", `/\d+ passed/.test(document.querySelector('.doctor [role=status]').innerText)`)
		get[bool](p, `(document.querySelector('.doctor .card-buttons').scrollIntoView({block: 'center'}), true)`)
		p.tap(".doctor button", "Show passed checks")
		p.until("the passed checks", `[...document.querySelectorAll('.findings strong')].some((e) => e.innerText === 'config')`)
		p.checkThemes("doctor", width)
	}
}

// A device with the lowest scope sees why it cannot run the checks, and no editor.
func TestALowScopeHasNoTools(t *testing.T) {
	city := citytest.New(t, "[workspace]\n")
	if _, err := city.Client.StartWeb(t.Context(), client.WebRequest{Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	code, err := city.Client.NewWebCode(t.Context(), client.WebCodeRequest{Scope: client.ScopeSee})
	if err != nil {
		t.Fatal(err)
	}
	p := openTab(t, city, desk)
	p.expect("/api/v1/web/devices")
	p.do(chromedp.Navigate(code.Link))
	p.until("the page is live", `!!document.querySelector('.connection.is-live')`)
	p.open("#/city")
	p.until("the doctor names the scope", `document.querySelector('.doctor')?.innerText.includes('scope manage')`)
	if get[bool](p, `!!document.querySelector('.doctor button') || document.body.innerText.includes('Edit city.toml')`) {
		t.Error("a device that may only see has buttons for more")
	}
}

// The decisions of the guard are on the page of the agent, newest first, and a command can be checked.
func TestGuardDecisionsAreShown(t *testing.T) {
	city := citytest.New(t, "[guard]\nsets = [\"dangerous-command\"]\n"+agent("writer", idle))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	var lines strings.Builder
	for i := range 60 {
		fmt.Fprintf(&lines, `{"at":"2026-01-02T03:%02d:05Z","session":"s","tool":"Bash","input":{"command":"go test ./part%d"},"agent":"writer","action":"allow"}`+"\n", i, i)
	}
	lines.WriteString(`{"at":"2026-01-02T04:04:05Z","session":"s","tool":"Bash","input":{"command":"git push --force # \u202e"},"agent":"writer","dir":"/w","action":"deny","rule":"force-push","reason":"a force push destroys","part":"git push --force"}` + "\n")
	if err := os.WriteFile(filepath.Join(city.Root, ".gc", "log", "guard.jsonl"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{phone, desk} {
		p := openConsole(t, city, width)
		p.open("#/agent/writer/guard")
		p.until("the newest decision is the first", `document.querySelector('.decision')?.innerText.includes('Denied')`)
		first := p.text(".decision")
		for _, want := range []string{"Bash", "rule force-push", `git push --force # \u202e`, "a force push destroys", "/w"} {
			if !strings.Contains(first, want) {
				t.Errorf("the decision does not show %q:\n%s", want, first)
			}
		}
		p.do(chromedp.SendKeys(chromedp.CSS("#check"), "sudo sh -c 'git push -f'\r"))
		p.until("the guard's answer", `/Deny.*rule force-push/s.test(document.querySelector('.check [role=status]').innerText)`)
		p.checkThemes("guard", width)
		get[bool](p, `(document.querySelector('.more').scrollIntoView({block: 'center'}), true)`)
		p.tap(".more button", "older")
		p.until("all decisions", `document.querySelectorAll('.decision').length === 61 && !document.querySelector('.more')`)
		get[bool](p, `([...document.querySelectorAll('.chip')].find((e) => e.innerText === 'Denied').click(), true)`)
		p.until("the denied one", `document.querySelectorAll('.decision').length === 1`)
	}
}

// After more new decisions than one page has, the list has no gap: the older ones are loaded again on demand.
func TestManyNewDecisionsLeaveNoGap(t *testing.T) {
	city := citytest.New(t, guarded("writer"))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	path := filepath.Join(city.Root, ".gc", "log", "guard.jsonl")
	written := 0
	write := func(n int) {
		t.Helper()
		var lines strings.Builder
		for range n {
			fmt.Fprintf(&lines, `{"at":"2026-01-02T03:%02d:%02dZ","session":"s","tool":"Bash","input":{"command":"go test ./part%d"},"agent":"writer","action":"allow"}`+"\n", written/60, written%60, written)
			written++
		}
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = file.WriteString(lines.String())
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(80)
	p := openConsole(t, city, desk)
	p.open("#/agent/writer/guard")
	older := `[...document.querySelectorAll('.more button')].find((e) => e.innerText.includes('older'))`
	p.until("the first page", `document.querySelectorAll('.decision').length === 50`)
	get[bool](p, `(`+older+`.click(), true)`)
	p.until("all decisions", `document.querySelectorAll('.decision').length === 80`)
	write(70)
	if d := <-authorize(t, city, "writer", "ls"); !d.Allowed { // the event makes the page load
		t.Fatalf("the call is not allowed: %s", d.Reason)
	}
	p.until("the newest decision is shown", `document.querySelector('.decision')?.innerText.includes('ls')`)
	for range 3 {
		if get[bool](p, `!`+older) {
			break
		}
		before := get[int](p, `document.querySelectorAll('.decision').length`)
		get[bool](p, `(`+older+`.click(), true)`)
		p.until("older decisions", fmt.Sprintf(`document.querySelectorAll('.decision').length > %d`, before))
	}
	if missing := get[[]int](p, fmt.Sprintf(`(() => {
		const text = [...document.querySelectorAll('.decision .call')].map((e) => e.innerText);
		return [...Array(%d).keys()].filter((i) => !text.some((t) => t.endsWith('/part' + i)));
	})()`, written)); len(missing) > 0 {
		t.Errorf("the decisions %v are missing", missing)
	}
}

// A person edits city.toml: a mistake is shown at its line, a preview shows the plan, and only Apply
// writes the file. An edit on disk meanwhile is shown and not lost.
func TestCityTomlIsEdited(t *testing.T) {
	const toml = "[upstreams.paid]\nbase_url = \"https://paid.example/v1\"\napi_key = \"a-literal-credential\"\n"
	for _, width := range []int64{phone, desk} {
		city := citytest.New(t, toml+agent("writer", idle))
		city.AwaitRunning("writer", runtime.ActivityIdle)
		path := filepath.Join(city.Root, client.CityFile)
		p := openConsole(t, city, width)
		p.open("#/city")
		edit := func(what, more string) {
			get[bool](p, fmt.Sprintf(`(() => { const e = document.getElementById('city-toml'); e.value += %q; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`, more))
			get[bool](p, `(document.querySelector('.editor .card-buttons').scrollIntoView({block: 'center'}), true)`)
			p.tap(".editor > .card-buttons button", what)
		}
		p.until("the button", `[...document.querySelectorAll('button')].some((e) => e.innerText === 'Edit city.toml')`)
		get[bool](p, `([...document.querySelectorAll('button')].find((e) => e.innerText === 'Edit city.toml').scrollIntoView({block: 'center'}), true)`)
		p.tap("button", "Edit city.toml")
		p.until("the text has the focus", `document.activeElement?.id === 'city-toml' && document.activeElement.value.includes('paid.example')`)
		if text := get[string](p, `document.getElementById('city-toml').value`); strings.Contains(text, "a-literal") {
			t.Errorf("the editor shows a credential:\n%s", text)
		}
		edit("Preview", "provder = \"x\"\n")
		p.until("the mistake", `/Line \d+.*unknown key/s.test(document.querySelector('.editor .findings')?.innerText)`)
		if !get[bool](p, `[...document.querySelectorAll('.editor .card-buttons button')].find((e) => e.innerText === 'Apply').disabled`) {
			t.Error("a text with a mistake can be applied")
		}
		p.checkThemes("editor-mistake", width)
		get[bool](p, `(() => { const e = document.getElementById('city-toml'); e.value = e.value.replace('provder = "x"\n', ''); e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`)
		edit("Preview", agent("second", idle))
		p.until("the plan", `/start\s+second/.test(document.querySelector('.plan-preview')?.innerText)`)
		p.checkThemes("editor-plan", width)
		if text, err := os.ReadFile(path); err != nil || string(text) != toml+agent("writer", idle) {
			t.Errorf("a preview has changed the file: %s, %v", text, err)
		}
		city.Write(toml + agent("writer", idle) + "# by hand\n")
		edit("Apply", "")
		p.tap("dialog button", "Apply")
		p.expect("/api/v1/config/file")
		p.until("the difference on disk", `document.querySelector('.conflict .added')?.innerText.includes('# by hand')`)
		p.checkThemes("editor-conflict", width)
		get[bool](p, `(document.querySelector('.conflict .card-buttons').scrollIntoView({block: 'center'}), true)`)
		p.tap(".conflict button", "Keep my text")
		edit("Preview", "")
		p.until("the plan again", `/start\s+second/.test(document.querySelector('.plan-preview')?.innerText)`)
		edit("Apply", "")
		p.tap("dialog button", "Apply")
		city.AwaitRunning("second")
		if text, err := os.ReadFile(path); err != nil || string(text) != toml+agent("writer", idle)+agent("second", idle) {
			t.Errorf("the file is %s, %v", text, err)
		}
		p.until("the editor is closed", `!document.querySelector('.editor')`)
	}
}

// A person without a city chooses a folder and an agent on the start page, which then becomes the web
// console of the new city.
func TestTheStartPageMakesACity(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"projects/shop", "projects/site", "projects/.hidden", "old"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "old", client.CityFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{phone, desk} {
		city := citytest.New(t, agent("coder", idle))
		var asked cli.StartRequest
		daemon := citytest.NewDaemon(app.Options{Environ: []string{"HOME=" + home, "PATH=" + home}, Executable: "gc", Version: "test"}, fake.New())
		links, ended := make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- daemon.ServeStartPage(t.Context(), cli.StartPage{
				Folder: home,
				Ready:  func(link, _ string) error { links <- link; return nil },
				Create: func(_ context.Context, req cli.StartRequest) (cli.StartedCity, error) {
					if asked.Folder == "" {
						asked = req
						return cli.StartedCity{}, fmt.Errorf("%w: the disk is full", client.ErrRefused)
					}
					asked = req
					return cli.StartedCity{Root: city.Root, Agent: "coder", Link: link(t, city)}, nil
				},
			})
		}()
		p := openTab(t, city, width)
		p.expect("/api/v1/start")
		p.do(chromedp.Navigate(<-links))
		p.until("the page", `document.querySelector('h1')?.innerText === 'Start a city'`)
		p.checkThemes("start", width)
		get[bool](p, `(() => { const e = document.querySelector('input[name=folder]'); e.value = ''; e.dispatchEvent(new Event('input', {bubbles: true})); e.focus(); return true; })()`)
		p.do(chromedp.SendKeys(chromedp.CSS("input[name=folder]"), "~/old"))
		p.until("a folder with a city is marked", `document.querySelector('.start-hint').innerText.includes('below') && [...document.querySelectorAll('#folders option')].some((e) => e.innerText.includes('a city already'))`)
		get[bool](p, `(() => { const e = document.querySelector('input[name=folder]'); e.value = ''; e.dispatchEvent(new Event('input', {bubbles: true})); return true; })()`)
		p.do(chromedp.SendKeys(chromedp.CSS("input[name=folder]"), home+"/projects/"))
		p.until("the folders below, without the hidden one", fmt.Sprintf(`[...document.querySelectorAll('#folders option')].map((e) => e.value).join() === %q`, home+"/projects/shop,"+home+"/projects/site"))
		p.do(chromedp.SendKeys(chromedp.CSS("input[name=folder]"), "shop"))
		p.do(chromedp.SendKeys(chromedp.CSS("textarea[name=prompt]"), "hello"))
		get[bool](p, `(document.querySelector('button.primary').scrollIntoView({block: 'center'}), true)`)
		p.tap("button", "Start the city")
		p.until("the reason of a failure", `document.querySelector('[role=alert]')?.innerText.includes('the disk is full')`)
		get[bool](p, `(document.querySelector('button.primary').scrollIntoView({block: 'center'}), true)`)
		p.tap("button", "Start the city")
		p.untilNavigated(`!!document.querySelector('.connection.is-live') && location.hash === '#/'`)
		if want := (cli.StartRequest{Folder: filepath.Join(home, "projects", "shop"), Prompt: "hello"}); asked != want {
			t.Errorf("the page asked for %+v, want %+v", asked, want)
		}
		if err := <-ended; err != nil {
			t.Errorf("the start page ended with %v", err)
		}
	}
}

// A person edits city.toml with the keyboard alone: the focus stays where the person is.
func TestCityTomlIsEditedByKeyboard(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	city.AwaitRunning("writer", runtime.ActivityIdle)
	p := openConsole(t, city, desk)
	p.press("c")
	p.until("the button", `[...document.querySelectorAll('button')].some((e) => e.innerText === 'Edit city.toml') && !document.querySelector('.loading')`)
	get[bool](p, `([...document.querySelectorAll('button')].find((e) => e.innerText === 'Edit city.toml').focus(), true)`)
	p.press("\r")
	p.until("the text has the focus", `document.activeElement?.id === 'city-toml'`)
	get[bool](p, `(document.activeElement.setSelectionRange(0, 0), true)`)
	p.press("# by keyboard\r", "\t")
	p.until("the focus is on Preview", `document.activeElement?.innerText === 'Preview'`)
	p.press("\r")
	p.until("the preview", `!!document.querySelector('.plan-preview')`)
	p.press("\t")
	p.until("the focus is on Apply", `document.activeElement?.innerText === 'Apply'`)
	p.press("\r")
	p.until("the question", `!!document.querySelector('dialog')`)
	p.press("\t", "\r")
	p.until("the editor is closed", `!document.querySelector('.editor')`)
	text, err := os.ReadFile(filepath.Join(city.Root, client.CityFile))
	if err != nil || string(text) != "# by keyboard\n"+agent("writer", idle) {
		t.Errorf("the file is %s, %v", text, err)
	}
}
