package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/web/ui"
	"gascity/runtime"
	"gascity/test/citytest"
	"gascity/test/pushtest"
)

const phoneSink = "[[notify]]\nname = \"phone\"\ntype = \"webpush\"\n"

// subscribeAs makes the browser return a subscription of the service, and allow notifications: the browser of this test has no
// push service of its own and shows no notifications.
func (p *page) subscribeAs(b *pushtest.Browser) {
	p.t.Helper()
	script := fmt.Sprintf(`(() => {
		window.PushManager ??= class {};
		Object.defineProperty(Notification, 'permission', {get: () => 'granted'});
		Notification.requestPermission = async () => 'granted';
		let own = sessionStorage.getItem('own');
		const subscription = (key) => ({
			options: {applicationServerKey: Uint8Array.from(atob(key.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0)).buffer},
			toJSON: () => ({endpoint: %q, keys: {p256dh: %q, auth: %q}}),
			unsubscribe: async () => { own = null; sessionStorage.removeItem('own'); return true; },
		});
		const manager = {
			getSubscription: async () => own ? subscription(own) : null,
			subscribe: async (options) => {
				if (!options.userVisibleOnly) throw new Error('userVisibleOnly');
				own = options.applicationServerKey;
				sessionStorage.setItem('own', own);
				return subscription(own);
			},
		};
		Object.defineProperty(ServiceWorkerRegistration.prototype, 'pushManager', {get: () => manager});
		ServiceWorkerRegistration.prototype.getNotifications = async () => [...(window.worker?.shown ?? [])];
	})()`, b.Endpoint, b.P256DH, b.Auth)
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

// runWorker runs the service worker in the page, as window.worker, with notifications and windows that the test can read.
func (p *page) runWorker() {
	p.t.Helper()
	source, err := fs.ReadFile(ui.Files(), "worker.js")
	if err != nil {
		p.t.Fatal(err)
	}
	get[bool](p, `window.worker = (() => {
		const handlers = {}, shown = [], opened = [], windows = [], posted = [], badges = [];
		const self = {
			addEventListener: (type, handle) => { handlers[type] = handle; },
			skipWaiting() {},
			registration: {
				showNotification: async (title, options) => {
					const i = shown.findIndex((n) => n.tag === options.tag);
					if (i >= 0) shown.splice(i, 1);
					shown.push({title, ...options, close() { if (shown.includes(this)) shown.splice(shown.indexOf(this), 1); }});
				},
				getNotifications: async (filter = {}) => shown.filter((n) => !filter.tag || n.tag === filter.tag),
			},
			clients: {matchAll: async () => windows, openWindow: async (at) => { opened.push(at); }},
		};
		const navigator = {setAppBadge: async (n) => { badges.push(n); }};
		const fire = async (type, event) => {
			let work;
			handlers[type]({...event, waitUntil: (promise) => { work = promise; }});
			await work;
		};
		const push = (text) => fire('push', {data: {json: () => JSON.parse(text)}});
		const window = {visibilityState: 'visible', postMessage: (message) => posted.push(message), focus: async () => {}};
		const tags = () => shown.map((n) => n.tag).join();
		((self, navigator) => { `+string(source)+` })(self, navigator);
		return {shown, opened, windows, posted, badges, fire, push, window, tags};
	})(), true`)
}

// inWorker runs JavaScript with the service worker as w, and the texts of messages as texts. It returns its result as text.
func (p *page) inWorker(body string, texts ...string) string {
	p.t.Helper()
	list, err := json.Marshal(texts)
	if err != nil {
		p.t.Fatal(err)
	}
	return get[string](p, fmt.Sprintf(`(async (w, texts) => { %s })(window.worker, %s).then(String)`, body, list))
}

// A phone turns notifications on, gets the question of an agent, opens it from the notification, answers it with a button of the
// notification, and turns notifications off. A question that has ended is closed.
func TestAPhoneIsNotified(t *testing.T) {
	service := pushtest.New(t)
	b := service.Subscribe()
	city := citytest.New(t, "[workspace]\nname = \"town\"\n"+phoneSink+"answer = true\n"+agent("checkout", idle)+agent("writer", idle), func(o *app.Options) { o.PushDial, o.PushTLS = service.Dial, service.TLS() })
	city.AwaitRunning("checkout", runtime.ActivityIdle)
	p := openTab(t, city, phone)
	p.subscribeAs(b)
	p.visit(link(t, city))
	p.open("#/city")
	p.until("notifications are off", `document.querySelector('.notifications')?.innerText.includes('gets no notifications')`)
	get[bool](p, `(document.querySelector('.notifications').scrollIntoView({block: 'center'}), true)`)
	p.tap(".notifications button", "Notify this device")
	p.until("notifications are on", `document.querySelector('.notifications').innerText.includes('This device gets notifications')`)
	p.until("the list of devices shows it", `document.querySelector('.devices').innerText.includes('gets notifications')`)
	p.checkThemes("notifications", phone)
	p.picture("notifications-360")
	get[bool](p, `(document.querySelector('.notifications').scrollIntoView({block: 'center'}), true)`)
	p.tap(".notifications button", "Send a test message")
	p.until("the test message was sent", `document.body.innerText.includes('A test message was sent to 1 device')`)
	if got := b.Pushes(); len(got) != 1 || !strings.Contains(got[0].Text, "a test message from gc") {
		t.Fatalf("the push service got %+v", got)
	}
	city.Until("the service worker is active", func(context.Context) bool {
		return get[bool](p, `navigator.serviceWorker.getRegistration('/').then((r) => !!r?.active && r.active.scriptURL.endsWith('/worker.js'))`)
	})

	p.runWorker()
	makeAsk(t, city, "checkout")
	city.Until("the push service has the question", func(context.Context) bool { return len(b.Pushes()) == 2 })
	asked, push := question(t, city, "checkout"), b.Pushes()[1]
	got := p.inWorker(`await w.push(texts[0]); await w.push(texts[0]);
		const n = w.shown[0];
		return [w.shown.length, n.tag, n.title.startsWith('checkout asks') && n.title.endsWith('(town)'), n.body, n.data.page, n.silent, w.badges.at(-1)].join('|')`, push.Text)
	if want := fmt.Sprintf("1|%s|true|Proceed?\n1. yes\n2. no|#/needs/%s|false|1", push.Topic, asked.ID); got != want {
		t.Errorf("a message that came twice shows %q, want %q", got, want)
	}
	if got := p.inWorker(`await w.push('no JSON'); return w.tags()`); got != push.Topic+",gc" {
		t.Errorf("after a message that cannot be read: %s", got)
	}
	if got := p.inWorker(`await w.fire('notificationclick', {notification: w.shown[0]}); return w.opened + ' ' + w.tags()`); got != "/#/needs/"+asked.ID+" gc" {
		t.Errorf("a tap without a window: %s", got)
	}
	if got := p.inWorker(`await w.push(texts[0]); w.windows.push(w.window);
		await w.fire('notificationclick', {notification: w.shown.find((n) => n.tag !== 'gc')}); return JSON.stringify(w.posted) + w.opened.length`, push.Text); got != `[{"open":"#/needs/`+asked.ID+`"}]1` {
		t.Errorf("a tap with a window: %s", got)
	}
	p.expect("403 (Forbidden)") // the refused button
	if got := p.inWorker(`await w.push(texts[0].replace(/"token":"[^"]*"/, '"token":"forged"')); await w.fire('notificationclick', {action: '1', notification: w.shown.at(-1)});
		const n = w.shown.at(-1); return [n.title.startsWith('Not answered: checkout asks'), n.body.includes('not valid'), n.actions?.length ?? 0, n.data.page].join('|')`, push.Text); got != "true|true|0|#/needs/"+asked.ID {
		t.Errorf("a button that is refused: %s", got)
	}
	if got := p.inWorker(`await w.push(texts[0]); w.windows.length = 0; const n = w.shown.at(-1); const buttons = n.actions.map((a) => a.title).join();
		await w.fire('notificationclick', {action: n.actions[0].action, notification: {...n, close() {}}}); return buttons`, push.Text); got != "1. yes,2. no" { // the page closes it
		t.Errorf("a button that answers: %s", got)
	}
	if all, err := city.Client.Pending(t.Context(), "", client.WithEnded); err != nil || len(all) != 1 || all[0].Answer != "yes" || all[0].AnsweredBy != "button of phone" {
		t.Errorf("after the button the question is %+v, %v", all, err)
	}
	city.Until("the page closes the notification", func(context.Context) bool { return p.inWorker(`return w.tags()`) == "gc" })
	city.Until("the push service has the end of the question", func(context.Context) bool { return len(b.Pushes()) == 3 })
	over := b.Pushes()[2]
	if got := p.inWorker(`await w.push(texts[0]); await w.push(texts[1]); const n = w.shown.at(-1); return [w.tags(), n.title.startsWith('Closed: checkout asks'), n.silent, w.badges.at(-1)].join('|')`, push.Text, over.Text); got != "gc,gc-closed|true|true|0" {
		t.Errorf("after the end of the question: %s", got)
	}
	if got := p.inWorker(`await w.push(texts[0]); const first = w.tags(); w.windows.push(w.window); await w.push(texts[1]); return first + ' ' + w.tags()`, push.Text, over.Text); got != "gc,"+push.Topic+" gc" {
		t.Errorf("a new question, and its end while the page is visible: %s", got)
	}

	get[bool](p, `(document.querySelector('.notifications').scrollIntoView({block: 'center'}), true)`)
	p.tap(".notifications button", "Turn off")
	p.until("notifications are off again", `document.querySelector('.notifications').innerText.includes('gets no notifications')`)
	if devices, err := city.Client.WebDevices(t.Context()); err != nil || devices[0].Notified {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
}

// The page says why a device cannot be notified: no sink, or blocked by a person. A message of the service worker opens a page.
func TestAPhoneSaysWhyItIsNotNotified(t *testing.T) {
	city := citytest.New(t, agent("writer", idle))
	p := openTab(t, city, phone) // this browser allows no notifications
	p.visit(link(t, city))
	p.open("#/city")
	p.until("there is no sink", `document.querySelector('.notifications')?.innerText.includes('type = "webpush"')`)
	p.checkThemes("notifications-no-sink", phone)
	city.Write(phoneSink + agent("writer", idle))
	city.Until("the configuration is read", func(context.Context) bool {
		return get[bool](p, `fetch('/auth/push', {headers: {'Gc-Web-Key': localStorage.getItem('gc.key')}}).then((r) => r.json()).then((o) => o.sinks.length === 1)`)
	})
	p.open("#/needs")
	p.open("#/city")
	p.until("notifications are blocked", `document.querySelector('.notifications')?.innerText.includes('blocked')`)
	if get[bool](p, `!!document.querySelector('.notifications button')`) {
		t.Error("a person can press a button that has no effect")
	}
	get[bool](p, `(navigator.serviceWorker.dispatchEvent(new MessageEvent('message', {data: {open: '#/agent/writer'}})), true)`)
	p.until("the page is opened", `location.hash === '#/agent/writer'`)
	get[bool](p, `(navigator.serviceWorker.dispatchEvent(new MessageEvent('message', {data: {open: 'https://evil.example/'}})), true)`)
	if at := get[string](p, `location.hash`); at != "#/agent/writer" {
		t.Errorf("a message opened %s", at)
	}
}
