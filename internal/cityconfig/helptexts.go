package cityconfig

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// helpLimit is how long a program may take to print its help text.
const helpLimit = 5 * time.Second

// HelpTexts finds and remembers the texts that programs print for --help. It runs a program again
// only if the size or the modification time of its file has changed. The zero value is ready for
// use. It is safe for concurrent use.
type HelpTexts struct {
	Limit time.Duration // time limit for one program; zero means 5 s

	texts sync.Map // a func() string by helpKey
}

type helpKey struct {
	file  string
	size  int64
	mtime time.Time
}

// Of returns the help text of the program in file. It is empty if the program does not print one
// within the time limit. env is the environment of the program and path its PATH.
func (h *HelpTexts) Of(ctx context.Context, file string, env []string, path string) string {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return ""
	}
	info, err := os.Stat(real)
	if err != nil {
		return ""
	}
	key := helpKey{real, info.Size(), info.ModTime()}
	ctx = context.WithoutCancel(ctx) // other callers wait for the same result
	text, _ := h.texts.LoadOrStore(key, sync.OnceValue(func() string {
		ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.Limit, helpLimit))
		defer cancel()
		return programOutput(ctx, file, "--help", env, path)
	}))
	return text.(func() string)()
}
