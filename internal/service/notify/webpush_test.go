package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/config"
	"gascity/internal/domain/notification"
	"gascity/test/pushtest"
	"gascity/test/tier"
)

// pushDevices are devices in memory. It implements PushDevices.
type pushDevices struct {
	mu      sync.Mutex
	have    map[string]notification.Subscription
	removed map[string]string // by device: why
	changed func()
}

// newPushDevices returns the devices d-1, d-2 and so on, one for each browser.
func newPushDevices(browsers ...*pushtest.Browser) *pushDevices {
	d := &pushDevices{have: map[string]notification.Subscription{}, removed: map[string]string{}, changed: func() {}}
	for i, b := range browsers {
		d.have[deviceID(i)] = notification.Subscription{Endpoint: b.Endpoint, P256DH: b.P256DH, Auth: b.Auth}
	}
	return d
}

func deviceID(i int) string { return "d-" + string(rune('1'+i)) }

func (d *pushDevices) PushSubscription(device string) (notification.Subscription, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.have[device]
	return s, ok
}

func (d *pushDevices) RemovePushSubscription(_ context.Context, device, endpoint, why string) {
	d.mu.Lock()
	if d.have[device].Endpoint == endpoint {
		delete(d.have, device)
		d.removed[device] = why
	}
	d.mu.Unlock()
	d.changed()
}

// list returns the devices as the engine gets them.
func (d *pushDevices) list() (out []client.WebDevice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range d.have {
		out = append(out, client.WebDevice{ID: id, Name: "device " + id})
	}
	slices.SortFunc(out, func(a, b client.WebDevice) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// pushSink returns a sink of the type webpush that connects to the service.
func pushSink(t *testing.T, service *pushtest.Service, devices *pushDevices) Sink {
	t.Helper()
	return NewSink(&config.Notify{Name: "phone", Type: config.NotifyWebPush, Timeout: 10 * time.Second}, Environment{Push: Push{
		Key: NewPushKey(filepath.Join(t.TempDir(), "push.key")), Devices: devices, Dial: service.Dial, TLS: service.TLS(),
		Contact: func(context.Context) string { return "https://box.example" },
	}})
}

// TestPushIsReadByTheBrowser: the message is encrypted for the browser, signed, small, and has no secret.
func TestPushIsReadByTheBrowser(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	browser := service.Subscribe()
	sink := pushSink(t, service, newPushDevices(browser))
	m := message("Delete it? " + attack)
	m.Questions, m.Buttons = 3, []Button{{Label: "1. Yes", Token: "q-1.1.token"}}
	if err := sink.ForDevice("d-1").Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := browser.Pushes()
	if len(got) != 1 || got[0].Topic != "n-1" || got[0].Urgency != "high" || got[0].TTL != "14400" || got[0].Sender != "https://box.example" || got[0].Size > 4096 {
		t.Fatalf("the browser got %+v", got)
	}
	var shown pushMessage
	if err := json.Unmarshal([]byte(got[0].Text), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.ID != "n-1" || !slices.Equal(shown.Questions, []string{"q-1"}) || shown.Page != "#/needs/q-1" || shown.Badge != 3 || !shown.Urgent || shown.At == 0 {
		t.Errorf("the message is %+v", shown)
	}
	if !strings.HasPrefix(shown.Title, "a asks Delete it?") || !strings.HasPrefix(shown.Body, "Delete it?") || !strings.Contains(shown.Body, "\n1. Yes") {
		t.Errorf("the message is %+v", shown)
	}
	if want := []pushAction{{Label: "1. Yes", Token: "q-1.1.token"}}; !slices.Equal(shown.Actions, want) {
		t.Errorf("the buttons are %+v, want %+v", shown.Actions, want)
	}
	if strings.Contains(got[0].Text, hiddenValue) || strings.ContainsRune(got[0].Text, '\x1b') || strings.ContainsRune(got[0].Text, '\u202e') {
		t.Errorf("the message has a secret or a control character: %s", got[0].Text)
	}
}

// TestPushNamesEveryQuestion: each of very many questions at once is named in a message, so that a device does not close a message
// about a question that is still open.
func TestPushNamesEveryQuestion(t *testing.T) {
	c := newTown(t)
	service := pushtest.New(t)
	browser := service.Subscribe()
	devices := newPushDevices(browser)
	s := settings(nil)
	s.Sinks[0], s.Rules[0].Sink, s.Rules[0].Batch = pushSink(t, service, devices), "phone", time.Second
	c.startWith(s, devices.list())
	eventually(t, c.configured)
	want := map[string]bool{}
	for i := range 100 {
		want[c.ask(fmt.Sprint("agent-", i), strings.Repeat("May I delete it? ", 20))] = true
	}
	eventually(t, func() bool {
		return len(c.devices()) == len(want) && !slices.ContainsFunc(c.devices(), func(d string) bool { return !strings.HasSuffix(d, " sent") })
	})
	got := map[string]bool{}
	for _, push := range browser.Pushes() {
		var shown pushMessage
		if err := json.Unmarshal([]byte(push.Text), &shown); err != nil || push.Size > 4096 {
			t.Errorf("a message has %d bytes, %v", push.Size, err)
		}
		for _, id := range shown.Questions {
			got[id] = true
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the messages name %d of %d questions", len(got), len(want))
	}
}

// TestPushWithoutAnHTTPSAddress: a push service refuses a sender without a contact, or with another one than an https or mailto address.
func TestPushWithoutAnHTTPSAddress(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	for _, contact := range []string{"", "http://127.0.0.1:8420"} {
		browser := service.Subscribe()
		sink := NewSink(&config.Notify{Name: "phone", Type: config.NotifyWebPush, Timeout: 10 * time.Second}, Environment{Push: Push{
			Key: NewPushKey(filepath.Join(t.TempDir(), "push.key")), Devices: newPushDevices(browser), Dial: service.Dial, TLS: service.TLS(),
			Contact: func(context.Context) string { return contact },
		}})
		if err := sink.ForDevice("d-1").Send(t.Context(), message("x")); err != nil {
			t.Fatal(err)
		}
		if got := browser.Pushes()[0].Sender; got != "mailto:"+noContact {
			t.Errorf("without an https address, but %q, the contact is %q", contact, got)
		}
	}
}

// TestWithdrawalIsReadByTheBrowser: the withdrawal of a message replaces it at the push service and in the browser, quietly.
func TestWithdrawalIsReadByTheBrowser(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	browser := service.Subscribe()
	sender, ok := pushSink(t, service, newPushDevices(browser)).ForDevice("d-1").(Withdrawer)
	if !ok {
		t.Fatal("a message by Web Push cannot be withdrawn")
	}
	if err := sender.Withdraw(t.Context(), &Message{ID: "n-1", Title: "a asks a question", Questions: 2}); err != nil {
		t.Fatal(err)
	}
	got := browser.Pushes()[0]
	var shown pushMessage
	if err := json.Unmarshal([]byte(got.Text), &shown); err != nil {
		t.Fatal(err)
	}
	if got.Topic != "n-1" || got.Urgency != "normal" || shown.ID != "n-1" || !shown.Over || shown.Urgent || shown.Badge != 2 || shown.Title != "Closed: a asks a question" {
		t.Errorf("the browser got %+v", got)
	}
}

// TestPushFits: texts that are long, or long only as JSON, are cut, and the options stay.
func TestPushFits(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"long": strings.Repeat("word ", 20_000), "escapes": strings.Repeat("\"\\", 20_000), "lines": strings.Repeat("a\n", 20_000), "wide": strings.Repeat("漢", 20_000),
		"separators": strings.Repeat("\u2028x", 20_000), "invalid": strings.Repeat("\xff", 20_000),
	} {
		m := message(text)
		it := &m.Items[0]
		it.Tool, it.Input, it.Options = text, text, slices.Repeat([]string{text}, 40)
		m.render(nil, func(string, string) string { return "" })
		payload, err := pushPayload(m)
		var shown pushMessage
		if err == nil {
			err = json.Unmarshal(payload, &shown)
		}
		if err != nil || len(payload) > maxPush || !strings.Contains(shown.Body, "\n1. ") || !strings.Contains(shown.Body, "\n8. ") || strings.Contains(shown.Body, "\n9. ") {
			t.Errorf("%s: %d bytes, %v: %.300s", name, len(payload), err, payload)
		}
	}
	many := message("x")
	many.Items = slices.Repeat(many.Items, 50)
	many.render(nil, func(string, string) string { return "" })
	if payload, err := pushPayload(many); err != nil || len(payload) > maxPush || !strings.Contains(string(payload), `"page":"#/needs"`) {
		t.Errorf("many: %v, %s", err, payload)
	}
}

// TestPushKeyIsMadeOnce: the key is the same after a restart, only the user can read its file, and a damaged one is an error.
func TestPushKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "push.key")
	first, err := NewPushKey(path).Public()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := NewPushKey(path).Public(); err != nil || again != first {
		t.Errorf("the key is %s and then %s, %v", first, again, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("c2VjcmV0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewPushKey(path).Public(); err == nil || strings.Contains(err.Error(), "c2VjcmV0") || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("a damaged file: %v", err)
	}
}

// TestAnswersOfPushServices: what is tried again, what is final, and that no answer shows the subscription.
func TestAnswersOfPushServices(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	browser := service.Subscribe()
	devices := newPushDevices(browser)
	sender := pushSink(t, service, devices).ForDevice("d-1")
	for status, want := range map[int]struct {
		final, removed bool
		after          time.Duration
	}{
		429: {after: 7 * time.Second}, 500: {after: 7 * time.Second}, 503: {after: 7 * time.Second},
		400: {final: true, after: 7 * time.Second}, 403: {final: true, after: 7 * time.Second}, 413: {final: true, after: 7 * time.Second}, 302: {final: true, after: 7 * time.Second},
		404: {removed: true}, 410: {removed: true},
	} {
		browser.Answer(func(context.Context, pushtest.Push) pushtest.Reply {
			return pushtest.Reply{Status: status, RetryAfter: "7"}
		})
		err := sender.Send(t.Context(), message("x"))
		var failed SendError
		if e, ok := errors.AsType[*SendError](err); ok {
			failed = *e
		}
		_, has := devices.PushSubscription("d-1")
		if err == nil || failed.Final != want.final || failed.After != want.after || has == want.removed {
			t.Errorf("%d: %v, %+v, subscribed %v", status, err, failed, has)
		}
		if strings.Contains(err.Error(), "/send/") || strings.Contains(err.Error(), browser.Auth) {
			t.Errorf("%d: the error shows the subscription: %v", status, err)
		}
		if want.removed {
			if err := sender.Send(t.Context(), message("x")); err == nil {
				t.Error("a device without a subscription got a message")
			}
			devices.mu.Lock()
			devices.have = newPushDevices(browser).have
			devices.mu.Unlock()
		}
	}
}

// TestPushServiceOnThisMachine: gc does not connect to an address that is not public, whatever name leads to it, and does not
// try again.
func TestPushServiceOnThisMachine(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	local := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(local.Close)
	_, port, err := net.SplitHostPort(local.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b := pushtest.New(t).Subscribe()
	for _, host := range []string{"localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]", "[::]"} {
		devices := &pushDevices{have: map[string]notification.Subscription{"d-1": {Endpoint: "https://" + host + ":" + port + "/x", P256DH: b.P256DH, Auth: b.Auth}}}
		sink := NewSink(&config.Notify{Name: "phone", Type: config.NotifyWebPush, Timeout: 10 * time.Second}, Environment{Push: Push{
			Key: NewPushKey(filepath.Join(t.TempDir(), "push.key")), Devices: devices, Contact: func(context.Context) string { return "" },
			TLS: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test shows that no connection is made
		}})
		err := sink.ForDevice("d-1").Send(t.Context(), message("x"))
		failed, ok := errors.AsType[*SendError](err)
		if !ok || !failed.Final || !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the server on this machine was asked for %s", <-asked)
	}
}

// TestDevicesAreIndependent: each device gets a question once, with an id of its own; one that does not answer delays no other;
// one whose subscription has ended gets nothing any more; a new one gets only what is new.
func TestDevicesAreIndependent(t *testing.T) {
	c := newTown(t)
	service := pushtest.New(t)
	good, hangs, ended, late := service.Subscribe(), service.Subscribe(), service.Subscribe(), service.Subscribe()
	release := make(chan struct{})
	hangs.Answer(func(ctx context.Context, _ pushtest.Push) pushtest.Reply {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return pushtest.Reply{}
	})
	ended.Answer(func(context.Context, pushtest.Push) pushtest.Reply { return pushtest.Reply{Status: http.StatusGone} })
	devices := newPushDevices(good, hangs, ended)
	s := settings(nil)
	s.Sinks[0], s.Rules[0].Sink = pushSink(t, service, devices), "phone"
	c.startWith(s, devices.list())
	devices.changed = func() { c.engine.SetDevices(devices.list()) }
	eventually(t, c.configured)
	id := c.ask("a", "Delete it?")
	eventually(t, func() bool { return len(good.Pushes()) == 1 && len(hangs.Pushes()) == 1 && len(ended.Pushes()) == 1 })
	eventually(t, func() bool {
		return slices.Equal(c.devices(), []string{"q-1 d-1 sent", "q-1 d-2 sending", "q-1 d-3 dropped"})
	})
	if devices.removed["d-3"] == "" {
		t.Error("the subscription that has ended was not removed")
	}
	if a, b := good.Pushes()[0], hangs.Pushes()[0]; a.Topic == b.Topic || a.Topic == "" || a.Key != b.Key {
		t.Errorf("the topics are %q and %q, the keys %q and %q", a.Topic, b.Topic, a.Key, b.Key)
	}
	devices.mu.Lock()
	devices.have["d-4"] = newPushDevices(late).have["d-1"]
	devices.mu.Unlock()
	devices.changed()
	eventually(t, func() bool {
		state, err := c.stores.Notifications.NotificationState(t.Context())
		return err == nil && !state.Sinks["phone/d-4"].IsZero()
	})
	c.ask("b", "And this?")
	eventually(t, func() bool { return len(late.Pushes()) == 1 && len(good.Pushes()) == 2 })
	if len(ended.Pushes()) != 1 || !strings.Contains(late.Pushes()[0].Text, "And this?") {
		t.Errorf("the ended one got %d messages, the new one %+v", len(ended.Pushes()), late.Pushes())
	}
	close(release)
	eventually(t, func() bool {
		return slices.Equal(c.devices(), []string{"q-1 d-1 sent", "q-1 d-2 sent", "q-1 d-3 dropped", "q-2 d-1 sent", "q-2 d-2 sent", "q-2 d-4 sent"})
	})
	if n := len(hangs.Pushes()); n != 2 {
		t.Errorf("the slow device got %d messages, want 2", n)
	}
	c.answer(id)
}

// pushSetup is what a process that is killed needs to notify devices.
type pushSetup struct {
	Address     string
	Certificate []byte
	KeyFile     string
	Devices     map[string]notification.Subscription
}

// use makes the settings notify the devices.
func (p *pushSetup) use(s *Settings, e *Engine) {
	roots := x509.NewCertPool()
	if certificate, err := x509.ParseCertificate(p.Certificate); err == nil {
		roots.AddCert(certificate)
	}
	devices := &pushDevices{have: p.Devices, removed: map[string]string{}, changed: func() {}}
	s.Sinks[0] = NewSink(&config.Notify{Name: "x", Type: config.NotifyWebPush, Timeout: killedTimeout}, Environment{Push: Push{
		Key: NewPushKey(p.KeyFile), Devices: devices, Contact: func(context.Context) string { return "" }, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.Address)
		},
	}})
	e.SetDevices(devices.list())
}

// TestKillsOfWebPush is TestKills with two devices: each gets each question, and a repeated message has the Topic of the first.
func TestKillsOfWebPush(t *testing.T) {
	tier.Process(t)
	push := pushtest.New(t)
	browsers := map[string]*pushtest.Browser{}
	setup := pushSetup{KeyFile: filepath.Join(t.TempDir(), "push.key"), Devices: map[string]notification.Subscription{}}
	s := newKillService()
	for i := range 2 {
		b := push.Subscribe()
		path := strings.TrimPrefix(b.Endpoint, "https://example.com")
		browsers[path], s.paths = b, append(s.paths, path)
		setup.Devices[deviceID(i)] = notification.Subscription{Endpoint: b.Endpoint, P256DH: b.P256DH, Auth: b.Auth}
	}
	s.read = func(r *http.Request) (id string, questions []string, err error) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return "", nil, err
		}
		text, err := browsers[r.URL.Path].Decrypt(body)
		var shown pushMessage
		if err == nil {
			err = json.Unmarshal(text, &shown)
		}
		if err != nil || shown.ID != r.Header.Get("Topic") {
			t.Errorf("the message %s has the topic %q, %v", text, r.Header.Get("Topic"), err)
		}
		return r.Header.Get("Topic"), shown.Questions, err
	}
	service := httptest.NewTLSServer(s)
	t.Cleanup(service.Close)
	setup.Address, setup.Certificate = service.Listener.Addr().String(), service.Certificate().Raw
	text, err := json.Marshal(setup)
	if err != nil {
		t.Fatal(err)
	}
	s.setup = string(text)
	s.killAll(t, service.URL)
}
