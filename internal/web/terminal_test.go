package web_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"gascity/client"
	"gascity/internal/redact"
	"gascity/internal/service/terminals"
	"gascity/internal/terminal/vt"
	"gascity/internal/web"
	"gascity/runtime"
	"gascity/test/citytest"
)

// terminal is a page with a terminal emulator.
type terminal struct {
	t      *testing.T
	conn   *websocket.Conn
	screen *vt.Screen
	output int    // bytes of output so far
	driver string // the last message of the driver
}

// openTerminal opens a terminal of the agent, with a ticket of the browser.
func (b *browser) openTerminal(session string, typing bool) *terminal {
	b.t.Helper()
	res := b.request(http.MethodPost, "/auth/tickets", fmt.Sprintf(`{"session":%q,"type":%v}`, session, typing))
	var out struct{ Ticket string }
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || out.Ticket == "" {
		b.t.Fatalf("the request for a ticket answers %s: %v", res.Status, err)
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), deadline)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, b.base+"/terminal", &websocket.DialOptions{ //nolint:bodyclose // the connection has it
		HTTPHeader: http.Header{"Cookie": {b.cookie}, "Origin": {b.base}}, Subprotocols: []string{web.TerminalProtocol, "ticket." + out.Ticket},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	b.t.Cleanup(func() { _ = conn.CloseNow() })
	return &terminal{t: b.t, conn: conn, screen: vt.New(3, 3, nil)}
}

// read handles the next message as the page does, and returns its kind and content.
func (p *terminal) read(ctx context.Context) (kind byte, content []byte, err error) {
	_, m, err := p.conn.Read(ctx)
	if err != nil {
		return 0, nil, err
	}
	kind, content = m[0], m[1:]
	switch kind {
	case 'g':
		p.screen.Resize(int(binary.BigEndian.Uint16(content)), int(binary.BigEndian.Uint16(content[2:])))
	case 'o':
		p.screen.Write(content)
		p.output += len(content)
		p.confirm(ctx, p.output)
	case 't':
		p.driver = string(content)
	}
	return kind, content, nil
}

// until reads messages until ok is true for one.
func (p *terminal) until(what string, ok func(kind byte, content string) bool) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), deadline)
	defer cancel()
	for {
		kind, content, err := p.read(ctx)
		if err != nil {
			p.t.Fatalf("waiting for %s: %v; the terminal shows\n%s", what, err, strings.Join(p.screen.Rows(), "\n"))
		}
		if ok(kind, string(content)) {
			return
		}
	}
}

func (p *terminal) shows(text string) {
	p.t.Helper()
	p.until(text, func(byte, string) bool { return strings.Contains(strings.Join(p.screen.Rows(), "\n"), text) })
}

func (p *terminal) send(message string) {
	p.t.Helper()
	if err := p.conn.Write(p.t.Context(), websocket.MessageBinary, []byte(message)); err != nil {
		p.t.Fatal(err)
	}
}

// Devices watch a terminal; one of them takes over and types; the others see which; a device that may only watch
// types nothing.
func TestDevicesShareATerminal(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	phone, laptop := signIn(t, city, ""), signIn(t, city, "")
	one, two, watcher := phone.openTerminal("worker", true), laptop.openTerminal("worker", true), laptop.openTerminal("worker", false)
	for _, p := range []*terminal{one, two, watcher} {
		p.shows("fake agent")
		if p.driver != `{"driver":"","you":false}` {
			t.Errorf("at first the driver is %s", p.driver)
		}
	}
	one.send("ix")
	one.until("a refusal", func(kind byte, content string) bool {
		return kind == 'e' && strings.Contains(content, "take over first")
	})
	watcher.send("t")
	watcher.until("a refusal", func(kind byte, _ string) bool { return kind == 'e' })
	one.send("t")
	one.send("ityped on the phone")
	one.until("its own driving", func(byte, string) bool { return one.driver == `{"driver":"phone","you":true}` })
	two.until("another driver", func(byte, string) bool { return two.driver == `{"driver":"phone","you":false}` })
	watcher.shows("typed on the phone")
	two.send("t")
	two.send("i and on the laptop")
	watcher.shows("typed on the phone and on the laptop")
	one.send("ix")
	one.until("a refusal", func(kind byte, _ string) bool { return kind == 'e' })
	two.send("r")
	one.until("no driver", func(byte, string) bool { return one.driver == `{"driver":"","you":false}` })
	if _, err := city.Client.Kill(t.Context(), "worker", client.LifecycleRequest{}); err != nil {
		t.Fatal(err)
	}
	watcher.until("the end", func(kind byte, _ string) bool { return kind == 'x' })
}

// A device that is signed out sees nothing more, at once.
func TestATerminalEndsWithItsDevice(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	b := signIn(t, city, "")
	p := b.openTerminal("worker", true)
	p.shows("fake agent")
	devices, err := city.Client.WebDevices(t.Context())
	if err != nil || len(devices) != 1 {
		t.Fatalf("the devices are %v, %v", devices, err)
	}
	if _, err := city.Client.RevokeWebDevice(t.Context(), devices[0].ID); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for err == nil {
		_, _, err = p.read(ctx)
	}
	if ctx.Err() != nil {
		t.Error("the terminal of a device that was signed out stays open")
	}
}

// A browser that parses nothing gets at most the window. When it has parsed what it got, it gets the newest screen.
func TestAWindowOfOutput(t *testing.T) {
	city := citytest.New(t, cityConfig)
	city.AwaitRunning("worker")
	p := signIn(t, city, "").openTerminal("worker", true)
	p.shows("fake agent")
	p.send("t")
	p.until("its own driving", func(byte, string) bool { return strings.Contains(p.driver, "true") })
	const window = 256 << 10
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	outputs, ended := make(chan []byte), make(chan error, 1)
	go func() {
		for {
			_, m, err := p.conn.Read(ctx)
			if err != nil {
				ended <- err
				return
			}
			if m[0] != 'o' {
				continue
			}
			select {
			case outputs <- m[1:]:
			case <-ctx.Done():
				return
			}
		}
	}()
	unparsed, line := 0, strings.Repeat("x", 100)
	for i, calm := 0, 0; calm < 3; i++ { // as long as input causes output
		p.send(fmt.Sprintf("i%d %s\r", i, line))
		select {
		case m := <-outputs:
			p.screen.Write(m)
			unparsed, calm = unparsed+len(m), 0
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(200 * time.Millisecond):
			calm++
		}
		if unparsed > window {
			t.Fatalf("the server sent %d bytes that the browser has not parsed, want at most %d", unparsed, window)
		}
	}
	if unparsed < window/2 {
		t.Errorf("the server stopped after %d bytes, want about %d", unparsed, window)
	}
	p.send("inewest line")
	p.confirm(ctx, p.output+unparsed)
	for !strings.Contains(strings.Join(p.screen.Rows(), "\n"), "newest line") {
		select {
		case m := <-outputs:
			p.screen.Write(m)
			unparsed += len(m)
			p.confirm(ctx, p.output+unparsed)
		case err := <-ended:
			t.Fatal(err)
		}
	}
}

// confirm reports to the server how many bytes of output were parsed.
func (p *terminal) confirm(ctx context.Context, count int) {
	p.t.Helper()
	if err := p.conn.Write(ctx, websocket.MessageBinary, binary.BigEndian.AppendUint64([]byte{'a'}, uint64(count))); err != nil {
		p.t.Fatal(err)
	}
}

// slowAgent is a terminal whose agent does not read its input until release is closed.
type slowAgent struct {
	writes  chan int // gets the size of each input
	release chan struct{}
}

func (a slowAgent) Next(ctx context.Context) (runtime.TerminalFrame, error) {
	<-ctx.Done()
	return runtime.TerminalFrame{}, ctx.Err()
}

func (a slowAgent) Write(ctx context.Context, p []byte) error {
	select {
	case a.writes <- len(p):
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-a.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (slowAgent) Close() error { return nil }

// newTerminals serves terminals of the agent without a web console, and returns one that types.
func newTerminals(t *testing.T, opts web.TerminalOptions, open func() (runtime.Terminal, error)) *terminal {
	t.Helper()
	service := terminals.New(terminals.Options{Open: func(_ context.Context, _ string, o runtime.TerminalOptions) (runtime.Terminal, error) {
		if o.Type {
			return open()
		}
		return slowAgent{}, nil
	}})
	t.Cleanup(service.Close)
	opts.Open, opts.Log = service.Open, slog.New(slog.DiscardHandler)
	serve := web.NewTerminals(opts)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve(r.Context(), w, r, web.Grant{Session: "worker", Type: true})
	}))
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), server.URL, nil) //nolint:bodyclose // the connection has it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return &terminal{t: t, conn: conn, screen: vt.New(3, 3, nil)}
}

// Input that an agent does not read waits up to a number of bytes; more is refused, and what waits is
// typed.
func TestWaitingInputIsBoundedInBytes(t *testing.T) {
	agent := slowAgent{make(chan int), make(chan struct{})}
	p := newTerminals(t, web.TerminalOptions{}, func() (runtime.Terminal, error) { return agent, nil })
	const size = 200 << 10
	large := "i" + strings.Repeat("x", size)
	awaitWrite := func(want int) {
		t.Helper()
		select {
		case n := <-agent.writes:
			if n != want {
				t.Errorf("the agent gets %d bytes, want %d", n, want)
			}
		case <-time.After(deadline):
			t.Fatalf("the agent does not get %d bytes", want)
		}
	}
	p.send("t")
	p.send(large)
	awaitWrite(size)
	p.send(large) // waits
	p.send(large)
	p.until("a refusal", func(kind byte, content string) bool {
		return kind == 'e' && strings.Contains(content, "this input was dropped")
	})
	close(agent.release)
	awaitWrite(size)
	p.send("iend")
	awaitWrite(len("end"))
}

// What a terminal reports is one line, and has no secret.
func TestProblemsOfATerminalAreOneMaskedLine(t *testing.T) {
	secrets := &redact.Redactor{}
	secrets.Hide("hunter2hunter2")
	p := newTerminals(t, web.TerminalOptions{Secrets: secrets}, func() (runtime.Terminal, error) {
		return nil, errors.Join(runtime.ErrRuntimeUnavailable, errors.New("the key hunter2hunter2 is refused"))
	})
	for _, try := range []struct{ message, want string }{{"ix", ": this viewer is not the driver"}, {"t", ": the key "}} {
		p.send(try.message)
		p.until(try.want, func(kind byte, content string) bool {
			if kind != 'e' {
				return false
			}
			var problem struct{ Detail string }
			if err := json.Unmarshal([]byte(content), &problem); err != nil || !strings.Contains(problem.Detail, try.want) || strings.ContainsAny(problem.Detail, "\r\n") || strings.Contains(content, "hunter2") {
				t.Errorf("%q is answered with %s, want %q in one line without secrets", try.message, content, try.want)
			}
			return true
		})
	}
}

// A page that confirms output that it was not sent, or less than before, is disconnected: otherwise it would get more than the window.
func TestWrongConfirmationsEndATerminal(t *testing.T) {
	for name, counts := range map[string][]int{"too much": {1 << 40}, "less than before": {1, 0}} {
		city := citytest.New(t, cityConfig)
		city.AwaitRunning("worker")
		p := signIn(t, city, "").openTerminal("worker", false)
		ctx, cancel := context.WithTimeout(t.Context(), deadline)
		defer cancel()
		for kind := byte(0); kind != 'o'; { // not confirmed by read
			_, m, err := p.conn.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			kind = m[0]
		}
		for _, count := range counts {
			p.confirm(ctx, count)
		}
		var err error
		for err == nil {
			_, _, err = p.conn.Read(ctx)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: the terminal stays open", name)
		}
	}
}
