package far_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gascity/client"
	"gascity/test/fakecodex"
)

// newCodex makes a stand-in for codex on the host. It returns its folder and its log.
func (f *sshServer) newCodex(t *testing.T) (folder, log string) {
	t.Helper()
	folder, log = filepath.Join(f.dir, "bin"), filepath.Join(f.dir, "codex.log")
	raw := filepath.Join(folder, "codex-raw") // the name of the real one's process
	script := fmt.Sprintf("#!/bin/sh\nexport %s='%s'\nexec '%s' \"$@\"\n", fakecodex.LogVariable, log, raw)
	if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink(must(os.Executable()), raw), os.WriteFile(filepath.Join(folder, "codex"), []byte(script), 0o700)); err != nil {
		t.Fatal(err)
	}
	return folder, log
}

// running returns the processes below a folder whose command line contains words.
func running(folder, words string) (pids []int) {
	for _, pid := range processes(folder) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), words) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestCodexOnTheHost: gc on the host installs the hooks and runs the native channel there, with files and a
// program of the host. Each prompt arrives unchanged and once, also after the connection was lost. The hook
// authorizes tools, a killed server is started again, and a stop removes everything.
func TestCodexOnTheHost(t *testing.T) {
	t.Parallel()
	f := newSSHServer(t, options{})
	bin, log := f.newCodex(t)
	c := newCity(t, f, fmt.Sprintf("[guard]\nsets = [\"dangerous-command\"]\n[[agents]]\nname = \"worker\"\nprovider = \"codex\"\nsession = \"ssh:box\"\nwork_dir = %q\nenv = {PATH = %q}\n",
		f.dir, bin+":"+os.Getenv("PATH")))
	outpost, _ := c.outpost(f)
	logged := func() string { text, _ := os.ReadFile(log); return string(text) } // none at first
	native := func() bool {
		e, err := c.client.Explain(t.Context(), "worker")
		return err == nil && e.Channel != nil && e.Channel.Way == client.ChannelNative
	}
	until(t, "prompts go through the channel", native)
	if programs := filepath.Join(f.dir, "cache", "gc") + "/gc-"; !strings.Contains(logged(), "server "+outpost+"/.gc/hooks/") || !strings.Contains(logged(), " "+programs) ||
		len(running(programs, " agent-channel codex ")) != 1 {
		t.Errorf("the channel does not use the host's files and program:\n%s", logged())
	}

	texts := []string{"e\u0301 \u202eRTL\u202c look at @\r\n\n! echo \\"}
	for i := range 8 {
		texts = append(texts, fmt.Sprintf("prompt %d @", i))
	}
	for i, text := range texts {
		if i == 3 || i == 6 {
			f.drop()
		}
		if err := c.promptAndWait("worker", text); err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"tool git push --force origin main", "tool touch file"} {
		if err := c.promptAndWait("worker", text); err != nil {
			t.Error(err)
		}
	}
	if said := logged(); !strings.Contains(said, "tool denied: ") || !strings.Contains(said, "tool allowed") || strings.Contains(said, "not authorized") {
		t.Errorf("the hook decided %s", said)
	}

	server := running(f.dir, " app-server ")
	if len(server) != 1 {
		t.Fatalf("servers of codex: %v", server)
	}
	_ = syscall.Kill(server[0], syscall.SIGKILL)
	until(t, "the server is replaced", func() bool {
		now := running(f.dir, " app-server ")
		return len(now) == 1 && now[0] != server[0] && native()
	})
	texts = append(texts, "after the kill @")
	if err := c.promptAndWait("worker", texts[len(texts)-1]); err != nil {
		t.Error(err)
	}
	var got []string
	for line := range strings.Lines(logged()) {
		var text string
		if raw, ok := strings.CutPrefix(line, "text "); ok && json.Unmarshal([]byte(raw), &text) == nil && slices.Contains(texts, text) {
			got = append(got, text)
		}
	}
	if !slices.Equal(got, texts) {
		t.Errorf("codex got %q, want %q", got, texts)
	}

	c.run(f, "stop")
	if left := append(running(f.dir, " app-server "), running(f.dir, "agent-channel")...); len(left) > 0 {
		t.Errorf("after the stop run %v", left)
	}
	if left, _ := os.ReadDir(filepath.Join(outpost, ".gc", "hooks")); len(left) > 0 {
		t.Errorf("after the stop are left %v", left)
	}
}
