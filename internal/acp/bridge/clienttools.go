package bridge

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gascity/internal/acp"
)

// clientTools runs the methods of the protocol with which an agent uses files and commands, in its working directory. A symbolic
// link is followed if its target is in that directory.
type clientTools struct {
	dir string // with symbolic links resolved
	env []string

	mu        sync.Mutex
	terminals map[string]*terminal
	count     int
	closed    bool
}

// newClientTools returns the tools for an agent with the working directory dir. env is the environment of the commands.
func newClientTools(dir string, env []string) *clientTools {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return &clientTools{dir: dir, env: env, terminals: map[string]*terminal{}}
}

// maxFile is the size in bytes of the largest file that an agent can read this way, because the file must fit into one message.
const maxFile = acp.MaxLine / 2

// inside returns a path relative to the working directory, without symbolic links. A path outside of that directory is an error.
func (w *clientTools) inside(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", acp.InvalidParams("the path " + path + " is not absolute")
	}
	existing, rest := filepath.Clean(path), ""
	for {
		real, err := filepath.EvalSymlinks(existing)
		if err == nil {
			existing = real
			break
		}
		if _, err := os.Lstat(existing); err == nil || existing == filepath.Dir(existing) {
			return "", acp.InvalidParams("the path " + path + " has no target") // a broken symbolic link
		}
		rest = filepath.Join(filepath.Base(existing), rest)
		existing = filepath.Dir(existing)
	}
	rel, err := filepath.Rel(w.dir, filepath.Join(existing, rest))
	if err != nil || !filepath.IsLocal(rel) {
		return "", acp.InvalidParams("the path " + path + " is outside of the working directory " + w.dir)
	}
	return rel, nil
}

// root opens the working directory as an os.Root, with which no symbolic link can lead out of it, and returns path relative to
// it.
func (w *clientTools) root(path string) (*os.Root, string, error) {
	rel, err := w.inside(path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(w.dir)
	return root, rel, err
}

// read returns the content of a regular file in the working directory.
func (w *clientTools) read(p acp.ReadFileParams) (acp.ReadFileResult, error) {
	root, rel, err := w.root(p.Path)
	if err != nil {
		return acp.ReadFileResult{}, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err == nil && !info.Mode().IsRegular() {
		err = acp.InvalidParams(p.Path + " is not a regular file")
	}
	var f *os.File
	if err == nil {
		f, err = root.Open(rel)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = &acp.Error{Code: acp.CodeResourceNotFound, Message: p.Path + " does not exist"}
	}
	if err != nil {
		return acp.ReadFileResult{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = acp.InvalidParams(fmt.Sprintf("%s is larger than %d bytes", p.Path, maxFile))
	}
	return acp.ReadFileResult{Content: linesOf(string(text), p.Line, p.Limit)}, err
}

// linesOf returns at most limit lines of text, from the line with the number from on. Line numbers begin with 1. Zero means the
// first line, or no limit.
func linesOf(text string, from, limit int) string {
	for range max(from-1, 0) {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	if limit <= 0 {
		return text
	}
	end := 0
	for range limit {
		n := strings.IndexByte(text[end:], '\n')
		if n < 0 {
			return text
		}
		end += n + 1
	}
	return text[:end]
}

// write writes a regular file in the working directory and creates missing directories.
func (w *clientTools) write(p acp.WriteFileParams) error {
	root, rel, err := w.root(p.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if info, err := root.Stat(rel); err == nil && !info.Mode().IsRegular() {
		return acp.InvalidParams(p.Path + " is not a regular file")
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o777); err != nil {
		return err
	}
	return root.WriteFile(rel, []byte(p.Content), 0o666)
}

// close kills all commands that still run. After it, no command can be started.
func (w *clientTools) close() {
	w.mu.Lock()
	w.closed = true
	all := w.terminals
	w.terminals = map[string]*terminal{}
	w.mu.Unlock()
	for _, t := range all {
		t.end()
	}
}
