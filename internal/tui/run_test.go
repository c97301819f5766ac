package tui

import (
	"bytes"
	"cmp"
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
	"testing/synctest"
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
	queue   []client.Receipt
	present int      // number of calls of Present that have not ended
	gaps    int      // how often events were lost
	keys    []string // of the prompts
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
	gaps   int
	screen string
}

// agent returns an agent by its name; the zero value if there is none.
func (s *state) agent(name string) client.Agent {
	for i := range s.status.Agents {
		if s.status.Agents[i].Name == name {
			return s.status.Agents[i]
		}
	}
	return client.Agent{}
}

// read calls next with the state of the city and of an agent's screen, and again after each change, until it returns false or ctx
// ends.
func (f *fakeCity) read(ctx context.Context, agent string, next func(state) bool) {
	for {
		f.mu.Lock()
		changed, now := f.changed, state{f.status, f.away, slices.Clone(f.events), f.gaps, f.screens[agent]}
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
		shown, instance := "", ""
		f.read(ctx, agent, func(s state) bool {
			if s.away {
				return yield(client.Screen{}, client.ErrNoController) && false
			}
			now := s.agent(agent)
			if now.State == client.StateFailed {
				return yield(client.Screen{}, errors.New("the agent does not run")) && false
			}
			instance = cmp.Or(instance, now.Instance)
			if instance != now.Instance {
				return false // the instance has exited
			}
			if text := s.screen + " "; text != shown {
				shown = text
				return yield(client.Screen{Cols: 80, Rows: 24, Output: "\x1b[2J\x1b[H" + agent + " shows " + text}, nil)
			}
			return true
		})
	}
}

func (f *fakeCity) FollowEvents(ctx context.Context, q client.EventQuery) iter.Seq2[client.Event, error] {
	return func(yield func(client.Event, error) bool) {
		gaps := 0
		f.read(ctx, "", func(s state) bool {
			for ; gaps < s.gaps; gaps++ {
				if !yield(client.Event{}, &client.GapError{After: q.After}) {
					return false
				}
			}
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
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.queue), nil
}

func (f *fakeCity) PromptText(_ context.Context, id string) (client.PromptText, error) {
	return client.PromptText{ID: id, Text: "the whole text\nof " + id}, nil
}

func (f *fakeCity) EditPrompt(_ context.Context, id string, req client.EditRequest) (client.Receipt, error) {
	f.called("edit %s %q by %s", id, *req.Text, req.By)
	if strings.HasPrefix(*req.Text, "late") {
		return client.Receipt{}, fmt.Errorf("%w: its delivery has begun", client.ErrRefused)
	}
	return client.Receipt{ID: id}, nil
}

func (f *fakeCity) MovePrompt(_ context.Context, id string, req client.MoveRequest) (client.Receipt, error) {
	f.called("move %s before %q, last %v, by %s", id, req.Before, req.Last, req.By)
	f.change(func() {
		at := slices.IndexFunc(f.queue, func(r client.Receipt) bool { return r.ID == id })
		moved := f.queue[at]
		f.queue = slices.Delete(f.queue, at, at+1)
		to := slices.IndexFunc(f.queue, func(r client.Receipt) bool { return r.ID == req.Before })
		if to < 0 {
			to = len(f.queue)
		}
		f.queue = slices.Insert(f.queue, to, moved)
	})
	return client.Receipt{ID: id}, nil
}

func (f *fakeCity) CancelPrompt(_ context.Context, id string) (client.Receipt, error) {
	f.called("cancel %s", id)
	f.mu.Lock()
	late := slices.ContainsFunc(f.queue, func(r client.Receipt) bool { return r.ID == id && strings.HasPrefix(r.Text, "late") })
	f.mu.Unlock()
	if late {
		return client.Receipt{ID: id, State: client.ReceiptSubmitted}, nil
	}
	f.change(func() { f.queue = slices.DeleteFunc(f.queue, func(r client.Receipt) bool { return r.ID == id }) })
	return client.Receipt{ID: id, State: client.ReceiptCancelled}, nil
}

func (f *fakeCity) Present(ctx context.Context) error {
	f.change(func() { f.present++ })
	<-ctx.Done()
	f.change(func() { f.present-- })
	return nil
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
	f.change(func() { f.keys = append(f.keys, req.Key) })
	if strings.HasPrefix(req.Text, "late") {
		return client.Receipt{}, fmt.Errorf("%w: it is stopped", client.ErrRefused)
	}
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

// dashboard is a dashboard on a pseudo terminal.
type dashboard struct {
	t      testing.TB
	city   *fakeCity
	keys   *os.File
	ended  chan error
	cancel context.CancelFunc

	mu      sync.Mutex // guards all below
	screen  *vt.Screen
	written int
	frames  int // a sequence that is split between two reads is not counted
	changed chan struct{}
}

// openSession starts a dashboard. At the end of the test it has ended.
func openSession(t testing.TB, city *fakeCity, cols, rows int, adjust func(*Options)) *dashboard {
	t.Helper()
	return openShown(t, city, cols, rows, func(ctx context.Context, opts Options) error {
		if adjust != nil {
			adjust(&opts)
		}
		return Run(ctx, opts)
	})
}

// openShown calls show with the options of a dashboard on a pseudo terminal. At the end of the test it has returned.
func openShown(t testing.TB, city *fakeCity, cols, rows int, show func(context.Context, Options) error) *dashboard {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("cannot open a pseudo terminal: %v", err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := &dashboard{t: t, city: city, keys: master, ended: make(chan error, 1), cancel: cancel, screen: vt.New(cols, rows, nil), changed: make(chan struct{})}
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
		Edit:     func(_ context.Context, text string) (string, error) { return text + " edited", nil },
		Command:  func(_ context.Context, args []string, out io.Writer, _ int) { fmt.Fprintf(out, "ran %v\n", args) },
		EditCity: func(context.Context) error { return nil },
		Complete: func(context.Context, []string) []string { return []string{"status"} },
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
			d.frames += bytes.Count(buf[:n], []byte("\x1b[?2026l"))
			close(d.changed)
			d.changed = make(chan struct{})
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { d.ended <- show(ctx, opts) }()
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
func (d *dashboard) await(text string, shown bool) {
	d.t.Helper()
	d.until(fmt.Sprintf("shows %q: %v", text, shown), func() bool { return strings.Contains(strings.Join(d.screen.Rows(), "\n"), text) == shown })
}

// until waits until a condition on the terminal holds.
func (d *dashboard) until(what string, holds func() bool) {
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
func (d *dashboard) awaitCall(call string) {
	d.t.Helper()
	d.awaitCity("received "+call, func(f *fakeCity) bool { return slices.Contains(f.calls, call) })
}

// awaitCity waits until a condition on the city holds.
func (d *dashboard) awaitCity(what string, holds func(*fakeCity) bool) {
	d.t.Helper()
	limit := time.After(patience)
	for {
		d.city.mu.Lock()
		ok, changed, all := holds(d.city), d.city.changed, d.city.calls
		d.city.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			d.t.Fatalf("the city never %s; it received %q", what, all)
		}
	}
}

// typed types keys.
func (d *dashboard) typed(keys string) {
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
	d.await("rm -rf build && make test", true) // the question, which is read separately
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

// TestStateAfterAReconnect: what changed without events while no controller answered is shown: the questions, the status and the queue.
func TestStateAfterAReconnect(t *testing.T) {
	city := newFakeCity(demo(), asked())
	d := openSession(t, city, 100, 30, nil)
	d.await("rm -rf build && make test", true)
	away := func(change func()) {
		t.Helper()
		city.change(func() { city.away = true })
		d.await("controller away since", true)
		city.change(func() {
			change()
			city.away = false
		})
		d.await("controller away since", false)
	}
	other := asked()
	other.ID, other.Prompt = "q-2", "Another question?"
	away(func() { city.asked = []client.Pending{other} })
	d.await("Another question?", true)
	d.await("rm -rf build && make test", false)
	d.typed("a1")
	d.awaitCall("respond q-2 Yes by test")
	d.typed("Q")
	d.await("No prompt waits.", true)
	away(func() { city.queue = waiting() })
	d.await("Queue: 4 prompts", true)
}

// TestStateAfterLostEvents: after a gap in the events the questions are read again.
func TestStateAfterLostEvents(t *testing.T) {
	city := newFakeCity(demo(), asked())
	d := openSession(t, city, 100, 30, nil)
	d.await("rm -rf build && make test", true)
	city.change(func() { // the events about these changes are lost
		other := asked()
		other.ID, other.Prompt = "q-2", "Another question?"
		city.asked = []client.Pending{other}
		city.gaps++
	})
	d.await("Another question?", true)
	d.await("rm -rf build && make test", false)
}

// TestScreenOfANewInstance: the stream of a screen ends with its instance; the dashboard shows the screen of the next one.
func TestScreenOfANewInstance(t *testing.T) {
	city := newFakeCity(demo())
	d := openSession(t, city, 100, 30, nil)
	d.await("web/tester shows", true)
	city.change(func() {
		city.status.Agents = slices.Clone(city.status.Agents)
		for i := range city.status.Agents {
			if city.status.Agents[i].Name == "web/tester" {
				city.status.Agents[i].Instance = "i-next"
			}
		}
		city.screens["web/tester"] = "the next instance"
	})
	d.await("the next instance", true)
}

// TestRestartOfAnAgentThatDoesNotRun: r starts it, also if the city still knows the instance that has failed.
func TestRestartOfAnAgentThatDoesNotRun(t *testing.T) {
	status := demo()
	for i := range status.Agents {
		if status.Agents[i].Name == "infra/broken" {
			status.Agents[i].Instance = "i-failed"
		}
	}
	city := newFakeCity(status)
	d := openSession(t, city, 100, 30, func(o *Options) {
		o.Start = func(_ context.Context, a client.Agent) (client.Done, error) {
			city.called("start %s", a.Name)
			return client.Done{Changed: true}, nil
		}
	})
	d.await("web/tester shows", true)
	d.typed("/infra/broken\r")
	d.await("The agent does not run", true)
	d.typed("r\r")
	d.awaitCall("start infra/broken")
	d.await("infra/broken: started", true)
}

// TestResumeOfADrainingAgent: r frees it from the drain, and does not say that it was started.
func TestResumeOfADrainingAgent(t *testing.T) {
	status := demo()
	for i := range status.Agents {
		if status.Agents[i].Name == "web/coder" {
			status.Agents[i].State = client.StateDraining
		}
	}
	city := newFakeCity(status)
	d := openSession(t, city, 100, 30, func(o *Options) {
		o.Start = func(_ context.Context, a client.Agent) (client.Done, error) {
			city.called("start %s", a.Name)
			return client.Done{Changed: true, Detail: "it is being woken"}, nil
		}
	})
	d.await("web/tester shows", true)
	d.typed("/web/coder\r")
	d.await("r resume", true)
	d.typed("r\r")
	d.awaitCall("start web/coder")
	d.await("web/coder: resumed", true)
}

// TestEachPromptHasItsOwnKey: the city stores a prompt with a known key only once.
func TestEachPromptHasItsOwnKey(t *testing.T) {
	city := newFakeCity(demo())
	d := openSession(t, city, 100, 30, nil)
	d.await("web/tester shows", true)
	d.typed("  pgo on\r") // for two agents
	d.awaitCity("received two prompts", func(f *fakeCity) bool { return len(f.keys) == 2 })
	d.typed("pgo on\r")
	d.awaitCity("received four prompts", func(f *fakeCity) bool { return len(f.keys) == 4 })
	city.mu.Lock()
	defer city.mu.Unlock()
	slices.Sort(city.keys)
	if len(slices.Compact(city.keys)) != 4 || city.keys[0] == "" {
		t.Errorf("the prompts have the keys %q", city.keys)
	}
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

// TestNothingIsWrittenWithoutAChange sends states that look the same, each after the dashboard has handled the one before: nothing is written.
func TestNothingIsWrittenWithoutAChange(t *testing.T) {
	city := newFakeCity(demo())
	handled := make(chan struct{}, 1000) // a value for each time that the dashboard reads the clock: once for each group of messages
	d := openSession(t, city, 100, 30, func(o *Options) {
		o.Now = func() time.Time {
			handled <- struct{}{}
			return start
		}
	})
	d.await("web/tester shows", true)
	drain := func() { // until all that was sent before is handled
		for range 3 {
			for len(handled) > 0 {
				<-handled
			}
			city.change(func() { city.status.At = city.status.At.Add(time.Second) })
			<-handled
		}
	}
	drain()
	d.mu.Lock()
	before := d.written
	d.mu.Unlock()
	for range 20 {
		drain()
	}
	d.mu.Lock()
	if n := d.written - before; n > 0 {
		t.Errorf("60 states without a visible change wrote %d bytes", n)
	}
	frames := d.frames
	d.mu.Unlock()
	city.change(func() { city.status.City = "renamed" })
	d.await("renamed", true)
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.frames - frames; n != 1 {
		t.Errorf("one visible change wrote %d frames", n)
	}
}

// TestPresence: the city counts the person while the dashboard has the focus and is visible.
func TestPresence(t *testing.T) {
	city := newFakeCity(demo())
	attached, back := make(chan struct{}), make(chan struct{})
	d := openSession(t, city, 100, 30, func(o *Options) {
		o.Attach = func(context.Context, string) error {
			attached <- struct{}{}
			<-back
			return nil
		}
	})
	counted := func(n int) func(*fakeCity) bool { return func(f *fakeCity) bool { return f.present == n } }
	d.await("web/tester shows", true)
	d.until("reports the focus", func() bool { return d.screen.Modes().FocusEvents })
	d.awaitCity("counted the person at the start", counted(1))
	d.typed("\x1b[O")
	d.awaitCity("forgot the person after the focus was lost", counted(0))
	d.typed("\x1b[I")
	d.awaitCity("counted the person with the focus", counted(1))
	d.typed("\x1b[O")
	d.awaitCity("forgot the person again", counted(0))
	d.typed("j") // a key is a sign of the focus, too
	d.awaitCity("counted the person who presses a key", counted(1))
	d.typed("jk")
	d.typed("\r")
	<-attached
	d.awaitCity("forgot the person who is attached to an agent", counted(0))
	close(back)
	d.awaitCity("counted the person who is back", counted(1))
	d.typed("q")
	d.ended <- <-d.ended
	d.awaitCity("forgot the person after the end", counted(0))
	d.until("reports the focus no more", func() bool { return !d.screen.Modes().FocusEvents })
}

// TestPresenceIsRenewed: after half of the limit the next key repeats the report, and a new controller gets it at once.
func TestPresenceIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		city := newFakeCity(demo())
		ctx, cancel := context.WithCancel(t.Context())
		r := newRunner(ctx, Options{City: city, Now: time.Now})
		counted := func() int {
			synctest.Wait()
			city.mu.Lock()
			defer city.mu.Unlock()
			return city.present
		}
		r.seen()
		r.seen()
		time.Sleep(presenceGap - time.Second)
		r.seen()
		if n := counted(); n != 1 {
			t.Errorf("keys within half of the limit made %d calls", n)
		}
		time.Sleep(time.Second)
		r.seen()
		if n := counted(); n != 2 {
			t.Errorf("a key after half of the limit: %d calls are open, want 2", n)
		}
		r.seenAgain()
		if n := counted(); n != 3 {
			t.Errorf("with a new controller: %d calls are open, want 3", n)
		}
		time.Sleep(client.PresenceLimit)
		r.seenAgain() // no key was pressed
		if n := counted(); n != 3 {
			t.Errorf("a new controller counts a person who is away")
		}
		r.unseen()
		if n := counted(); n != 0 {
			t.Errorf("without the focus %d calls are open", n)
		}
		cancel()
		r.work.Wait()
	})
}

// TestScreenOfASettledSelection: the screen of the first agent, and of one that is selected later, is requested at once, and the first
// connection does not repeat the request. Agents that are selected in quick succession are not requested.
func TestScreenOfASettledSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		city := &watchedCity{fakeCity: newFakeCity(fleet(5))}
		ctx, cancel := context.WithCancel(t.Context())
		r := newRunner(ctx, Options{City: city, Now: time.Now, Out: io.Discard})
		requested := func(want ...string) {
			t.Helper()
			synctest.Wait()
			city.mu.Lock()
			defer city.mu.Unlock()
			if !slices.Equal(city.requested, want) {
				t.Errorf("the screens of %q are requested, want %q", city.requested, want)
			}
			city.requested = nil
		}
		selected := func() string { return r.model.selected }
		r.handle(Resize{100, 30}, StatusMsg{city.status})
		requested(selected())
		r.handle(LinkMsg{})
		time.Sleep(time.Second)
		requested()
		for range 3 {
			r.handle(Key{Name: "j"})
			first := selected()
			requested(first)
			time.Sleep(settleTime / 2)
			r.handle(Key{Name: "k"})
			time.Sleep(settleTime / 2)
			r.handle(Key{Name: "j"})
			requested()
			time.Sleep(2 * settleTime)
			requested(first)
			time.Sleep(time.Second)
		}
		r.handle(LinkMsg{Err: client.ErrNoController})
		r.handle(LinkMsg{})
		requested(selected())
		cancel()
		r.work.Wait()
	})
}

// watchedCity records whose screens are requested.
type watchedCity struct {
	*fakeCity
	requested []string
}

func (c *watchedCity) WatchScreen(ctx context.Context, agent string) iter.Seq2[client.Screen, error] {
	c.mu.Lock()
	c.requested = append(c.requested, agent)
	c.mu.Unlock()
	return c.fakeCity.WatchScreen(ctx, agent)
}

// TestKeysBehindEnterAreForTheAgent types ahead: the keys behind Enter do nothing in the dashboard, and the agent gets them.
func TestKeysBehindEnterAreForTheAgent(t *testing.T) {
	var terminal *os.File
	got := make(chan string, 1)
	d := openSession(t, newFakeCity(demo()), 100, 30, func(o *Options) {
		terminal = o.Terminal
		o.Attach = func(context.Context, string) error {
			buf := make([]byte, 100)
			n, err := terminal.Read(buf)
			got <- string(buf[:n])
			return err
		}
	})
	d.await("web/tester shows", true)
	d.typed("pthree\x1b\rlines\r") // Enter in a dialog does not stop the dashboard
	d.awaitCall(`nudge web/tester "three\nlines"`)
	d.typed("p\x1b[200~pasted\rtext\x1b[201~\r")
	d.awaitCall(`nudge web/tester "pasted\ntext"`)
	d.typed("j\rqx fix it\n")
	select {
	case text := <-got:
		if text != "qx fix it\n" {
			t.Errorf("the agent got %q, want all that was typed behind Enter", text)
		}
	case <-time.After(patience):
		t.Fatal("Enter did not attach")
	}
	d.await("back from web/coder", true)
}

// TestKeysBehindCtrlZAreForTheShell types ahead of the shell, and ahead of the editor.
func TestKeysBehindCtrlZAreForTheShell(t *testing.T) {
	var terminal *os.File
	got := make(chan string, 1)
	read := func() error {
		buf := make([]byte, 100)
		n, err := terminal.Read(buf)
		got <- string(buf[:n])
		return err
	}
	d := openSession(t, newFakeCity(demo()), 100, 30, func(o *Options) {
		terminal = o.Terminal
		o.Suspend = read
		o.Edit = func(_ context.Context, text string) (string, error) { return text + " edited", read() }
	})
	d.await("web/tester shows", true)
	for _, keys := range []string{"\x1a", "pdraft\x07"} {
		d.typed(keys + "ls -l\n")
		select {
		case text := <-got:
			if text != "ls -l\n" {
				t.Errorf("the program behind %q got %q, want all that was typed", keys, text)
			}
		case <-time.After(patience):
			d.typed("\n") // the program waits for it
			t.Fatalf("what was typed behind %q did not reach the program", keys)
		}
	}
	d.await("draft edited", true)
}

// TestMessagesOfAnEndedProgram: the word that there are messages may be lost with the program that got it. The next program shows them.
func TestMessagesOfAnEndedProgram(t *testing.T) {
	d := openShown(t, newFakeCity(demo()), 100, 30, func(ctx context.Context, opts Options) error {
		r := newRunner(ctx, opts)
		r.inbox.put(StatusMsg{demo()})
		<-r.inbox.wake
		defer r.work.Wait()
		return r.show(ctx)
	})
	d.await("web/tester", true)
	d.typed("q")
}

// TestQueue edits, moves and cancels prompts that wait.
func TestQueue(t *testing.T) {
	city := newFakeCity(demo())
	for i, agent := range []string{"api/docs", "web/coder", "web/coder", "web/coder"} {
		city.queue = append(city.queue, client.Receipt{
			ID: fmt.Sprint("r-", i), Agent: agent, Session: agent, State: client.ReceiptQueued, Priority: client.PriorityNormal, Text: fmt.Sprint("text ", i), Position: max(1, i), CreatedAt: start,
		})
	}
	d := openSession(t, city, 100, 30, nil)
	d.await("web/tester shows", true)
	d.typed("Q")
	d.await("Queue: 4 prompts", true)
	d.typed("j")
	d.await("J later", true)
	d.await("K sooner", false) // it is the first one of its agent
	d.typed("J")
	d.awaitCall(`move r-1 before "r-3", last false, by test`)
	d.await("K sooner", true)
	d.typed("J")
	d.awaitCall(`move r-1 before "", last true, by test`)
	d.await("J later", false)
	d.typed("K")
	d.awaitCall(`move r-1 before "r-3", last false, by test`)

	d.typed("t")
	d.await("of r-1", true)
	d.typed(" more\r")
	d.awaitCall(`edit r-1 "the whole text\nof r-1 more" by test`)
	d.await("changed the prompt for web/coder", true)
	d.typed("t")
	d.await("of r-1", true)
	d.typed("\r")
	d.await("the prompt is unchanged", true)
	d.typed("t")
	d.await("of r-1", true)
	d.typed("\x1b[A\x01late \r")
	d.await("its delivery has begun", true)
	d.await("late the whole text", true) // the text is not lost
	d.typed("\x1b")
	d.await("late the whole text", false)

	d.typed("c")
	d.await("Cancel the prompt for web/coder?", true)
	d.typed("\x1b")
	d.await("Cancel the prompt", false)
	d.typed("c\r")
	d.awaitCall("cancel r-1")
	d.await("Queue: 3 prompts", true)
	city.change(func() {
		city.queue = nil
		city.events = []client.Event{{ID: 9, Kind: "prompt.submitted", Agent: "web/coder"}}
	})
	d.await("No prompt waits.", true)
	d.typed("Q")
	d.await("AGENT", true)
	city.mu.Lock()
	defer city.mu.Unlock()
	if n := strings.Count(strings.Join(city.calls, "\n"), "cancel"); n != 1 {
		t.Errorf("%d prompts were cancelled, want the one that was confirmed", n)
	}
}

// TestCancelThatIsTooLate: a prompt whose delivery has begun is not reported as cancelled.
func TestCancelThatIsTooLate(t *testing.T) {
	city := newFakeCity(demo())
	city.queue = []client.Receipt{{ID: "r-1", Agent: "web/coder", Session: "web/coder", State: client.ReceiptInjected, Text: "late", CreatedAt: start}}
	d := openSession(t, city, 100, 30, nil)
	d.await("web/tester shows", true)
	d.typed("Q")
	d.await("Queue: 1 prompt", true)
	d.typed("c\r")
	d.await("the prompt for web/coder was not cancelled: it is delivered", true)
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

// TestRefusedPromptIsNotLost sends a prompt that the city refuses: its text is in the editor again, for the same agent.
func TestRefusedPromptIsNotLost(t *testing.T) {
	d := openSession(t, newFakeCity(demo(), asked()), 100, 30, nil)
	d.await("web/tester shows", true)
	d.typed("plate words\r")
	d.awaitCall(`nudge web/tester "late words"`)
	d.await("it is stopped", true)
	d.await("Prompt for web/tester", true)
	d.await("late words", true)
	d.typed("\x15sent again\r")
	d.awaitCall(`nudge web/tester "sent again"`)
	d.await("prompt stored for web/tester", true)
}

// TestPromptThatFailedIsNotSentTwice: the city may have stored a prompt although its answer is an error, so the same text for the same agent
// has the same key. Another text has another key.
func TestPromptThatFailedIsNotSentTwice(t *testing.T) {
	city := newFakeCity(demo())
	r := newRunner(t.Context(), Options{City: city, Now: time.Now})
	r.model = newDemo(t, 100, 30)
	submit := func(keys ...string) []string {
		t.Helper()
		effects := press(r.model, keys...)
		if len(effects) != 1 {
			t.Fatalf("the keys %q have the effects %v, want one prompt", keys, effects)
		}
		effects[0].(Prompt).carryOut(t.Context(), r)
		for _, msg := range r.inbox.take() {
			r.model.Update(start, msg)
		}
		return city.keys[len(city.keys)-2:]
	}
	first := submit("space", "space", "p", "l", "a", "t", "e", "enter") // for two agents
	if again, third := submit("enter"), submit("enter"); first[0] == first[1] || !slices.Equal(first, again) || !slices.Equal(first, third) {
		t.Errorf("the same text has the keys %q, %q and %q", first, again, third)
	}
	if other := submit("r", "enter"); slices.Contains(first, other[0]) || slices.Contains(first, other[1]) {
		t.Errorf("another text has the keys %q, as the first one: %q", other, first)
	}
}

// TestCityTomlIsEditedFromTheDashboard runs : edit.
func TestCityTomlIsEditedFromTheDashboard(t *testing.T) {
	d := openSession(t, newFakeCity(demo()), 100, 30, func(o *Options) {
		o.EditCity = func(context.Context) error { return errors.New("the editor of the test ends") }
	})
	d.await("web/tester", true)
	d.typed(":edit\r")
	d.await("the editor of the test ends", true)
}
