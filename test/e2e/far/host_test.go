// Package far_test runs agents on another host: a real sshd on this machine, with a
// configuration, keys and folders of its own.
package far_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity/internal/fakeagent/ledger"
	"gascity/provider/ssh"
	"gascity/runtime"
	"gascity/test/fakeagent/build"
	"gascity/test/fakeagent/ledgertest"
	"gascity/test/fakecodex"
)

// place is the driver on the host.
const place = "pty"

// waitLimit is how long a test waits for what ought to happen, also on a busy machine.
const waitLimit = 60 * time.Second

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

// programDir is the folder of the program; empty before it is built.
var programDir string

// program builds gc once.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gcf-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // another user reads it
		return "", err
	}
	programDir = dir
	path := filepath.Join(dir, "gc")
	return path, build.Program(path, "gascity/cmd/gc")
})

func TestMain(m *testing.M) {
	if fakecodex.Called() {
		fakecodex.Main()
	}
	if calls := os.Getenv(callsVariable); calls != "" {
		requestTools(calls)
		return
	}
	code := m.Run()
	if programDir != "" {
		_ = os.RemoveAll(programDir) // a temporary folder
	}
	os.Exit(code)
}

// options configure the host of a test.
type options struct {
	user  string // the user on the host; empty: the current one
	sshd  string // additional configuration
	ssh   string // additional configuration of the client
	cache string // the directory of the gc program; empty: below dir
	delay bool   // the connection is slow and loses packets
}

// sshServer is an sshd on this machine, whose users have their homes below a temporary folder.
type sshServer struct {
	dir, program string
	port         int
	sshd         *osexec.Cmd
}

// newSSHServer starts one.
func newSSHServer(t *testing.T, o options) *sshServer {
	t.Helper()
	sshd, err := sshdPath()
	if _, missing := osexec.LookPath("ssh"); errors.Join(err, missing) != nil {
		t.Skip("sshd is not installed")
	}
	f := &sshServer{dir: must(os.MkdirTemp("", "gch"))} //nolint:usetesting // the path of a socket is short
	t.Cleanup(func() {
		f.closeConnections(t) // the shared connection writes its end
		if err := os.RemoveAll(f.dir); err != nil {
			t.Errorf("the host stays: %v", err)
		}
	})
	if f.program, err = program(); err != nil {
		t.Fatalf("cannot build gc: %v", err)
	}
	for _, key := range []string{"host", "user"} {
		f.tool(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(f.dir, key))
	}
	f.write(t, "authorized", string(must(os.ReadFile(filepath.Join(f.dir, "user.pub")))))
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	f.port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	who, cache := must(user.Current()).Username, filepath.Join(f.dir, "cache")
	if o.user != "" {
		who = o.user
		f.open(t)
	}
	if o.cache != "" {
		cache = o.cache
	}
	f.write(t, "sshd_config", fmt.Sprintf("%[3]sPort %[1]d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/authorized\n"+
		"PidFile none\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\n"+
		"SetEnv XDG_CACHE_HOME=%[4]s XDG_STATE_HOME=%[2]s/state GORACE=atexit_sleep_ms=0\n", f.port, f.dir, o.sshd, cache))
	port := f.port
	if o.delay {
		port = slow(t, f.port)
	}
	f.write(t, "known", "[127.0.0.1]:"+fmt.Sprint(port)+" "+string(must(os.ReadFile(filepath.Join(f.dir, "host.pub")))))
	f.write(t, "ssh_config", fmt.Sprintf("Host box\n%[4]s HostName 127.0.0.1\n Port %[1]d\n User %[2]s\n IdentityFile %[3]s/user\n IdentitiesOnly yes\n"+
		" UserKnownHostsFile %[3]s/known\n StrictHostKeyChecking yes\n LogLevel ERROR\n", port, who, f.dir, o.ssh))
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // sshd wants it so
			t.Fatal(err)
		}
	}
	f.serve(t, sshd)
	t.Cleanup(f.down)
	return f
}

// open lets other users reach what is theirs below the folder.
func (f *sshServer) open(t *testing.T) {
	t.Helper()
	for _, name := range []string{"cache", "state", "work"} {
		path := filepath.Join(f.dir, name)
		if err := errors.Join(os.MkdirAll(path, 0o777), os.Chmod(path, 0o777), os.Chmod(f.dir, 0o755)); err != nil { //nolint:gosec // see above
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(f.dir, "authorized"), 0o644); err != nil { //nolint:gosec // sshd reads it as that user
		t.Fatal(err)
	}
}

func sshdPath() (string, error) {
	if path, err := osexec.LookPath("sshd"); err == nil {
		return path, nil
	}
	_, err := os.Stat("/usr/sbin/sshd")
	return "/usr/sbin/sshd", err
}

func (f *sshServer) serve(t *testing.T, sshd string) {
	t.Helper()
	f.sshd = osexec.Command(sshd, "-D", "-e", "-f", filepath.Join(f.dir, "sshd_config"))
	if err := f.sshd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "sshd answers", func() bool {
		c, err := new(net.Dialer).DialContext(context.WithoutCancel(t.Context()), "tcp", fmt.Sprintf("127.0.0.1:%d", f.port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// down ends the sshd. Connections that there are go on without it.
func (f *sshServer) down() {
	f.sshd.Process.Kill()
	_ = f.sshd.Wait() // how it ended does not matter
}

// pause stops the sshd and its connections: nothing is refused, and nothing is answered.
func (f *sshServer) pause() { f.signal(syscall.SIGSTOP) }

// resume continues the sshd, or starts it again.
func (f *sshServer) resume(t *testing.T) {
	t.Helper()
	if f.sshd.ProcessState != nil {
		f.serve(t, must(sshdPath()))
		return
	}
	f.signal(syscall.SIGCONT)
}

// signal reaches the sshd and the processes of its connections, not what runs in them.
func (f *sshServer) signal(s syscall.Signal) {
	for _, pid := range f.family() {
		syscall.Kill(pid, s)
	}
}

// family returns the sshd and its child processes of that name.
func (f *sshServer) family() []int {
	theirs := []int{f.sshd.Process.Pid}
	for i := 0; i < len(theirs); i++ {
		for _, path := range must(filepath.Glob("/proc/[0-9]*/stat")) {
			text, err := os.ReadFile(path)
			number, rest, _ := strings.Cut(string(text), " (sshd")
			_, rest, _ = strings.Cut(rest, ") ")
			var pid, parent int
			var state string
			if _, scanErr := fmt.Sscan(number+" "+rest, &pid, &state, &parent); errors.Join(err, scanErr) == nil && parent == theirs[i] {
				theirs = append(theirs, pid)
			}
		}
	}
	return theirs
}

// clients returns the ssh processes of this host's users: those that name its configuration,
// and the shared connection, which names its socket.
func (f *sshServer) clients() (pids []int) {
	for _, path := range must(filepath.Glob("/proc/[0-9]*/cmdline")) {
		line, err := os.ReadFile(path)
		client := strings.HasPrefix(string(line), "ssh\x00") || strings.HasPrefix(string(line), "ssh: ") // and no sshd
		if err != nil || !client || !strings.Contains(string(line), f.dir) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killConnections kills all of them, and returns how many.
func (f *sshServer) killConnections() int {
	pids := f.clients()
	for _, pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	return len(pids)
}

// closeConnections cuts until nothing is left.
func (f *sshServer) closeConnections(t *testing.T) {
	until(t, "no ssh is left", func() bool { return f.killConnections() == 0 })
}

func (f *sshServer) tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := osexec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (f *sshServer) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config returns the driver's of one world.
func (f *sshServer) config(world string) ssh.Config {
	sum := sha256.Sum256([]byte(world))
	return ssh.Config{
		Target: "box", Place: place, ID: hex.EncodeToString(sum[:6]), Dir: filepath.Join(f.dir, "m"), Program: f.program,
		Options: []string{"-F", filepath.Join(f.dir, "ssh_config")}, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir},
	}
}

// session is a provider and the agents that were started by it.
type session struct {
	*testing.T
	*ssh.Provider

	far  *sshServer
	name string
}

func (f *sshServer) provider(t *testing.T) *session {
	t.Helper()
	p, err := ssh.Open(f.config(t.Name()))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{t, p, f, "worker"}
	t.Cleanup(func() {
		if running, err := p.ListRunning(""); err == nil {
			for _, name := range running {
				if err := p.Stop(name); err != nil {
					t.Errorf("Stop: %v", err)
				}
			}
		}
		p.Close()
	})
	return s
}

func (s *session) ledger() string { return filepath.Join(s.far.dir, "work", s.name+".ledger") }

// agent returns the configuration of a fake agent with these flags.
func (s *session) agent(flags string) runtime.Config {
	s.Helper()
	work := filepath.Join(s.far.dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		s.Fatal(err)
	}
	path := filepath.Join(s.far.dir, "fakeagent")
	if _, err := os.Stat(path); err != nil { // another user cannot reach where it was built
		s.far.tool(s.T, "cp", build.Build(s.T), path)
		s.far.tool(s.T, "chmod", "755", path)
	}
	return runtime.Config{
		Command: fmt.Sprintf("exec '%s' --ledger '%s' %s", path, s.ledger(), flags), WorkDir: work,
		ProviderName: imitated(), ReadyPromptPrefix: "❯ ",
	}
}

func (s *session) start(flags string) {
	s.Helper()
	if err := s.Start(s.Context(), s.name, s.agent(flags)); err != nil {
		s.Fatalf("Start: %v", err)
	}
}

// await waits until the ledger has n records of a kind, and returns them.
func (s *session) await(kind string, n int) []ledger.Record {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), waitLimit)
	defer cancel()
	records, err := ledgertest.Wait(ctx, s.ledger(), ledgertest.Has(kind, n))
	if err != nil {
		s.Fatalf("no %d records of kind %s: %v", n, kind, err)
	}
	return ledger.Of(records, kind)
}

// until waits for something.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), waitLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", what)
		case <-tick.C:
		}
	}
}
