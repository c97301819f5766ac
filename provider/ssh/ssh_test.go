package ssh_test

import (
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
	"testing"
	"time"

	"gascity/internal/agentcli"
	"gascity/provider/ssh"
	"gascity/runtime"
	"gascity/runtime/runtimetest"
	"gascity/test/fakeagent/build"
)

// place is the driver over there.
const place = "pty"

// far is an sshd on this machine, whose users have their homes below a temporary folder.
type far struct {
	dir, program string
	port         int
	sshd         *osexec.Cmd
}

func must[X any](x X, err error) X {
	if err != nil {
		panic(err)
	}
	return x
}

func sshdPath() (string, error) {
	if path, err := osexec.LookPath("sshd"); err == nil {
		return path, nil
	}
	_, err := os.Stat("/usr/sbin/sshd")
	return "/usr/sbin/sshd", err
}

// newFar starts one.
func newFar(t *testing.T) *far {
	t.Helper()
	sshd, err := sshdPath()
	if _, missing := osexec.LookPath("ssh"); errors.Join(err, missing) != nil {
		t.Skip("sshd is not installed")
	}
	f := &far{dir: must(os.MkdirTemp("", "gch"))} //nolint:usetesting // the path of a socket is short
	t.Cleanup(func() {
		if err := os.RemoveAll(f.dir); err != nil {
			t.Errorf("the host stays: %v", err)
		}
	})
	f.program = filepath.Join(f.dir, "gc")
	f.tool(t, "go", "build", "-o", f.program, "gascity/cmd/gc")
	for _, key := range []string{"host", "user"} {
		f.tool(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(f.dir, key))
	}
	f.write(t, "authorized", string(must(os.ReadFile(filepath.Join(f.dir, "user.pub")))))
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	f.port = listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	f.write(t, "sshd_config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/authorized\n"+
		"PidFile none\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\nMaxSessions 100\nMaxStartups 100\n"+
		"SetEnv XDG_CACHE_HOME=%[2]s/cache XDG_STATE_HOME=%[2]s/state XDG_RUNTIME_DIR=%[2]s/run GORACE=atexit_sleep_ms=0\n", f.port, f.dir))
	f.write(t, "known", "[127.0.0.1]:"+fmt.Sprint(f.port)+" "+string(must(os.ReadFile(filepath.Join(f.dir, "host.pub")))))
	f.write(t, "ssh_config", fmt.Sprintf("Host box\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %[3]s/user\n IdentitiesOnly yes\n"+
		" UserKnownHostsFile %[3]s/known\n StrictHostKeyChecking yes\n LogLevel ERROR\n", f.port, must(user.Current()).Username, f.dir))
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // sshd wants it so
			t.Fatal(err)
		}
	}
	f.serve(t, sshd)
	t.Cleanup(f.down)
	return f
}

func (f *far) serve(t *testing.T, sshd string) {
	t.Helper()
	f.sshd = osexec.Command(sshd, "-D", "-e", "-f", filepath.Join(f.dir, "sshd_config"))
	if err := f.sshd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", f.port))
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not answer: %v", err)
		}
	}
}

// down ends the sshd. Connections that there are go on without it.
func (f *far) down() {
	f.sshd.Process.Kill() //nolint:errcheck // it has ended
	_ = f.sshd.Wait()     // how it ended does not matter
}

func (f *far) tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := osexec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (f *far) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// config is the driver's of one world.
func (f *far) config(world string) ssh.Config {
	sum := sha256.Sum256([]byte(world))
	return ssh.Config{
		Target: "box", Place: place, ID: hex.EncodeToString(sum[:6]), Dir: filepath.Join(f.dir, "m"), Program: f.program,
		Options: []string{"-F", filepath.Join(f.dir, "ssh_config")}, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.dir},
	}
}

// The whole contract, on a real sshd. Whatever pty can do here it can do there.
func TestConformance(t *testing.T) {
	f := newFar(t)
	var mu sync.Mutex
	var open []*ssh.Provider
	harness := runtimetest.Harness{Agent: runtimetest.Program{
		Path: build.Build(t), Edit: func(cfg *runtime.Config, b runtimetest.Behaviour) {
			cfg.ProviderName = imitated()
			cfg.EmitsPermissionWarning = b.Dialog
		},
	}.Agent}
	harness.New = func(t runtimetest.T, dir string) runtime.Provider {
		p, err := ssh.Open(f.config(dir))
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		mu.Lock()
		open = append(open, p)
		mu.Unlock()
		return p
	}
	harness.Reopen = harness.New
	results := runtimetest.Run(t, harness)
	for _, p := range open {
		p.Close() //nolint:errcheck // never fails
	}
	count := map[runtimetest.Status]int{}
	for _, r := range results {
		if count[r.Status]++; r.Status == runtimetest.NotApplicable {
			t.Logf("%s is not applicable: %s", r.ID, strings.Join(r.Detail, " "))
		}
	}
	t.Logf("%v of %d cases", count, len(results))
}

// imitated is the agent CLI that the fake agent looks like.
func imitated() string {
	profiles := agentcli.Builtin()
	for _, name := range profiles.Names() {
		if p, ok := profiles.Lookup(name); ok && len(p.Dialogs) > 0 && strings.HasPrefix(p.ReadyPromptPrefix, "❯") {
			return name
		}
	}
	return agentcli.Generic
}
