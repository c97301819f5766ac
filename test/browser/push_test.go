package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"

	"gascity/client"
	"gascity/internal/app"
	"gascity/runtime"
	"gascity/test/citytest"
	"gascity/test/pushtest"
)

const phoneSink = "[[notify]]\nname = \"phone\"\ntype = \"webpush\"\n"

// allow sets the permission for notifications of the web console.
func (p *page) allow(setting browser.PermissionSetting) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: setting})
		return err
	}))
}

// subscribeAs makes the browser return a subscription of the service: the browser of this test has no push service of its own.
func (p *page) subscribeAs(b *pushtest.Browser) {
	p.t.Helper()
	script := fmt.Sprintf(`(() => {
		if (!('PushManager' in window)) window.PushManager = class {};
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
	})()`, b.Endpoint, b.P256DH, b.Auth)
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

// deliver makes the browser deliver a message to the service worker, as after one of its push service.
func (p *page) deliver(registration serviceworker.RegistrationID, text string) {
	p.t.Helper()
	origin := get[string](p, `location.origin`)
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin, RegistrationID: registration, Data: text})
		return err
	}))
}

// shown is a JavaScript expression: the notifications that are shown, as text.
const shown = `navigator.serviceWorker.getRegistration('/').then((r) => r.getNotifications()).then((all) => JSON.stringify(all.map((n) => [n.tag, n.title, n.body, n.data.page, n.silent])))`

// untilShown waits until the notifications are as wanted.
func (p *page) untilShown(what string, want func(all [][]any) bool) {
	p.t.Helper()
	var all [][]any
	p.city.Until(what, func(context.Context) bool {
		all = nil
		return json.Unmarshal([]byte(get[string](p, shown)), &all) == nil && want(all)
	})
}

// A phone turns notifications on, gets the question of an agent, opens it from the notification, and turns them off. A question
// that is answered elsewhere is closed.
func TestAPhoneIsNotified(t *testing.T) {
	service := pushtest.New(t)
	b := service.Subscribe()
	city := citytest.New(t, phoneSink+agent("checkout", idle)+agent("writer", idle), func(o *app.Options) { o.PushDial, o.PushTLS = service.Dial, service.TLS() })
	city.AwaitRunning("checkout", runtime.ActivityIdle)
	p := openTab(t, city, phone)
	found := make(chan serviceworker.RegistrationID, 100)
	if err := chromedp.Listen(p.ctx, func(event any) {
		if e, ok := event.(*serviceworker.EventWorkerRegistrationUpdated); ok {
			for _, r := range e.Registrations {
				select {
				case found <- r.RegistrationID:
				default:
				}
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, serviceworker.Enable, cdp.Empty{})
		return err
	}))
	p.allow(browser.PermissionSettingGranted)
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
	registration := <-found

	makeAsk(t, city, "checkout")
	city.Until("the push service has the question", func(context.Context) bool { return len(b.Pushes()) == 2 })
	question := question(t, city, "checkout")
	for range 2 { // a repeated message replaces the first one
		p.deliver(registration, b.Pushes()[1].Text)
	}
	p.untilShown("one notification with the question and its options", func(all [][]any) bool {
		return len(all) == 1 && all[0][0] == b.Pushes()[1].Topic && strings.Contains(fmt.Sprint(all[0][1]), "checkout asks") &&
			strings.Contains(fmt.Sprint(all[0][2]), "Proceed?\n1. yes\n2. no") && all[0][3] == "#/needs/"+question.ID && all[0][4] == false
	})
	p.deliver(registration, "no JSON")
	p.untilShown("a message that cannot be read shows something", func(all [][]any) bool { return len(all) == 2 })

	if _, err := city.Client.Respond(t.Context(), question.ID, client.RespondRequest{Option: "yes"}); err != nil {
		t.Fatal(err)
	}
	p.untilShown("the page closes the notification", func(all [][]any) bool { return len(all) == 1 && all[0][0] == "gc" })
	city.Until("the push service has the end of the question", func(context.Context) bool { return len(b.Pushes()) == 3 })
	p.deliver(registration, b.Pushes()[1].Text)
	p.deliver(registration, b.Pushes()[2].Text)
	p.untilShown("the end closes the notification, and a page that is visible shows no other", func(all [][]any) bool { return len(all) == 1 && all[0][0] == "gc" })

	get[bool](p, `(document.querySelector('.notifications').scrollIntoView({block: 'center'}), true)`)
	p.tap(".notifications button", "Turn off")
	p.until("notifications are off again", `document.querySelector('.notifications').innerText.includes('gets no notifications')`)
	if devices, err := city.Client.WebDevices(t.Context()); err != nil || devices[0].Notified {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
}

// The page says why a device cannot be notified: no sink, or blocked by a person. A message of the service worker opens a page.
func TestAPhoneSaysWhyItIsNotNotified(t *testing.T) {
	service := pushtest.New(t)
	city := citytest.New(t, agent("writer", idle), func(o *app.Options) { o.PushDial, o.PushTLS = service.Dial, service.TLS() })
	p := openTab(t, city, phone)
	p.allow(browser.PermissionSettingDenied)
	p.subscribeAs(service.Subscribe())
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
