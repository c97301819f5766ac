package cleanup

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gascity/internal/citydir"
	"gascity/internal/proc"
	"gascity/runtime"
	"gascity/runtime/runtimetest/fake"
)

// server starts a process that leads a session and has an argument in dir. It ends with its input.
func server(t *testing.T, dir string) (cmd *exec.Cmd, input io.Closer) {
	t.Helper()
	cmd = exec.Command("/bin/sh", "-c", "cat >/dev/null", filepath.Join(dir, "s"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = input.Close() }) // it is closed already, unless the test failed
	return cmd, input
}

// TestABackendKeepsItsConnection: what an open backend has started here, as a client of its terminal
// server, is not killed: it would be started again, and be taken for one that no signal ends.
func TestABackendKeepsItsConnection(t *testing.T) {
	root, base := t.TempDir(), t.TempDir()
	_, all := citydir.Sockets(root, base)
	at := slices.IndexFunc(all, func(dir string) bool { return strings.HasPrefix(dir, base+"/") })
	if at < 0 {
		t.Fatalf("none of %q is in %s", all, base)
	}
	if err := os.MkdirAll(all[at], 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := Site{Root: root, Bases: []string{base}}.Uninstall(t.Context(), Options{
		Local: func(string) []string { return []string{"terminals"} },
		Open: func(dir, _ string) (runtime.Provider, func() error, error) {
			cmd, input := server(t, dir)
			return fake.New(), func() error { return errors.Join(input.Close(), cmd.Wait()) }, nil
		},
	})
	if err != nil || !out.Clean || out.Ended != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestWhatStartsMeanwhileIsStoppedToo: it is not named as one that no signal stops.
func TestWhatStartsMeanwhileIsStoppedToo(t *testing.T) {
	w := &uninstallation{site: Site{Root: t.TempDir()}}
	var running []*exec.Cmd
	looks := 0
	w.end(t.Context(), func() (living []proc.Info, err error) {
		if looks++; looks <= 2 { // the second is that after the first was ended
			cmd, _ := server(t, t.TempDir())
			running = append(running, cmd)
		}
		for _, cmd := range running {
			info, statErr := proc.Stat(cmd.Process.Pid)
			if err = errors.Join(err, statErr); !info.Ended() {
				living = append(living, info)
			}
		}
		return living, err
	})
	for _, cmd := range running {
		if err := cmd.Wait(); err == nil {
			t.Error("one was not ended by a signal")
		}
	}
	if len(running) != 2 || len(w.result.Left) > 0 {
		t.Errorf("%d began; left are %+v", len(running), w.result.Left)
	}
}
