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

// clientTools runs the file and terminal methods of the protocol for the agent, in the working directory. Symbolic links are
// followed, but must not lead out of the directory.
type clientTools struct {
	dir string // with symbolic links resolved
	env []string

	mu        sync.Mutex
	terminals map[string]*terminal
	count     int
	closed    bool
}

// newClientTools returns the tools for the working directory dir. Commands get env without SpecVariable.
func newClientTools(dir string, env []string) *clientTools {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	w := &clientTools{dir: dir, terminals: map[string]*terminal{}}
	for _, e := range env {
		if !strings.HasPrefix(e, SpecVariable+"=") {
			w.env = append(w.env, e)
		}
	}
	return w
}

// maxFile is the largest file that is read for an agent, in bytes, because it must fit into a message.
const maxFile = acp.MaxLine / 2

// inside returns path relative to the working directory, with symbolic links resolved. A path outside it is an error.
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

// root opens the working directory with os.Root, so that a link that is created later cannot lead out of it. It also returns
// path relative to it.
func (w *clientTools) root(path string) (*os.Root, string, error) {
	rel, err := w.inside(path)
	if err != nil {
		return nil, "", err
	}
	root, err := os.OpenRoot(w.dir)
	return root, rel, err
}

// read reads a regular file in the working directory for the agent.
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

// linesOf returns at most limit lines of text, beginning with line number from, counted from 1. Zero values mean the first line
// and no limit.
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

// write writes a regular file in the working directory for the agent. It creates missing folders.
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

// close kills all running commands and refuses new ones.
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
