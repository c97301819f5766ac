package web_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/service/notify/answers"
	"gascity/internal/web"
	"gascity/test/pushtest"
)

// pushKey is the public key of a bench that offers notifications.
const pushKey = "key"

// notified are the devices that a web console reports as notified. It is safe for concurrent use.
type notified struct {
	mu      sync.Mutex
	devices []client.WebDevice
}

// offer makes a web console offer notifications and report to n.
func (n *notified) offer(o *web.Options) {
	o.Push = &web.Push{
		Key: func() (string, error) { return pushKey, nil }, Sinks: func() []string { return []string{"phone"} },
		Changed: func(devices []client.WebDevice) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.devices = devices
		},
	}
}

// count returns the number of notified devices.
func (n *notified) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.devices)
}

// TestASubscriptionThatCannotBeSaved is refused, and changes no device: neither its own nor the one that has the subscription.
func TestASubscriptionThatCannotBeSaved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	n := &notified{}
	b := newBench(t, web.Settings{}, n.offer, func(o *web.Options) { o.File = filepath.Join(dir, "web.json") })
	first, second := b.signedIn(t, client.ScopeSee), b.signedIn(t, client.ScopeSee)
	phone := pushtest.New(t).Subscribe()
	first.subscribe(phone)
	if err := os.Rename(dir, dir+".gone"); err != nil {
		t.Fatal(err)
	}
	if res := second.request(http.MethodPost, "/auth/push", subscription(phone, pushKey)); res.StatusCode < http.StatusInternalServerError {
		t.Errorf("a subscription that cannot be saved answers %s", res.Status)
	}
	if err := os.Rename(dir+".gone", dir); err != nil {
		t.Fatal(err)
	}
	if !first.offer().Subscribed || second.offer().Subscribed || n.count() != 1 {
		t.Errorf("the first device is subscribed: %v, the second: %v; %d devices are notified", first.offer().Subscribed, second.offer().Subscribed, n.count())
	}
}

// TestALateEndOfASubscription: the push service refuses a message to an old subscription when the device has a new one. The new one stays.
func TestALateEndOfASubscription(t *testing.T) {
	service := pushtest.New(t)
	city := pushCity(t, pushConfig, service)
	b := signIn(t, city, client.ScopeSee)
	old, fresh := service.Subscribe(), service.Subscribe()
	asked, proceed := make(chan struct{}), make(chan struct{})
	old.Answer(func(context.Context, pushtest.Push) pushtest.Reply {
		close(asked)
		<-proceed
		return pushtest.Reply{Status: http.StatusGone}
	})
	b.subscribe(old)
	tested := make(chan error, 1)
	go func() {
		_, err := city.Client.TestNotify(t.Context(), client.NotifyTestRequest{})
		tested <- err
	}()
	<-asked
	b.subscribe(fresh)
	close(proceed)
	if err := <-tested; err != nil {
		t.Fatal(err)
	}
	if !b.offer().Subscribed {
		t.Error("the end of the old subscription removed the new one")
	}
	if _, err := city.Client.TestNotify(t.Context(), client.NotifyTestRequest{}); err != nil || len(fresh.Pushes()) != 1 {
		t.Errorf("the new subscription got %d messages, %v", len(fresh.Pushes()), err)
	}
}

// TestAnUnusedDeviceIsNotNotified: a device that is signed out because it was not used gets no notifications any more.
func TestAnUnusedDeviceIsNotNotified(t *testing.T) {
	n := &notified{}
	b := newBench(t, web.Settings{}, n.offer)
	b.signedIn(t, client.ScopeSee).subscribe(pushtest.New(t).Subscribe())
	if n.count() != 1 {
		t.Fatalf("%d devices are notified", n.count())
	}
	b.late.Store(int64(31 * 24 * time.Hour))
	if devices, err := b.WebDevices(t.Context()); err != nil || len(devices) != 0 {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
	if n.count() != 0 {
		t.Errorf("%d devices are notified", n.count())
	}
}

// TestCitiesOfOneHost: browsers send the cookies of all ports of a host, so each city has its own name for its cookie.
func TestCitiesOfOneHost(t *testing.T) {
	names := map[string]bool{}
	for _, id := range []string{"one", "two"} {
		own := newBench(t, web.Settings{}, func(o *web.Options) { o.ID = id }).signedIn(t, "")
		name, _, _ := strings.Cut(own.cookie, "=")
		names[name] = true
	}
	if len(names) != 2 {
		t.Errorf("two cities have the cookies %v", names)
	}
}

// failingEvents is an event log that cannot store the events of one kind.
type failingEvents struct {
	web.EventLog

	fails string // a kind
}

// Append implements web.EventLog.
func (f *failingEvents) Append(ctx context.Context, e client.Event) (client.Event, error) {
	if e.Kind == f.fails {
		return client.Event{}, errors.New("the disk is full")
	}
	return f.EventLog.Append(ctx, e)
}

// TestNothingHappensUnrecorded: a sign-in, a change and a terminal that types are refused if they cannot be recorded.
func TestNothingHappensUnrecorded(t *testing.T) {
	events := &failingEvents{}
	b := newBench(t, web.Settings{}, func(o *web.Options) { events.EventLog, o.Events = o.Events, events })
	own := b.signedIn(t, client.ScopeManage)
	events.fails = "web.signed_in"
	other := b.browser(t)
	if res := other.request(http.MethodPost, "/auth/sign-in", `{"code":"`+b.code(t, "")+`","device":"tablet"}`); res.StatusCode != http.StatusServiceUnavailable || len(res.Cookies()) > 0 {
		t.Errorf("a sign-in that cannot be recorded answers %s with the cookies %v", res.Status, res.Cookies())
	}
	if devices, err := b.WebDevices(t.Context()); err != nil || len(devices) != 1 {
		t.Errorf("the devices are %+v, %v", devices, err)
	}
	events.fails = "web.request"
	if res := own.request(http.MethodPost, "/api/v1/sessions/worker/nudge", `{"text":"x"}`); res.StatusCode != http.StatusServiceUnavailable { // the city would panic
		t.Errorf("a change that cannot be recorded answers %s", res.Status)
	}
	events.fails = "web.terminal"
	ticket, _ := own.ticket(`{"session":"worker","type":true}`)
	if res := own.terminal(ticket); res.StatusCode != http.StatusServiceUnavailable || len(b.grants) > 0 {
		t.Errorf("a terminal that cannot be recorded answers %s", res.Status)
	}
	ticket, _ = own.ticket(`{"session":"worker"}`)
	if res := own.terminal(ticket); res.StatusCode != http.StatusOK {
		t.Errorf("a terminal that only watches answers %s", res.Status)
	}
}

// TestOpenRequestsOfADeviceAreLimited: a device has at most 64 open requests; when one ends there is room for another. Other devices are
// not affected.
func TestOpenRequestsOfADeviceAreLimited(t *testing.T) {
	const most = 64
	end := make(chan struct{})
	var open atomic.Int32
	b := newBench(t, web.Settings{}, func(o *web.Options) {
		o.Terminal = func(ctx context.Context, w http.ResponseWriter, _ *http.Request, _ web.Grant) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")); err != nil {
				t.Error(err)
			}
			open.Add(1)
			defer open.Add(-1)
			select {
			case <-end:
			case <-ctx.Done():
			}
		}
	})
	own, other := b.signedIn(t, client.ScopeSee), b.signedIn(t, client.ScopeSee)
	for i := range most {
		ticket, _ := own.ticket(`{"session":"worker"}`)
		if res := own.terminal(ticket); res.StatusCode != http.StatusOK {
			t.Fatalf("terminal %d answers %s", i+1, res.Status)
		}
	}
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusTooManyRequests || !strings.Contains(own.text(res), "64 open requests") {
		t.Errorf("request %d answers %s", most+1, res.Status)
	}
	if res := other.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
		t.Errorf("another device gets %s", res.Status)
	}
	end <- struct{}{}
	for limit := time.Now().Add(deadline); own.request(http.MethodGet, "/auth/me", "").StatusCode != http.StatusOK; <-time.After(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("after a terminal ended the device is refused")
		}
	}
	close(end)
}

// TestDevicesAreLimited: at most 64 devices are signed in; when one signs out there is room for another.
func TestDevicesAreLimited(t *testing.T) {
	const most = 64
	b := newBench(t, web.Settings{})
	own := b.signedIn(t, "")
	for range most - 1 {
		b.signedIn(t, "")
	}
	late := b.browser(t)
	if res := late.request(http.MethodPost, "/auth/sign-in", `{"code":"`+b.code(t, "")+`","device":"one more"}`); res.StatusCode != http.StatusConflict || len(res.Cookies()) > 0 {
		t.Errorf("device %d answers %s", most+1, res.Status)
	}
	if res := own.request(http.MethodPost, "/auth/sign-out", ""); res.StatusCode != http.StatusNoContent {
		t.Errorf("the sign-out answers %s", res.Status)
	}
	late.enter(b.code(t, ""))
}

// TestStrangersStopNoSignIn: while requests without a device are refused because there are too many, codes and answer buttons work.
func TestStrangersStopNoSignIn(t *testing.T) {
	pressed := make(chan string, 1)
	frozen := time.Now() // no request earns another one
	b := newBench(t, web.Settings{}, func(o *web.Options) {
		o.Now = func() time.Time { return frozen }
		o.Answer = func(_ context.Context, token string) (client.Pending, error) {
			pressed <- token
			return client.Pending{ID: "q-1", State: client.PendingAnswered}, nil
		}
	})
	code := b.code(t, "")
	limited := false
	for i := 0; i < 100 && !limited; i++ { // each connection has a limit of its own, so each sends a few requests
		stranger := b.browser(t)
		for range 50 {
			limited = limited || stranger.request(http.MethodGet, "/nothing", "").StatusCode == http.StatusTooManyRequests
		}
	}
	if !limited {
		t.Fatal("5000 requests of strangers were not limited")
	}
	app := b.browser(t)
	if res := app.request(http.MethodPost, answers.Path, `{"token":"x"}`, asApp); res.StatusCode != http.StatusOK || <-pressed != "x" {
		t.Errorf("an answer button answers %s", res.Status)
	}
	b.browser(t).enter(code)
}
