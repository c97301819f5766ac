package changes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"gascity/client"
)

const (
	maxCounted    = 1 << 20  // bytes of one untracked file whose lines are counted
	maxCountedAll = 32 << 20 // bytes of all untracked files whose lines are counted
	binaryPrefix  = 8000     // bytes in which a NUL makes a file binary, as for git
)

// inspectUntracked finds the kinds and the numbers of lines of files that git does not track.
func (r *reader) inspectUntracked(list []*entry) {
	left := int64(maxCountedAll)
	for _, e := range list {
		if !e.Untracked {
			continue
		}
		if path, ok := strings.CutSuffix(e.path, "/"); ok {
			e.path, e.Kind = path, client.KindRepository
			continue
		}
		info, err := r.root.Lstat(e.path)
		switch {
		case err != nil: // removed in the meantime, or not readable
			e.Uncounted, e.Cut = true, "it cannot be read: "+cause(err)
		case info.Mode()&fs.ModeSymlink != 0:
			e.Kind, e.Added = client.KindLink, 1
		case !info.Mode().IsRegular():
			e.Kind, e.Cut = client.KindSpecial, notRead
		case info.Size() > min(left, maxCounted):
			e.Uncounted = true
		default:
			left -= info.Size()
			text, err := r.readFile(e.path, info, maxCounted)
			if err != nil {
				e.Uncounted, e.Cut = true, "it cannot be read: "+cause(err)
				continue
			}
			if e.Binary = isBinary(text); !e.Binary {
				e.Added += countLines(text)
			}
		}
	}
}

// readFile returns the beginning of a regular file of the working tree, at most maxBytes bytes. want
// is an earlier result of Lstat for the path. If the path names another file now, readFile returns
// an error.
func (r *reader) readFile(path string, want fs.FileInfo, maxBytes int64) (text []byte, err error) {
	file, err := r.root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, want) || !info.Mode().IsRegular() {
		return nil, errors.New("it was replaced in the meantime")
	}
	return io.ReadAll(io.LimitReader(file, maxBytes))
}

// cause returns the text of an error of a file operation without the operation and the path.
func cause(err error) string {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	return err.Error()
}

// isBinary reports whether git would treat a file with this content as binary: its beginning
// contains a NUL byte.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), binaryPrefix)], nul) >= 0
}

// countLines returns the number of lines, also of a last one without a line end.
func countLines(text []byte) int {
	n := bytes.Count(text, []byte("\n"))
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// newFileDiff adds to e the diff of a file that git does not track, in the form in which git prints
// an added file. The diff has at most maxBytes bytes. newFileDiff returns how many it has.
func (r *reader) newFileDiff(e *entry, maxBytes int) int {
	if e.Kind == client.KindSpecial || e.Kind == client.KindRepository {
		return 0
	}
	info, err := r.root.Lstat(e.path)
	if err != nil {
		e.Cut = "it cannot be read: " + cause(err)
		return 0
	}
	mode, text := "100644", []byte(nil)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		mode = modeLink
		target, linkErr := r.root.Readlink(e.path)
		text, err = []byte(target), linkErr
	case info.Mode().IsRegular():
		if info.Mode().Perm()&0o100 != 0 {
			mode = "100755"
		}
		text, err = r.readFile(e.path, info, int64(maxBytes)+1)
	}
	if err != nil {
		e.Cut = "it cannot be read: " + cause(err)
		return 0
	}
	d := &diffText{most: maxBytes}
	name := quote("b/" + e.path)
	d.add(fmt.Sprintf("diff --git %s %s\nnew file mode %s\n", quote("a/"+e.path), name, mode))
	switch {
	case isBinary(text):
		e.Binary, e.Added = true, 0
		d.add(fmt.Sprintf("Binary files /dev/null and %s differ\n", name))
	case len(text) > 0:
		lines := countLines(text)
		if len(text) > maxBytes {
			lines = max(lines, e.Added) // not all of it was read
		}
		d.add(fmt.Sprintf("--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n", name, lines))
		for line := range bytes.Lines(text) {
			d.add("+" + strings.TrimSuffix(string(line), "\n") + "\n")
		}
		if text[len(text)-1] != '\n' {
			d.add(noNewline)
		}
	}
	d.finish(e)
	return len(e.Diff)
}

// noNewline is the line of a diff after a last line without a line end.
const noNewline = "\\ No newline at end of file\n"
