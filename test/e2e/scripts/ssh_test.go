package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gascity/internal/fakeagent/ledger"
)

// serveSSH runs an sshd of its own on this machine and makes the script go there.
func (s *script) serveSSH() {
	s.t.Helper()
	who := must(user.Current())
	for _, key := range []string{"host", "user"} {
		s.tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, key))
	}
	s.write("authorized", string(must(os.ReadFile(filepath.Join(s.dir, "user.pub")))))
	listener := must(new(net.ListenConfig).Listen(s.t.Context(), "tcp", "127.0.0.1:0"))
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	s.write("sshd_config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s/host\nAuthorizedKeysFile %s/authorized\n"+
		"PidFile none\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n", port, s.dir, s.dir))
	s.write("ssh_config", fmt.Sprintf("Host box\n HostName 127.0.0.1\n Port %d\n User %s\n IdentityFile %s/user\n IdentitiesOnly yes\n"+
		" UserKnownHostsFile %s/known\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n", port, who.Username, s.dir, s.dir))
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // sshd wants it so
			s.t.Fatal(err)
		}
	}
	var log bytes.Buffer
	sshd := osexec.CommandContext(s.t.Context(), sshdPath(), "-D", "-e", "-f", filepath.Join(s.dir, "sshd_config"))
	sshd.Stderr = &log
	if err := sshd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { sshd.Process.Kill(); sshd.Wait() })
	until(s.t, "sshd answers", func() bool {
		c, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	s.env = append(s.env, "GC_SSH_HOST=box", "GC_SSH_CONFIG="+filepath.Join(s.dir, "ssh_config"), "GC_SSH_STATE="+filepath.Join(s.dir, "there's state"))
	s.t.Cleanup(func() { // before the sshd ends
		for session := range strings.FieldsSeq(s.call("", "list-running", "").stdout) {
			s.call("", "stop", session)
		}
		end := osexec.CommandContext(context.WithoutCancel(s.t.Context()), "ssh", "-F", filepath.Join(s.dir, "ssh_config"), "-o", "ControlPath="+filepath.Join(s.dir, "state/ssh/%C"), "-O", "exit", "box")
		if out, err := end.CombinedOutput(); err != nil {
			s.t.Logf("the connection was not ended: %v %s", err, out)
		}
	})
}

func sshdPath() string {
	if path, err := osexec.LookPath("sshd"); err == nil {
		return path
	}
	return "/usr/sbin/sshd"
}

func (s *script) tool(name string, args ...string) {
	s.t.Helper()
	if out, err := osexec.CommandContext(s.t.Context(), name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (s *script) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func TestSSH(t *testing.T) {
	s := open(t, "gc-session-ssh")
	s.serveSSH()
	dump := filepath.Join(s.dir, "dump")
	s.write("setup.sh", "echo from the script > \"$GC_DIR/script\"\n")
	if err := os.MkdirAll(filepath.Join(s.dir, "overlay/deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.write("overlay/deep/o'verlay", odd)
	a := s.start("worker-10", "--print-env-to '"+dump+"'", func(d document) {
		d["env"] = map[string]string{"GC_CASE": odd, "GC_INSTANCE_TOKEN": "the token", "GC_DIR": filepath.Join(s.dir, "worker-10.work")}
		d["session_setup_script"] = filepath.Join(s.dir, "setup.sh")
		d["overlay_dir"] = filepath.Join(s.dir, "overlay")
	})
	a.await(ledger.Ready, 1)
	if got := readEnv(t, dump)["GC_CASE"]; got != odd {
		t.Errorf("GC_CASE = %q in the agent, want %q", got, odd)
	}
	for name, want := range map[string]string{"script": "from the script\n", "deep/o'verlay": odd} {
		if got, _ := os.ReadFile(filepath.Join(a.work, name)); string(got) != want {
			t.Errorf("%s is %q in the working directory, want %q", name, got, want)
		}
	}
	s.wantOutput("worker-10\n", "", "list-running", "")
	s.wantOutput("false\n", "", "is-running", "worker-1")
	s.fails("session-exists", "{}", "start", "worker-10")
	a.prompts("x", odd, filler(4097), filler(1<<20))
	metadata(t, s)
	copies(t, s, a)
	observes(t, s)
	s.do("the token", "stop-instance", "worker-10")
	s.wantOutput("false\n", "", "is-running", "worker-10")
}

// A host that cannot be reached proves nothing about its sessions.
func TestSSHUnreachable(t *testing.T) {
	s := open(t, "gc-session-ssh")
	s.serveSSH()
	for _, bad := range []string{"GC_SSH_HOST=nowhere.invalid", "GC_SSH_HOST=", "GC_SSH_HOST=-oProxyCommand=touch x"} {
		lost := *s
		lost.env = append(append([]string{}, s.env...), bad)
		for _, operation := range []string{"is-running", "stop", "list-running", "observe"} {
			lost.fails("unavailable", "", operation, "a")
		}
	}
}

// What ssh hands to the login shell means the same in all of them.
func TestLoginShells(t *testing.T) {
	const program = "set -- 'it'\\''s $HOME `id` !ls'; cat\n"
	command := fmt.Sprintf(`exec sh -c 'eval "$(dd bs=1 count=%d 2>/dev/null)"'`, len(program))
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "fish", "tcsh", "mksh", "busybox"} {
		path, err := osexec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not installed", shell)
			continue
		}
		args := []string{"-c", command}
		if shell == "busybox" {
			args = append([]string{"sh"}, args...)
		}
		cmd := osexec.CommandContext(t.Context(), path, args...)
		cmd.Stdin = strings.NewReader(program + odd)
		if out, err := cmd.Output(); err != nil || string(out) != odd {
			t.Errorf("%s gives %q, %v, want what came behind the program", shell, out, err)
		}
	}
}

// A start that is cut off here ends there, too: what ran for it, and what it has made. The next one is free.
func TestSSHStartCutOff(t *testing.T) {
	s := open(t, "gc-session-ssh")
	s.serveSSH()
	reached := filepath.Join(s.dir, "reached")
	doc := string(must(json.Marshal(document{"command": "exec cat", "pre_start": []string{
		"echo $$ >'" + reached + ".new'; mv '" + reached + ".new' '" + reached + "'; exec sleep 100000",
	}})))
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		cmd := osexec.CommandContext(t.Context(), s.path, "start", "a")
		cmd.Env, cmd.Dir, cmd.Stdin, cmd.SysProcAttr = s.env, s.dir, strings.NewReader(doc), &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pid int
		until(t, "the command of pre_start runs", func() bool {
			data, _ := os.ReadFile(reached)
			n, _ := fmt.Sscan(string(data), &pid)
			return n == 1
		})
		if err := syscall.Kill(-cmd.Process.Pid, sig); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		s.do("", "stop", "a")
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("after %v and stop the command of pre_start runs", sig)
		}
		must(0, os.Remove(reached))
	}
	s.start("a", "", nil).await(ledger.Ready, 1)
}
