package remote_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gascity/internal/driver/remote"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const waitLimit = 20 * time.Second

// testLink is a fake over there and its provider here.
type testLink struct {
	*testing.T
	*remote.Provider

	fake *fake.Provider
	far  *remoteMachine
}

func newTestLink(t *testing.T, edit func(*remote.Options)) *testLink {
	t.Helper()
	r := &testLink{T: t, fake: fake.New()}
	r.far = newRemoteMachine(r.fake, filepath.Join(t.TempDir(), "far"))
	opts := remote.Options{Where: "host alpha", Dial: r.far.dial, Capabilities: capabilities(r.fake)}
	if edit != nil {
		edit(&opts)
	}
	r.Provider = remote.Open(opts)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		r.far.close()
	})
	return r
}

func (r *testLink) start(name string, cfg runtime.Config) {
	r.Helper()
	if err := r.Start(r.Context(), name, cfg); err != nil {
		r.Fatalf("Start(%s): %v", name, err)
	}
}

// A link that is lost says nothing about sessions, and is made again by the next call.
func TestALostLinkIsUnknown(t *testing.T) {
	r := newTestLink(t, nil)
	r.start("a", runtime.Config{Command: "agent"})
	down := errors.New("no route to host")
	r.far.closeConnections(down)
	o, err := r.Observe(t.Context(), "a")
	if !errors.Is(err, runtime.ErrRuntimeUnavailable) || o.Session != runtime.Unknown || o.Agent != runtime.Unknown {
		t.Errorf("Observe without a link = %s, %s, %v, want unknown, unknown and unavailable", o.Session, o.Agent, err)
	}
	if err == nil || !strings.Contains(err.Error(), "host alpha") {
		t.Errorf("the error does not name the place: %v", err)
	}
	if _, err := r.ListRunning(""); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("ListRunning without a link = %v, want unavailable", err)
	}
	if err := r.Stop("a"); !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Stop without a link = %v, want unavailable", err)
	}
	out, err := r.Deliver(t.Context(), "a", runtime.Delivery{ID: "1", Content: runtime.TextContent("hello")})
	if out.State != runtime.OutcomeRefused || err != nil {
		t.Errorf("Deliver without a link = %+v, %v, want a refusal: not a byte was sent", out, err)
	}
	if err := r.SetMeta("a", "k", "v"); !errors.Is(err, down) {
		t.Errorf("SetMeta without a link = %v, want the reason", err)
	}
	r.far.closeConnections(nil)
	if o, err := r.Observe(t.Context(), "a"); err != nil || o.Agent != runtime.Alive || o.InstanceToken == "" {
		t.Errorf("Observe with the link again = %+v, %v, want alive", o, err)
	}
}

// A watcher that watches through a loss gets a resync, and goes on watching.
func TestAWatchOutlivesTheLink(t *testing.T) {
	r := newTestLink(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := r.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	await := func(kind runtime.EventKind, name string) {
		t.Helper()
		timeout := time.After(waitLimit)
		for {
			select {
			case e := <-events:
				if e.Kind == kind && e.Session == name {
					return
				}
			case <-timeout:
				t.Fatalf("no event %s of %q", kind, name)
			}
		}
	}
	await(runtime.EventResync, "")
	r.start("a", runtime.Config{Command: "agent"})
	await(runtime.EventStarted, "a")
	r.far.closeConnections(nil)
	await(runtime.EventResync, "")
	r.start("b", runtime.Config{Command: "agent"})
	await(runtime.EventStarted, "b")
	cancel()
	for range events {
	}
}

// Files of this machine are carried over for a start, as they are, and are gone
// afterwards.
func TestFilesAreCarriedOver(t *testing.T) {
	r := newTestLink(t, nil)
	here, work := t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(here, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	write("overlay/bin/tool", "#!/bin/sh\n", 0o755)
	write("overlay/.hidden", "secret", 0o600)
	write("notes.txt", "notes", 0o644)
	if err := os.Symlink("tool", filepath.Join(here, "overlay/bin/link")); err != nil {
		t.Fatal(err)
	}
	r.start("a", runtime.Config{
		Command: "agent", WorkDir: work, OverlayDir: filepath.Join(here, "overlay"),
		CopyFiles: []runtime.CopyEntry{{Src: filepath.Join(here, "notes.txt"), RelDst: "docs/"}},
	})
	if err := r.CopyTo("a", filepath.Join(here, "notes.txt"), "again.txt"); err != nil {
		t.Errorf("CopyTo: %v", err)
	}
	if err := r.CopyTo("a", filepath.Join(here, "missing"), "missing"); err != nil {
		t.Errorf("CopyTo of what is not there: %v, want nil", err)
	}
	for name, want := range map[string]string{"bin/tool": "#!/bin/sh\n", ".hidden": "secret", "again.txt": "notes"} {
		if got, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", name, got, err, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(r.far.dir, "upload-*")); err != nil || len(left) > 0 {
		t.Errorf("left over there: %v, %v", left, err)
	}
}

// An agent over there reaches the worker API here, before and after a loss.
func TestTheWorkerAPIIsReached(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "city.sock")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			conn.Write([]byte("city received " + line)) //nolint:errcheck // the reader sees it
			conn.Close()
		}
	}()
	r := newTestLink(t, func(o *remote.Options) { o.Socket = socket })
	far := filepath.Join(r.far.dir, "worker.sock")
	r.start("a", runtime.Config{Command: "agent", Env: map[string]string{"GC_WORKER_SOCKET": socket, "OTHER": "x"}})
	for _, when := range []string{"at first", "after a loss"} {
		for deadline := time.Now().Add(waitLimit); ; { // a loss is noticed a moment later
			got, err := exchangeLine(t.Context(), far, when+"\n")
			if got == "city received "+when+"\n" {
				break
			}
			if err := r.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: got %q, %v", when, got, err)
			}
		}
		r.far.closeConnections(nil)
	}
	if info, err := os.Stat(far); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the far socket: %v, %v, want mode 0600", info, err)
	}
}

// exchangeLine writes a line to a socket and returns the line that comes back.
func exchangeLine(ctx context.Context, socket, line string) (string, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(line)); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// An outpost of another protocol is refused with the remedy, and so is noise.
func TestAStrangeFarEnd(t *testing.T) {
	for name, says := range map[string]string{"noise": "bash: gc: command not found\n", "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			p := remote.Open(remote.Options{Where: "host alpha", Dial: func(context.Context) (io.ReadWriteCloser, error) {
				here, there := net.Pipe()
				go func() {
					buf := make([]byte, 4096)
					there.Read(buf)           //nolint:errcheck // the greeting, whatever it is
					there.Write([]byte(says)) //nolint:errcheck // see above
					there.Close()
				}()
				return here, nil
			}})
			defer p.Close()
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			if err := p.Connect(ctx); !errors.Is(err, runtime.ErrRuntimeUnavailable) || ctx.Err() != nil {
				t.Errorf("Reach = %v, want unavailable at once", err)
			}
		})
	}
}
