package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gascity/internal/driver/remote"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// A caller that gives up does not end the attempt that others wait for: the next one gets
// the connection that the first one had asked for.
func TestADialOutlivesItsCaller(t *testing.T) {
	dialled, release := make(chan struct{}), make(chan struct{})
	there := newRemoteMachine(fake.New(), filepath.Join(t.TempDir(), "far"))
	defer there.close()
	var dials atomic.Int32
	p := remote.Open(remote.Options{Where: "host alpha", Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		if dials.Add(1) == 1 {
			close(dialled)
		}
		select {
		case <-release:
			return there.dial(ctx)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}})
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { _, err := p.Observe(ctx, "a"); gone <- err }()
	<-dialled
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) || !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Observe that was given up = %v, want cancelled and unavailable", err)
	}
	close(release)
	if err := p.Connect(t.Context()); err != nil || dials.Load() != 1 {
		t.Errorf("Reach = %v after %d dials, want nil after 1", err, dials.Load())
	}
}

// All who wait for a host that is away share one attempt and its reason.
func TestManyCallsShareAFailure(t *testing.T) {
	var dials atomic.Int32
	down, release := errors.New("no route to host"), make(chan struct{})
	p := remote.Open(remote.Options{Where: "host alpha", Dial: func(context.Context) (io.ReadWriteCloser, error) {
		dials.Add(1)
		<-release
		return nil, down
	}})
	defer p.Close()
	var waiting, all sync.WaitGroup
	for i := range 100 {
		waiting.Add(1)
		all.Go(func() {
			waiting.Done()
			if _, err := p.Observe(t.Context(), fmt.Sprint("s", i)); !errors.Is(err, down) || !errors.Is(err, runtime.ErrRuntimeUnavailable) {
				t.Errorf("Observe = %v, want the reason and unavailable", err)
			}
		})
	}
	waiting.Wait()
	close(release)
	all.Wait()
	if n := dials.Load(); n > 90 { // how many came too late for the first is not ours
		t.Errorf("%d dials for 100 calls", n)
	}
}

// delayedReader delays what is read from the far end, as a long way does, and counts in how many
// bursts it came.
type delayedReader struct {
	io.ReadWriteCloser

	chunks chan arrived
	rest   []byte
}

type arrived struct {
	data []byte
	at   time.Time
}

func delayed(conn io.ReadWriteCloser, by time.Duration) io.ReadWriteCloser {
	l := &delayedReader{ReadWriteCloser: conn, chunks: make(chan arrived, 1<<14)}
	go func() {
		defer close(l.chunks)
		buf := make([]byte, 64<<10)
		for {
			n, err := conn.Read(buf)
			if n > 0 {
				l.chunks <- arrived{append([]byte{}, buf[:n]...), time.Now().Add(by)}
			}
			if err != nil {
				return
			}
		}
	}()
	return l
}

func (l *delayedReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		c, ok := <-l.chunks
		if !ok {
			return 0, io.EOF
		}
		<-time.After(time.Until(c.at))
		l.rest = c.data
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// A sweep of a far host costs the time of one round trip, however many sessions there are.
func TestASweepIsOneRoundTrip(t *testing.T) {
	const sessions, way = 200, 500 * time.Millisecond
	f := fake.New()
	there := newRemoteMachine(f, filepath.Join(t.TempDir(), "far"))
	defer there.close()
	p := remote.Open(remote.Options{Where: "host alpha", Capabilities: capabilities(f), Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := there.dial(ctx)
		return delayed(conn, way), err
	}})
	defer p.Close()
	for i := range sessions {
		if err := f.Start(t.Context(), fmt.Sprint("s", i), runtime.Config{Command: "agent"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var all sync.WaitGroup
	for i := range sessions {
		all.Go(func() {
			if o, err := p.Observe(t.Context(), fmt.Sprint("s", i)); err != nil || o.Agent != runtime.Alive {
				t.Errorf("Observe of s%d = %s, %v, want alive", i, o.Agent, err)
			}
		})
	}
	all.Wait()
	if took := time.Since(began); took < way || took > 8*way {
		t.Errorf("a sweep of %d sessions took %s where the way takes %s", sessions, took, way)
	} else {
		t.Logf("a sweep of %d sessions took %s where the way takes %s: %.1f round trips", sessions, took, way, float64(took)/float64(way))
	}
}

// A connection that is cut anywhere, in the middle of a frame too, answers unavailable and
// is made again; nothing hangs and nothing is taken for an answer.
func TestCutAnywhere(t *testing.T) {
	f := fake.New()
	there := newRemoteMachine(f, filepath.Join(t.TempDir(), "far"))
	defer there.close()
	var budget atomic.Int64
	p := remote.Open(remote.Options{Where: "host alpha", Capabilities: capabilities(f), Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := there.dial(ctx)
		return &brittle{ReadWriteCloser: conn, left: &budget}, err
	}})
	defer p.Close()
	if err := f.Start(t.Context(), "a", runtime.Config{Command: "agent"}); err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for range 300 {
		budget.Store(rand.Int64N(1500))
		for {
			o, err := p.Observe(t.Context(), "a")
			if err != nil {
				if !errors.Is(err, runtime.ErrRuntimeUnavailable) || o.Session != runtime.Unknown {
					t.Fatalf("Observe over a cut connection = %+v, %v, want unknown and unavailable", o, err)
				}
				cuts++
				break
			}
			if o.Agent != runtime.Alive {
				t.Fatalf("Observe = %+v, want alive", o)
			}
		}
	}
	budget.Store(1 << 40)
	if o, err := p.Observe(t.Context(), "a"); err != nil || o.Agent != runtime.Alive {
		t.Errorf("Observe after %d cuts = %s, %v, want alive", cuts, o.Agent, err)
	}
}

// brittle breaks after a number of bytes, which all connections share.
type brittle struct {
	io.ReadWriteCloser

	left *atomic.Int64
}

func (b *brittle) Write(p []byte) (int, error) { return b.some(p, b.ReadWriteCloser.Write) }
func (b *brittle) Read(p []byte) (int, error)  { return b.some(p, b.ReadWriteCloser.Read) }

func (b *brittle) some(p []byte, do func([]byte) (int, error)) (int, error) {
	left := b.left.Load()
	if left <= 0 {
		return 0, errors.Join(errors.New("cut"), b.Close())
	}
	n, err := do(p[:min(int64(len(p)), left)])
	b.left.Add(int64(-n))
	if err == nil && n < len(p) && b.left.Load() <= 0 {
		b.Close()
	}
	return n, err
}

// stalled is a connection whose far end is there and reads and says nothing any more.
type stalled struct {
	io.ReadWriteCloser

	stopped chan struct{}
	closed  chan struct{}
	once    sync.Once
}

func (s *stalled) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	select {
	case <-s.stopped:
		<-s.closed
		return 0, io.EOF
	default:
		return n, err
	}
}

func (s *stalled) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.ReadWriteCloser.Close()
}

// A far end that stalls delays no caller beyond its own limit, and not the end either.
func TestAStalledFarEnd(t *testing.T) {
	f := fake.New()
	there := newRemoteMachine(f, filepath.Join(t.TempDir(), "far"))
	defer there.close()
	stop := make(chan struct{})
	p := remote.Open(remote.Options{Where: "host alpha", Capabilities: capabilities(f), Dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := there.dial(ctx)
		return &stalled{ReadWriteCloser: conn, stopped: stop, closed: make(chan struct{})}, err
	}})
	if err := p.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(stop)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	o, err := p.Observe(ctx, "a")
	if !errors.Is(err, context.DeadlineExceeded) || o.Session != runtime.Unknown {
		t.Errorf("Observe of a stalled far end = %+v, %v, want unknown and its deadline", o, err)
	}
	if took := time.Since(began); took > 4*time.Second { // less than a goodbye
		t.Errorf("a look that was given up after 50ms took %s", took)
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// A worker that keeps its connection without a word keeps neither end when the link is
// lost: its connection ends.
func TestAQuietWorkerEndsWithTheLink(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "city.sock")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	heard := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			heard <- conn // and never closed by itself
		}
	}()
	r := newTestLink(t, func(o *remote.Options) {
		o.Socket = socket
	})
	if err := r.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	worker, err := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(r.far.dir, "worker.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	city := <-heard
	defer city.Close()
	r.far.closeConnections(errors.New("away"))
	for name, conn := range map[string]net.Conn{"the worker": worker, "the city": city} {
		if err := conn.SetReadDeadline(time.Now().Add(waitLimit)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the connection of %s = %v after the loss, want its end", name, err)
		}
	}
	served := make(chan struct{})
	go func() { r.far.work.Wait(); close(served) }()
	select {
	case <-served:
	case <-time.After(waitLimit):
		t.Error("the far end goes on for a worker that keeps its connection")
	}
}

// Two outposts over one folder: the later has the worker API's socket, and the end of the
// previous does not take it away.
func TestASocketThatIsTakenOver(t *testing.T) {
	dir := t.TempDir()
	opts := func(name string) func(*remote.Options) {
		socket := filepath.Join(dir, name)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 64))               //nolint:errcheck // a line
				conn.Write([]byte("I am " + name + "\n")) //nolint:errcheck // the reader sees it
				conn.Close()
			}
		}()
		return func(o *remote.Options) { o.Socket = socket }
	}
	first := newTestLink(t, opts("the first"))
	second := remote.Open(func() remote.Options {
		o := remote.Options{Where: "host alpha", Dial: first.far.dial, Capabilities: capabilities(first.fake)}
		opts("the second")(&o)
		return o
	}())
	defer second.Close()
	for _, p := range []*remote.Provider{first.Provider, second} {
		if err := p.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	far := filepath.Join(first.far.dir, "worker.sock")
	for _, when := range []string{"with both", "without the first"} {
		if got, err := exchangeLine(t.Context(), far, "who\n"); got != "I am the second\n" {
			t.Errorf("%s: the socket answers %q, %v, want the second", when, got, err)
		}
		if err := first.Provider.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A far end that cannot take what is carried over says so: no caller waits for space, and
// the call that it was for is not made.
func TestAnUploadThatFails(t *testing.T) {
	r := newTestLink(t, nil)
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 8<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(r.far.dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	err := r.Start(ctx, "a", runtime.Config{Command: "agent", OverlayDir: big})
	if err == nil || ctx.Err() != nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v, want why it cannot be carried over, at once", err)
	}
	if r.fake.IsRunning("a") {
		t.Error("it was started without its files")
	}
}

// Trees as people have them are carried over, or it is said what is in the way.
func TestOddTrees(t *testing.T) {
	r := newTestLink(t, nil)
	r.start("a", runtime.Config{Command: "agent", WorkDir: t.TempDir()})
	tree := filepath.Join(t.TempDir(), "tree")
	names := []string{"a\nb", "with space", "-dash", "ünï", "latin\xff1", "'q\"", "..."}
	err := os.MkdirAll(filepath.Join(tree, "deep"), 0o700)
	for _, name := range names {
		err = errors.Join(err, os.WriteFile(filepath.Join(tree, "deep", name), []byte(name), 0o600))
	}
	err = errors.Join(err, os.Symlink("deep/with space", filepath.Join(tree, "link")), syscall.Mkfifo(filepath.Join(tree, "pipe"), 0o600),
		os.Mkdir(filepath.Join(tree, "shut"), 0o500))
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := r.Start(t.Context(), "b", runtime.Config{Command: "agent", WorkDir: work, OverlayDir: tree + "/"}); err != nil {
		t.Fatalf("Start with an odd tree: %v", err)
	}
	for _, name := range names {
		if got, err := os.ReadFile(filepath.Join(work, "deep", name)); err != nil || string(got) != name {
			t.Errorf("%q has %q, %v", name, got, err)
		}
	}
	if os.Getuid() != 0 {
		secret := filepath.Join(tree, "deep", "secret")
		if err := os.WriteFile(secret, nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := r.Start(t.Context(), "c", runtime.Config{Command: "agent", OverlayDir: tree}); !errors.Is(err, os.ErrPermission) {
			t.Errorf("Start with an unreadable file = %v, want a refusal", err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(r.far.dir, "upload-*")); err != nil || len(left) > 0 {
		t.Errorf("left over there: %v, %v", left, err)
	}
}
