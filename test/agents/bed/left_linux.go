package bed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// LeftProcesses returns the processes that have the folder in their environment, their
// command line or as their working folder; known is false where that cannot be seen.
// It gives processes that are ending a moment to be gone.
func LeftProcesses(root string) (left []string, known bool) {
	for end := time.Now().Add(2 * time.Second); ; {
		left = marked(root)
		if len(left) == 0 || time.Now().After(end) {
			return left, true
		}
		<-time.After(50 * time.Millisecond)
	}
}

func marked(root string) []string {
	var out []string
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil {
			continue // it is gone, or not ours
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // empty if it is gone
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))      // the same
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		if bytes.Contains(environ, []byte(root+"/")) || bytes.Contains(line, []byte(root)) || cwd == root {
			out = append(out, filepath.Base(dir)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return out
}
