package overlay

import (
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"gascity/runtime"
)

// A file of any size is copied and staged in little memory: agents have limits.
func TestLargeFilesAreNotHeldInMemory(t *testing.T) {
	const size, most = 48 << 20, 8 << 20
	src, work := filepath.Join(t.TempDir(), "large"), t.TempDir()
	if err := os.WriteFile(src, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	stage := func() error {
		_, err := Stage(t.Context(), Request{WorkDir: work, CopyFiles: []runtime.CopyEntry{{Src: src, RelDst: "staged"}}})
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
		dst  string
		size int64
	}{
		{"copied", func() error { return CopyTo(work, src, "copied") }, "copied", size},
		{"replaced", func() error { return CopyTo(work, src, "copied") }, "copied", size},
		{"staged", stage, "staged", size},
		{"staged again", stage, "staged", size},
		{"staged again", func() error {
			if err := os.WriteFile(src, []byte("other"), 0o600); err != nil {
				return err
			}
			return stage()
		}, "staged", 5},
	} {
		if err := os.Truncate(src, size); err != nil {
			t.Fatal(err)
		}
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		err := step.do()
		goruntime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > most {
			t.Errorf("%s: %v, and %d bytes of memory were used for %d", step.name, err, used, size)
		}
		if info, err := os.Stat(filepath.Join(work, step.dst)); err != nil || info.Size() != step.size {
			t.Errorf("%s: %v, %v", step.name, info, err)
		}
	}
}
