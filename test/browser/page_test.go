package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gascity/client"
	"gascity/test/citytest"
)

//go:embed testdata/axe.min.js.gz
var packedAxe []byte

// patience is longer than the page takes for anything.
const patience = 20 * time.Second

// The widths of the screens, in CSS pixels.
const (
	phone = 360
	desk  = 1280
)

// page is one tab with the web console. Its methods fail the test. At the end of the test they also
// fail it for each error that the page reported: an exception, a refused script or a failed request
// that the test did not expect.
type page struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // of the tab
	city *citytest.City

	mu       sync.Mutex
	problems []string // guarded by mu
	expected []string // parts of problems that the test causes
}

// program returns the path of the browser, or skips the test.
func program(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("GC_TEST_BROWSER"); name != "" {
		return name
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("chromium-headless-shell is not installed (Debian: chromium-headless-shell)")
	return ""
}

// openTab starts a browser with one empty tab. Each test has a browser of its own, so that none sees
// the storage of another. more are further options of the browser.
func openTab(t *testing.T, city *citytest.City, width int64, more ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()), chromedp.Flag("force-prefers-reduced-motion", true))
	options = append(options, more...)
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(cancel)
	ctx, cancelTab := chromedp.NewContext(ctx)
	t.Cleanup(cancelTab)
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context of the first call
		t.Fatal(err)
	}
	p := &page{t: t, ctx: ctx, city: city}
	height := int64(800)
	if width == phone {
		height = 740
	}
	p.do(chromedp.EmulateViewport(width, height))
	if err := chromedp.Listen(ctx, p.record); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, log.Enable, cdp.Empty{})
		return err
	}))
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, text := range p.problems {
			t.Errorf("the page reports: %s", text)
		}
		if t.Failed() {
			t.Logf("the page shows:\n%s", p.text("body"))
		}
	})
	return p
}

// record records what the page reports.
func (p *page) record(event any) {
	text := ""
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			text = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			text = fmt.Sprintf("console.error: %s", e.Args[0].Value)
		}
	}
	if text == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, part := range p.expected {
		if strings.Contains(text, part) {
			return
		}
	}
	p.problems = append(p.problems, text)
}

// expect ignores problems that contain the text.
func (p *page) expect(part string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = append(p.expected, part)
}

// openConsole signs a new tab in and returns when the page is live.
func openConsole(t *testing.T, city *citytest.City, width int64) *page {
	t.Helper()
	p := openTab(t, city, width)
	p.visit(link(t, city))
	return p
}

// visit opens a link that signs in, and returns when the page is live.
func (p *page) visit(link string) {
	p.t.Helper()
	p.do(chromedp.Navigate(link))
	p.until("the page is live", `!!document.querySelector('.connection.is-live') && !!document.querySelector('#page-title')`)
}

// link returns a link that signs a device in.
func link(t *testing.T, city *citytest.City) string {
	t.Helper()
	if _, err := city.Client.StartWeb(t.Context(), client.WebRequest{Listen: "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	code, err := city.Client.NewWebCode(t.Context(), client.WebCodeRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return code.Link
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// until waits for a JavaScript expression to become true.
func (p *page) until(what, expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(patience))); err != nil {
		p.t.Fatalf("it never holds that %s: %v", what, err)
	}
}

// get returns the value of a JavaScript expression.
func get[T any](p *page, expression string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 2*patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("cannot evaluate %.200s: %v", expression, err)
	}
	return value
}

// text returns the text of the first element that the selector matches.
func (p *page) text(selector string) string {
	p.t.Helper()
	return get[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ''`, selector))
}

// open shows a page of the console.
func (p *page) open(hash string) {
	p.t.Helper()
	get[string](p, fmt.Sprintf(`location.hash = %q`, hash))
}

// press types keys at the element that has the focus.
func (p *page) press(keys ...string) {
	p.t.Helper()
	for _, key := range strings.Join(keys, "") {
		p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			return press(ctx, target, key)
		}))
	}
}

// press sends one key as a keyboard does: a page that handles the key keeps it from its input.
func press(ctx context.Context, target *chromedp.Target, key rune) error {
	for _, e := range kb.Encode(key) {
		if e.Type == kb.KeyChar {
			continue
		}
		if e.Type == kb.KeyDown && (key >= ' ' || key == '\r') {
			e.Text = string(key)
		}
		if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, *e); err != nil {
			return err
		}
	}
	return nil
}

// tap clicks the middle of an element with the given text, as a finger does: the page is loaded, the
// element must be on the screen and nothing may cover it.
func (p *page) tap(selector, text string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.innerText.includes(%q))`, selector, text)
	p.until(fmt.Sprintf("there is %s with %q", selector, text), `!document.querySelector('.loading') && !!`+find)
	at := get[[]float64](p, fmt.Sprintf(`(() => {
		const e = %s, r = e.getBoundingClientRect(), x = r.x + r.width / 2, y = r.y + r.height / 2;
		return e.contains(document.elementFromPoint(x, y)) ? [x, y, r.width, r.height] : [];
	})()`, find))
	if len(at) == 0 {
		p.t.Fatalf("%s with %q is not on the screen, or something covers it", selector, text)
	}
	if at[3] < 36 {
		p.t.Errorf("%s with %q is %v px high, which is small for a finger", selector, text, at[3])
	}
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// setTheme makes the system prefer dark or light.
func (p *page) setTheme(theme string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
		return err
	}))
}

// checkAccess runs axe on the page as it is.
func (p *page) checkAccess(what string) {
	p.t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packedAxe))
	if err != nil {
		p.t.Fatal(err)
	}
	script, err := io.ReadAll(r)
	if err != nil {
		p.t.Fatal(err)
	}
	if !get[bool](p, `!!window.axe`) {
		get[bool](p, string(script)+`; true`)
	}
	found := get[string](p, `axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations.map((v) => ({
		rule: v.id, help: v.help, where: v.nodes.slice(0, 5).map((n) => n.target.join(' ') + ': ' + n.failureSummary),
	}))))`)
	var violations []struct {
		Rule, Help string
		Where      []string
	}
	if err := json.Unmarshal([]byte(found), &violations); err != nil {
		p.t.Fatal(err)
	}
	for _, v := range violations {
		p.t.Errorf("%s: %s: %s\n\t%s", what, v.Rule, v.Help, strings.Join(v.Where, "\n\t"))
	}
}
