package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"gascity/client"
	"gascity/internal/terminal/vt"
)

const patience = 20 * time.Second

// fakeCity is a city in memory. Its fields are guarded by mu.
type fakeCity struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	status  client.Status
	away    bool
	events  []client.Event
	asked   []client.Pending
	calls   []string
	screens map[string]string
}

func newFakeCity(status client.Status, asked ...client.Pending) *fakeCity {
	return &fakeCity{changed: make(chan struct{}), status: status, asked: asked, screens: map[string]string{}}
}

// change changes the city and wakes those that follow it.
func (f *fakeCity) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fakeCity) called(format string, args ...any) {
	f.change(func() { f.calls = append(f.calls, fmt.Sprintf(format, args...)) })
}

// state is what those that follow the city read.
type state struct {
	status client.Status
	away   bool
	events []client.Event
	screen string
}

// read calls next with the state of the city and of an agent's screen, and again after each change, until it returns false or ctx
// ends.
func (f *fakeCity) read(ctx context.Context, agent string, next func(state) bool) {
	for {
		f.mu.Lock()
		changed, now := f.changed, state{f.status, f.away, slices.Clone(f.events), f.screens[agent]}
		f.mu.Unlock()
		if !next(now) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

func (f *fakeCity) WatchStatus(ctx context.Context) iter.Seq2[client.Status, error] {
	return func(yield func(client.Status, error) bool) {
		last := ""
		f.read(ctx, "", func(s state) bool {
			if s.away {
				return yield(client.Status{}, client.ErrNoController) && false
			}
			if now := fmt.Sprint(s.status); now != last {
				last = now
				return yield(s.status, nil)
			}
			return true
		})
	}
}

func (f *fakeCity) WatchScreen(ctx context.Context, agent string) iter.Seq2[client.Screen, error] {
	return func(yield func(client.Screen, error) bool) {
		shown := ""
		f.read(ctx, agent, func(s state) bool {
			if s.away {
				return yield(client.Screen{}, client.ErrNoController) && false
			}
			if now := s.screen + " "; now != shown {
				shown = now
				return yield(client.Screen{Cols: 80, Rows: 24, Output: "\x1b[2J\x1b[H" + agent + " shows " + now}, nil)
			}
			return true
		})
	}
}

func (f *fakeCity) FollowEvents(ctx context.Context, q client.EventQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		f.read(ctx, "", func(s state) bool {
			for _, e := range s.events {
				if e.ID > q.After {
					q.After = e.ID
					if !yield(e, nil) {
						return false
					}
				}
			}
			return true
		})
	}
}

func (f *fakeCity) Pending(context.Context, string, client.Which) ([]client.Pending, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked), nil
}

func (f *fakeCity) Queue(context.Context, string, client.Which) ([]client.Receipt, error) {
	return nil, nil
}

func (f *fakeCity) Usage(context.Context, client.UsageRequest) (client.Usage, error) {
	return client.Usage{}, nil
}

func (f *fakeCity) Respond(_ context.Context, id string, req client.RespondRequest) (client.Pending, error) {
	f.called("respond %s %s%s by %s", id, req.Option, req.Text, req.By)
	return client.Pending{}, nil
}

func (f *fakeCity) Nudge(_ context.Context, agent string, req client.NudgeRequest) (client.Receipt, error) {
	f.called("nudge %s %q", agent, req.Text)
	return client.Receipt{ID: "r-7", Agent: agent, State: client.ReceiptAccepted, CreatedAt: start}, nil
}

func (f *fakeCity) Receipt(context.Context, string, string) (client.Receipt, error) {
	return client.Receipt{}, client.ErrNotFound
}

func (f *fakeCity) Interrupt(_ context.Context, agent string, req client.LifecycleRequest) (client.Done, error) {
	f.called("interrupt %s %s %v", agent, req.Instance, req.InTurn)
	return client.Done{Changed: true}, nil
}

func (f *fakeCity) Suspend(_ context.Context, agent string, req client.LifecycleRequest) (client.Done, error) {
	f.called("suspend %s %s", agent, req.Instance)
	return client.Done{}, fmt.Errorf("%w: it is locked", client.ErrRefused)
}

func (f *fakeCity) RestartInstance(_ context.Context, agent, instance string) (client.Done, error) {
	f.called("restart %s %s", agent, instance)
	return client.Done{Changed: true}, nil
}

// session is a dashboard on a pseudo terminal.
type session struct {
	t      testing.TB
	city   *fakeCity
	keys   *os.File
	ended  chan error
	cancel context.CancelFunc

	mu      sync.Mutex // guards all below
	screen  *vt.Screen
	written int
	changed chan struct{}
}

// openSession starts a dashboard. At the end of the test it has ended.
func openSession(t testing.TB, city *fakeCity, cols, rows int, adjust func(*Options)) *session {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("cannot open a pseudo terminal: %v", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := &session{t: t, city: city, keys: master, ended: make(chan error, 1), cancel: cancel, screen: vt.New(cols, rows, nil), changed: make(chan struct{})}
	opts := Options{
		City: city, First: &city.status, Terminal: tty, Out: tty, Now: time.Now, By: "test", Detach: detachKeys, Colors: TrueColors,
		Size: func() (int, int) {
			w, h, err := term.GetSize(int(tty.Fd()))
			if err != nil {
				t.Error(err)
			}
			return w, h
		},
		Start:    func(context.Context, client.Agent) (client.Done, error) { return client.Done{Changed: true}, nil },
		Attach:   func(context.Context, string) error { return nil },
		Edit:     func(_ context.Context, text string) (string, error) { return text + " edited\n", nil },
		Command:  func(_ context.Context, args []string, out io.Writer, _ int) { fmt.Fprintf(out, "ran %v\n", args) },
		Complete: func(context.Context, []string) []string { return []string{"status"} },
	}
	if adjust != nil {
		adjust(&opts)
	}
	reader := make(chan struct{})
	go func() { // ends with the master
		defer close(reader)
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			d.mu.Lock()
			d.screen.Write(buf[:n])
			d.written += n
			close(d.changed)
			d.changed = make(chan struct{})
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { d.ended <- Run(ctx, opts) }()
	t.Cleanup(func() {
		cancel()
		if err := <-d.ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := errors.Join(tty.Close(), master.Close()); err != nil {
			t.Error(err)
		}
		<-reader
	})
	return d
}

// await waits until the terminal shows, or does not show, a text.
func (d *session) await(text string, shown bool) {
	d.t.Helper()
	d.until(fmt.Sprintf("shows %q: %v", text, shown), func() bool { return strings.Contains(strings.Join(d.screen.Rows(), "\n"), text) == shown })
}

// until waits until a condition on the terminal holds.
func (d *session) until(what string, holds func() bool) {
	d.t.Helper()
	limit := time.After(patience)
	for {
		d.mu.Lock()
		ok, changed := holds(), d.changed
		all := strings.Join(d.screen.Rows(), "\n")
		d.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			d.t.Fatalf("the terminal never %s; it shows:\n%s", what, all)
		}
	}
}

// awaitCall waits until the city has received a call.
func (d *session) awaitCall(call string) {
	d.t.Helper()
	limit := time.After(patience)
	for {
		d.city.mu.Lock()
		ok, changed, all := slices.Contains(d.city.calls, call), d.city.changed, d.city.calls
		d.city.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			d.t.Fatalf("the city never received %q; it received %q", call, all)
		}
	}
}

// typed types keys.
func (d *session) typed(keys string) {
	d.t.Helper()
	if _, err := d.keys.WriteString(keys); err != nil {
		d.t.Fatal(err)
	}
}

func TestDashboardOnATerminal(t *testing.T) {
	city := newFakeCity(demo(), asked())
	attached := make(chan string, 1)
	d := openSession(t, city, 100, 30, func(o *Options) {
		o.Attach = func(_ context.Context, name string) error {
			attached <- name
			return errors.New("the attach of the test ends")
		}
	})
	d.await("web/tester shows", true)
	d.typed("a2")
	d.awaitCall("respond q-1 Yes, and do not ask again for make by test")
	d.await("answered web/tester", true)

	d.typed("phello\x1b\rworld\x07") // Alt-Enter, then the editor
	d.await("world edited", true)
	d.typed("\r")
	d.awaitCall(`nudge web/tester "hello\nworld edited"`)
	d.await("prompt stored for web/tester (r-7)", true)

	d.typed("xtester\r")
	d.awaitCall("suspend web/tester i-web/tester")
	d.await("it is locked", true)
	d.typed("jr\r")
	d.awaitCall("restart web/coder i-web/coder")
	d.typed("i\r")
	d.awaitCall("interrupt web/coder i-web/coder true")

	d.typed("\r")
	if name := <-attached; name != "web/coder" {
		t.Errorf("Enter attached to %s, want web/coder", name)
	}
	d.await("the attach of the test ends", true)

	d.typed(":st\t")
	d.await("gc status", true)
	d.typed("\r")
	d.await("ran [status]", true)
	d.typed("\x1b")
	d.await("ran [status]", false)

	city.change(func() { city.away = true })
	d.await("controller away since", true)
	city.change(func() { city.away = false })
	d.await("controller away since", false)
	d.await("web/coder shows", true)
	city.change(func() { city.screens["web/coder"] = "live output" })
	d.await("live output", true)

	if err := pty.Setsize(d.keys, &pty.Winsize{Cols: 60, Rows: 15}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	d.await("live output", false)

	d.typed("q")
	d.ended <- <-d.ended
	d.until("has left the alternate screen", func() bool { return !d.screen.Modes().AltScreen })
}

// TestCtrlZRestoresTheTerminal returns to the shell in the middle of a prompt. The shell has its own screen, and the text is still there
// when the dashboard continues.
func TestCtrlZRestoresTheTerminal(t *testing.T) {
	suspended, resume := make(chan struct{}), make(chan struct{})
	d := openSession(t, newFakeCity(demo()), 100, 30, func(o *Options) {
		o.Suspend = func() error {
			suspended <- struct{}{}
			<-resume
			return nil
		}
	})
	d.await("web/tester shows", true)
	d.typed("pdraft")
	d.await("draft", true)
	d.typed("\x1a")
	select {
	case <-suspended:
	case <-time.After(patience):
		t.Fatal("Ctrl-z does not return to the shell")
	}
	d.until("has left the alternate screen", func() bool { return !d.screen.Modes().AltScreen })
	close(resume)
	d.await("draft", true)
}

// TestNothingIsWrittenWithoutAChange sends the same state again and again: nothing is drawn.
func TestNothingIsWrittenWithoutAChange(t *testing.T) {
	city := newFakeCity(demo())
	d := openSession(t, city, 100, 30, nil)
	d.await("web/tester shows", true)
	d.typed("?")
	d.await("What you can do", true)
	d.mu.Lock()
	before := d.written
	d.mu.Unlock()
	for i := range 50 {
		city.change(func() { city.status.At = start.Add(time.Duration(i) * time.Second) })
	}
	d.typed("\x1b")
	d.await("What you can do", false)
	d.typed("?")
	d.await("What you can do", true)
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.written - before; n > 2*100*30*8 {
		t.Errorf("two changes of the panel wrote %d bytes", n)
	}
}

// fleet returns a city of n agents.
func fleet(n int) client.Status {
	s := client.Status{City: "fleet"}
	for i := range n {
		activity := []string{"busy", "idle", "idle", "busy"}[i%4]
		s.Agents = append(s.Agents, agentOf(fmt.Sprintf("rig-%d/agent-%03d", i%7, i), activity, i))
	}
	return s
}

// BenchmarkDashboard measures a dashboard of 200 agents on a pseudo terminal of 200x60: the first frame, the time from a key to its
// frame, and the processor time while nothing happens.
func BenchmarkDashboard(b *testing.B) {
	for range b.N {
		city := newFakeCity(fleet(200))
		began := time.Now()
		d := openSession(b, city, 200, 60, nil)
		d.until("shows an agent", func() bool { return strings.Contains(strings.Join(d.screen.Rows(), "\n"), "agent-000") })
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "first-frame-ms")
		var took []time.Duration
		for i := range 400 {
			d.mu.Lock()
			seen := d.written
			d.mu.Unlock()
			pressed := time.Now()
			d.typed([]string{"j", "k"}[i/100%2])
			d.until("changes", func() bool { return d.written > seen })
			took = append(took, time.Since(pressed))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "key-p50-ms")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "key-p99-ms")
		<-time.After(time.Second) // until the last screen is there
		d.mu.Lock()
		written := d.written
		d.mu.Unlock()
		before := processorTime(b)
		<-time.After(5 * time.Second)
		d.mu.Lock()
		b.ReportMetric(float64(d.written-written), "idle-bytes")
		d.mu.Unlock()
		b.ReportMetric(float64(processorTime(b)-before)/float64(5*time.Second)*100, "idle-cpu-%")
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
