package scripts_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// If a path is too long for a socket, the sockets are in another directory. It is removed with the last session,
// also if another session starts at that moment.
func TestScreenKeepsNoFolder(t *testing.T) {
	s := open(t, "gc-session-screen")
	long := filepath.Join(s.dir, strings.Repeat("long", 10))
	s.env = append(s.env, "GC_EXEC_STATE_DIR="+long)
	sum := must(osexec.CommandContext(t.Context(), "sh", "-c", `printf %s "$0" | cksum | tr ' ' -`, filepath.Join(long, "screen")).Output())
	folder := fmt.Sprintf("/tmp/gc-session-screen-%d.s/%s", os.Getuid(), strings.TrimSpace(string(sum)))
	var both sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		both.Go(func() {
			for range 2 {
				if r := s.call(`{"command":"exec cat"}`, "start", name); r.code != 0 {
					t.Errorf("the start of %s exits %d and says %q", name, r.code, r.stderr)
				}
				if _, err := os.Stat(folder); err != nil {
					t.Errorf("while %s runs: %v", name, err)
				}
				if r := s.call("", "stop", name); r.code != 0 {
					t.Errorf("the stop of %s exits %d and says %q", name, r.code, r.stderr)
				}
			}
		})
	}
	both.Wait()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s stays behind the last session: %v", folder, err)
	}
}
