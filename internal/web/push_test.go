package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/app"
	"gascity/internal/service/notify/answers"
	"gascity/test/citytest"
	"gascity/test/pushtest"
)

const pushConfig = cityConfig + `
[[notify]]
name = "phone"
type = "webpush"
`

// pushCity returns a city that notifies devices through the service.
func pushCity(t *testing.T, toml string, service *pushtest.Service) *citytest.City {
	t.Helper()
	return citytest.New(t, toml, func(o *app.Options) { o.PushDial, o.PushTLS = service.Dial, service.TLS() })
}

// offer is the answer to GET /auth/push.
type offer struct {
	Key        string
	Sinks      []string
	Subscribed bool
}

// offer returns what the page gets before it subscribes.
func (b *browser) offer() (out offer) {
	b.t.Helper()
	res := b.request(http.MethodGet, "/auth/push", "")
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		b.t.Fatalf("%s, %v", res.Status, err)
	}
	return out
}

// subscription returns the body of a request that subscribes.
func subscription(s *pushtest.Browser, key string) string {
	text, err := json.Marshal(map[string]string{"endpoint": s.Endpoint, "p256dh": s.P256DH, "auth": s.Auth, "key": key})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// subscribe turns notifications on, as the page does.
func (b *browser) subscribe(s *pushtest.Browser) {
	b.t.Helper()
	if res := b.request(http.MethodPost, "/auth/push", subscription(s, b.offer().Key)); res.StatusCode != http.StatusNoContent {
		b.t.Fatalf("%s: %s", res.Status, b.text(res))
	}
}

// ask makes the worker ask a question.
func ask(t *testing.T, city *citytest.City) {
	t.Helper()
	if _, err := city.Client.Nudge(t.Context(), "worker", client.NudgeRequest{Text: "[[ask:Proceed?|yes|no]]"}); err != nil {
		t.Fatal(err)
	}
}

// TestDevicesAreNotified walks from the sign-in to the message: a subscribed device gets the question of an agent, also after a
// restart of the controller; one that was revoked, or has turned notifications off, gets nothing. No secret is in an event, in the
// database or in a log.
func TestDevicesAreNotified(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig, service)
	city.AwaitRunning("worker", "idle")
	phone, tablet, laptop := service.Subscribe(), service.Subscribe(), service.Subscribe()
	see, revoked, off := signIn(t, city, client.ScopeSee), signIn(t, city, client.ScopeManage), signIn(t, city, client.ScopeSee)
	for b, s := range map[*browser]*pushtest.Browser{see: phone, revoked: tablet, off: laptop} {
		b.subscribe(s)
		if !b.offer().Subscribed {
			t.Error("a subscribed device is not shown as subscribed")
		}
	}
	results, err := city.Client.TestNotify(t.Context(), client.NotifyTestRequest{Sink: "phone"})
	if err != nil || len(results) != 3 || slices.ContainsFunc(results, func(r client.NotifyResult) bool { return r.Error != "" || r.Device == "" }) {
		t.Errorf("the test message: %+v, %v", results, err)
	}
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil || len(devices) != 3 || !devices[1].Notified {
		t.Fatalf("the devices are %+v, %v", devices, err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[1].ID); err != nil {
		t.Fatal(err)
	}
	if res := off.request(http.MethodDelete, "/auth/push", ""); res.StatusCode != http.StatusNoContent {
		t.Errorf("turned off: %s", res.Status)
	}
	city.Leave()
	city.Start()
	ask(t, city)
	city.Until("the phone gets the question", func(context.Context) bool { return len(phone.Pushes()) == 2 })
	p := phone.Pushes()[1]
	if !strings.Contains(p.Text, "Proceed?") || !strings.Contains(p.Text, "1. yes") || !strings.Contains(p.Text, `"page":"#/needs/q-`) || p.Urgency != "high" || !strings.HasPrefix(p.Topic, "n-") {
		t.Errorf("the phone got %+v", p)
	}
	if n, m := len(tablet.Pushes()), len(laptop.Pushes()); n != 1 || m != 1 {
		t.Errorf("the revoked device got %d messages and the one that was turned off %d, want only the test message", n, m)
	}
	list, err := city.Client.Pending(t.Context(), "", client.OnlyOpen)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := city.Client.Respond(t.Context(), list[0].ID, client.RespondRequest{Option: "yes"}); err != nil {
		t.Fatal(err)
	}
	city.Until("the phone gets the end of the question", func(context.Context) bool { return len(phone.Pushes()) == 3 })
	if over := phone.Pushes()[2]; over.Topic != p.Topic || !strings.Contains(over.Text, `"over":true`) || !strings.Contains(over.Text, `"badge":0`) {
		t.Errorf("after the answer the phone got %+v", over)
	}
	noSecrets(t, city, phone, tablet, laptop)
}

// tokens returns the tokens of the answer buttons of a message, as the service worker reads them.
func tokens(t *testing.T, p pushtest.Push) (out []string) {
	t.Helper()
	var m struct {
		Actions []struct{ Label, Token string }
	}
	if err := json.Unmarshal([]byte(p.Text), &m); err != nil {
		t.Fatal(err)
	}
	for i, a := range m.Actions {
		if want := []string{"1. yes", "2. no"}[i]; a.Label != want {
			t.Errorf("button %d is called %q, want %q", i, a.Label, want)
		}
		out = append(out, a.Token)
	}
	return out
}

// TestADeviceAnswersByAButton presses the buttons of notifications: a button answers its question once. A device that may only
// see has no buttons, and the buttons of a device that was revoked or that has turned notifications off answer nothing.
func TestADeviceAnswersByAButton(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig+"answer = true\n", service)
	city.AwaitRunning("worker", "idle")
	phone, lost, quiet, display := service.Subscribe(), service.Subscribe(), service.Subscribe(), service.Subscribe()
	own, revoked := signIn(t, city, client.ScopeAnswer), signIn(t, city, client.ScopeManage)
	off, see := signIn(t, city, client.ScopeAnswer), signIn(t, city, client.ScopeSee)
	own.subscribe(phone)
	revoked.subscribe(lost)
	off.subscribe(quiet)
	see.subscribe(display)
	ask(t, city)
	city.Until("all devices get the question", func(context.Context) bool {
		return len(phone.Pushes()) == 1 && len(lost.Pushes()) == 1 && len(quiet.Pushes()) == 1 && len(display.Pushes()) == 1
	})
	buttons, dead, turnedOff := tokens(t, phone.Pushes()[0]), tokens(t, lost.Pushes()[0]), tokens(t, quiet.Pushes()[0])
	if len(buttons) != 2 || len(dead) != 2 || len(turnedOff) != 2 {
		t.Fatalf("the devices that may answer have the buttons %q, %q and %q", buttons, dead, turnedOff)
	}
	if found := tokens(t, display.Pushes()[0]); len(found) > 0 {
		t.Errorf("a device that may only see has the buttons %q", found)
	}
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil || len(devices) != 4 {
		t.Fatalf("the devices are %+v, %v", devices, err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[1].ID); err != nil {
		t.Fatal(err)
	}
	if res := off.request(http.MethodDelete, "/auth/push", ""); res.StatusCode != http.StatusNoContent {
		t.Errorf("turned off: %s", res.Status)
	}
	for _, press := range []struct {
		token string
		want  int
	}{
		{dead[0], http.StatusForbidden},
		{turnedOff[0], http.StatusForbidden},
		{buttons[1], http.StatusOK},
		{buttons[1], http.StatusConflict},
		{buttons[0], http.StatusConflict},
	} {
		if res := own.request(http.MethodPost, answers.Path, `{"token":"`+press.token+`"}`); res.StatusCode != press.want {
			t.Errorf("a press answers %s, want %d", res.Status, press.want)
		}
	}
	all, err := city.Client.Pending(t.Context(), "", client.WithEnded)
	if err != nil || len(all) != 1 || all[0].Answer != "no" || all[0].AnsweredBy != "button of phone" {
		t.Errorf("the question is %+v, %v", all, err)
	}
	if got := refusals(t, city); !slices.Equal(got, []string{"forged", "forged", "replayed", "superseded"}) {
		t.Errorf("presses were refused because of %q", got)
	}
}

// noSecrets checks that the subscriptions and the key of the city are only in the two files that only the user can read.
func noSecrets(t *testing.T, city *citytest.City, browsers ...*pushtest.Browser) {
	t.Helper()
	state := filepath.Join(city.Root, ".gc")
	secret, err := os.ReadFile(filepath.Join(state, "web-push.key"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{strings.TrimSpace(string(secret))}
	for _, b := range browsers {
		secrets = append(secrets, b.Endpoint, b.Auth)
	}
	city.Leave()
	err = filepath.WalkDir(state, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if name := filepath.Base(path); name == "web.json" || name == "web-push.key" {
			if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s has the mode %v, %v", name, info.Mode(), err)
			}
			return nil
		}
		for _, s := range secrets {
			if strings.Contains(string(text), s) {
				t.Errorf("%s has a secret of Web Push", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestWrongSubscriptionsAreRefused: an address that cannot be that of a push service, wrong keys, and a city without a sink.
func TestWrongSubscriptionsAreRefused(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig, service)
	b := signIn(t, city, client.ScopeSee)
	good, key := service.Subscribe(), b.offer().Key
	change := func(edit func(s *pushtest.Browser)) string {
		s := service.Subscribe()
		edit(s)
		return subscription(s, key)
	}
	for name, body := range map[string]string{
		"http":              change(func(s *pushtest.Browser) { s.Endpoint = "http://example.com/x" }),
		"this machine":      change(func(s *pushtest.Browser) { s.Endpoint = "https://127.0.0.1:8420/x" }),
		"cloud metadata":    change(func(s *pushtest.Browser) { s.Endpoint = "https://169.254.169.254/latest" }),
		"a private network": change(func(s *pushtest.Browser) { s.Endpoint = "https://192.168.1.1/x" }),
		"a wrong point":     change(func(s *pushtest.Browser) { s.P256DH = strings.Repeat("A", 87) }),
		"a short secret":    change(func(s *pushtest.Browser) { s.Auth = "AAAA" }),
		"an unknown field":  strings.Replace(subscription(good, key), "{", `{"device":"d-1",`, 1),
		"another key":       subscription(good, good.P256DH),
		"nothing":           `{}`,
	} {
		if res := b.request(http.MethodPost, "/auth/push", body); res.StatusCode < 400 || res.StatusCode >= 500 {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	if b.offer().Subscribed {
		t.Error("a wrong subscription was saved")
	}
	city.Write(cityConfig)
	city.Until("there is no sink", func(context.Context) bool { o := b.offer(); return len(o.Sinks) == 0 && o.Key == "" })
	if res := b.request(http.MethodPost, "/auth/push", subscription(good, key)); res.StatusCode != http.StatusConflict {
		t.Errorf("without a sink: %s: %s", res.Status, b.text(res))
	}
}

// TestSubscriptionsEnd: a push service that does not know the subscription any more, the same browser under another sign-in, and a
// new key of the city.
func TestSubscriptionsEnd(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig, service)
	first, second := signIn(t, city, client.ScopeSee), signIn(t, city, client.ScopeSee)
	phone := service.Subscribe()
	first.subscribe(phone)
	second.subscribe(phone)
	if first.offer().Subscribed || !second.offer().Subscribed {
		t.Error("one browser is notified for two devices")
	}
	gone := service.Subscribe()
	gone.Answer(func(context.Context, pushtest.Push) pushtest.Reply { return pushtest.Reply{Status: http.StatusGone} })
	first.subscribe(gone)
	if _, err := city.Client.TestNotify(t.Context(), client.NotifyTestRequest{}); err != nil {
		t.Fatal(err)
	}
	if first.offer().Subscribed {
		t.Error("a subscription that has ended is still there")
	}
	page, err := city.Client.PastEvents(t.Context(), 0)
	if err != nil || !slices.ContainsFunc(page.Events, func(e client.Event) bool {
		return e.Kind == "web.unsubscribed" && strings.Contains(e.Data["reason"], "410")
	}) {
		t.Errorf("no event says that the subscription has ended: %v", err)
	}
	city.Leave()
	if err := os.Remove(filepath.Join(city.Root, ".gc", "web-push.key")); err != nil {
		t.Fatal(err)
	}
	before := second.cookie
	city.Start()
	if o := second.offer(); o.Subscribed || second.cookie != before {
		t.Error("a subscription with another key of the city is still there")
	}
}

// TestRevokedWhileAMessageIsSent: the device loses its subscription at once, also while its push service does not answer.
func TestRevokedWhileAMessageIsSent(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig, service)
	city.AwaitRunning("worker", "idle")
	phone := service.Subscribe()
	phone.Answer(func(ctx context.Context, _ pushtest.Push) pushtest.Reply {
		<-ctx.Done()
		return pushtest.Reply{Status: http.StatusServiceUnavailable}
	})
	signIn(t, city, client.ScopeSee).subscribe(phone)
	ask(t, city)
	city.Until("a message is on its way", func(context.Context) bool { return len(phone.Pushes()) == 1 })
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[0].ID); err != nil {
		t.Fatal(err)
	}
	city.Until("the message is dropped", func(ctx context.Context) bool {
		list, err := city.Client.Notifications(ctx)
		return err == nil && len(list.Notifications) == 1 && list.Notifications[0].State == client.NotifyDropped && list.Sinks[0].Devices == 0
	})
	if n := len(phone.Pushes()); n != 1 {
		t.Errorf("the revoked device got %d messages", n)
	}
}
