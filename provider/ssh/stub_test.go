package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity/internal/driver/remote"
	"gascity/provider/ssh"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// TestMain is also gc on the host, where a test has copied this program as gc.
func TestMain(m *testing.M) {
	if len(os.Args) < 4 || os.Args[1] != "outpost" {
		os.Exit(m.Run())
	}
	ctx := context.Background() //nolint:forbidigo // of a program
	if err := errors.Join(remote.Announce(os.Stdout), remote.Serve(ctx, fake.New(), stdio{os.Stdin, os.Stdout}, remote.ServeOptions{Dir: os.Args[3]})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type stdio struct {
	io.Reader
	io.WriteCloser
}

// stub is an ssh that runs the command on this machine. $SSH_STUB is a shell script that runs first, with the
// command in $line.
const stub = `#!/bin/sh
for line; do :; done
printf '%s\n' "$*" >>"$HOME/calls"
eval "$SSH_STUB"
exec sh -c "$line"
`

// fakeHost is a host behind the stub.
type fakeHost struct {
	*testing.T

	home string
	cfg  ssh.Config
}

func newFakeHost(t *testing.T, first string) *fakeHost {
	t.Helper()
	b := &fakeHost{T: t, home: t.TempDir()}
	bin := filepath.Join(b.home, "bin")
	self, err := os.Executable()
	if err = errors.Join(err, os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "ssh"), []byte(stub), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	b.cfg = ssh.Config{
		Target: "box", Place: place, ID: "abc", Program: self, Logger: slog.New(slog.DiscardHandler), Connect: 30 * time.Second,
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "SSH_STUB=" + first, "GORACE=atexit_sleep_ms=0"},
	}
	return b
}

const place = "pty"

func (b *fakeHost) open() *ssh.Provider {
	b.Helper()
	p, err := ssh.Open(b.cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { p.Close() })
	return p
}

// programs returns the gc programs on the host.
func (b *fakeHost) programs() []string {
	b.Helper()
	entries, err := os.ReadDir(filepath.Join(b.home, ".cache/gc"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (b *fakeHost) calls() []string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.home, "calls"))
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// The program is copied once, and the copy is run from then on.
func TestProgramIsCopiedOnce(t *testing.T) {
	b := newFakeHost(t, "")
	for range 2 {
		p := b.open()
		if err := p.Start(t.Context(), "a", runtime.Config{Command: "agent"}); err != nil {
			t.Fatalf("Start: %v", err)
		}
		if o, err := p.Observe(t.Context(), "a"); err != nil || o.Agent != runtime.Alive {
			t.Errorf("Observe = %s, %v, want alive", o.Agent, err)
		}
		p.Close()
	}
	if got := b.programs(); len(got) != 1 || !strings.HasPrefix(got[0], "gc-") {
		t.Errorf("over there are %q, want one program", got)
	}
	if n := len(b.calls()); n != 4 { // missing, copy, run; run
		t.Errorf("%d calls of ssh, want 4:\n%s", n, strings.Join(b.calls(), "\n"))
	}
}

// The newest old programs and the running ones are kept.
func TestOldProgramsAreRemoved(t *testing.T) {
	b := newFakeHost(t, "")
	folder := filepath.Join(b.home, ".cache/gc")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		path, at := filepath.Join(folder, fmt.Sprintf("gc-old%d", i)), time.Now().Add(time.Duration(i-100)*time.Hour)
		if err := errors.Join(os.WriteFile(path, []byte("#!/bin/sh\nread line\n"), 0o700), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	runs(t, filepath.Join(folder, "gc-old1"))
	if err := b.open().Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(b.programs(), func(name string) bool { return !strings.HasPrefix(name, "gc-old") })
	if want := []string{"gc-old1", "gc-old5", "gc-old6", "gc-old7"}; !slices.Equal(got, want) {
		t.Errorf("over there stay %q, want %q", got, want)
	}
}

// Output of the login shell is ignored.
func TestLoginShellWithOutput(t *testing.T) {
	b := newFakeHost(t, `echo 'Welcome to box!'; printf 'no end of line'; echo complaint >&2`)
	if err := b.open().Connect(t.Context()); err != nil {
		t.Errorf("Reach past a greeting: %v", err)
	}
}

// Every connection failure is unavailable, has the reason and the fix, and returns in time.
func TestConnectionFailures(t *testing.T) {
	for name, c := range map[string]struct{ first, want string }{
		"refused":        {"echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255", "Connection refused"},
		"silent":         {"exit 255", "without a message"},
		"unknown key":    {"echo 'Host key verification failed.' >&2; exit 255", "connect once by hand"},
		"changed key":    {"echo '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @' >&2; echo 'Host key verification failed.' >&2; exit 255", "ssh-keygen -R"},
		"no key":         {"echo 'me@box: Permission denied (publickey).' >&2; exit 255", "ssh agent"},
		"no shell":       {"echo 'This account is currently not available.'; exit 1", "not available"},
		"noise for ever": {"exec yes", "KiB"},
		"another kind":   {`echo Plan9 mips; exit 87`, "plan9/mips"},
		"disk full":      {`case $line in *part-*) echo 'cat: write error: No space left on device' >&2; exit 1 ;; esac`, "No space left"},
		"cut off":        {`case $line in *part-*) head -c 100000 | sh -c "$line"; exit ;; esac`, "is incomplete"},
		"not writable":   {`export XDG_CACHE_HOME=/proc/no`, "cannot copy gc"},
		"too old":        {`case $line in *"outpost serve"*) printf '\n--gc-outpost--\n'; echo garbage; exit ;; esac`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFakeHost(t, c.first)
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			o, err := b.open().Observe(ctx, "a")
			if !errors.Is(err, runtime.ErrRuntimeUnavailable) || o.Session != runtime.Unknown || ctx.Err() != nil {
				t.Fatalf("Observe = %+v, %v, want unknown and unavailable", o, err)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "host box") {
				t.Errorf("the error %q does not say %q and which host", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") && len(err.Error()) > 4<<10 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			for _, name := range b.programs() {
				if strings.HasPrefix(name, "part") || c.want == "is incomplete" {
					t.Errorf("%s stays over there", name)
				}
			}
		})
	}
}

// A host that does not answer is unavailable after the limit, and the ssh process is killed.
func TestHostThatDoesNotAnswer(t *testing.T) {
	b := newFakeHost(t, `echo $$ >"$HOME/pid"; exec sleep 600`)
	b.cfg.Connect = time.Second
	p := b.open()
	if err := p.Connect(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, runtime.ErrRuntimeUnavailable) {
		t.Errorf("Reach of a silent host = %v, want its deadline", err)
	}
	waitExited(t, filepath.Join(b.home, "pid"))
}

// A host of another platform gets the program that is configured for it.
func TestHostOfAnotherPlatform(t *testing.T) {
	b := newFakeHost(t, `case $line in *part-*) ;; *) [ -e "$HOME/asked" ] || { : >"$HOME/asked"; echo Linux riscv64; exit 87; } ;; esac`)
	other := filepath.Join(b.home, "other")
	text, err := os.ReadFile(b.cfg.Program)
	if err = errors.Join(err, os.WriteFile(other, append(text, 0), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := b.open().Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "programs") {
		t.Errorf("Reach without a program for it = %v, want where to name one", err)
	}
	if err := os.Remove(filepath.Join(b.home, "asked")); err != nil {
		t.Fatal(err)
	}
	b.cfg.Programs = map[string]string{"linux/riscv64": other}
	if err := b.open().Connect(t.Context()); err != nil {
		t.Errorf("Reach with a program for it: %v", err)
	}
	if goruntime.GOARCH != "riscv64" && len(b.programs()) != 1 {
		t.Errorf("over there are %q", b.programs())
	}
}

// If the path of the socket would be too long, no connection is shared, and everything else works.
func TestLongPathOfTheSharedSocket(t *testing.T) {
	for _, long := range []bool{false, true} {
		b := newFakeHost(t, "")
		b.cfg.Dir = "/tmp/gcj-not-made"
		if long {
			b.cfg.Dir = filepath.Join(b.home, strings.Repeat("x", 100))
		} else {
			t.Cleanup(func() { _ = os.RemoveAll(b.cfg.Dir) })
		}
		if err := b.open().Connect(t.Context()); err != nil {
			t.Errorf("Reach: %v", err)
		}
		if shares := strings.Contains(b.calls()[0], "ControlPath="); shares == long {
			t.Errorf("with a long path %t the connection is shared: %t", long, shares)
		}
	}
}
