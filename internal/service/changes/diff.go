package changes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"gascity/client"
)

const (
	maxFileDiff = 128 << 10 // bytes of the diff of one of several files
	maxLine     = 4 << 10   // bytes of a line
)

// readDiffs adds the diffs of the files in list, up to the limits.
func (r *reader) readDiffs(ctx context.Context, list []*entry) error {
	left, each := r.query.Bytes, min(r.query.Bytes, maxFileDiff)
	if len(list) == 1 {
		each = left
	}
	var tracked, conflicts []string
	for _, e := range list {
		switch {
		case e.special, e.Status == client.FileUntracked:
		case e.Status == client.FileConflicted:
			conflicts = append(conflicts, e.path)
		case e.oldPath != "":
			tracked = append(tracked, e.oldPath, e.path)
		default:
			tracked = append(tracked, e.path)
		}
	}
	wanted := map[string]*entry{}
	for _, e := range list {
		wanted[e.path] = e
	}
	for _, part := range []struct {
		flag  string
		paths []string
	}{{r.base(), tracked}, {"--ours", conflicts}} {
		if len(part.paths) == 0 {
			continue
		}
		args := append(append([]string{"diff", "--patch"}, compareFlags...), part.flag, "--")
		if len(part.paths) <= maxPaths {
			args = append(args, part.paths...)
		}
		p := patchReader{files: wanted, left: left, each: each}
		if err := r.git.stream(ctx, nil, p.read, args...); err != nil {
			return err
		}
		left = p.left
	}
	for _, e := range list {
		if e.Untracked && left > 0 {
			left -= r.newFileDiff(e, min(left, each))
		}
	}
	if left > 0 {
		return nil
	}
	for _, e := range list {
		if e.Diff == "" && e.Cut == "" && e.Kind != client.KindRepository {
			e.Cut = "it is left out: the diffs of all files are limited to " + size(r.query.Bytes)
		}
	}
	return nil
}

// size returns a number of bytes as text.
func size(n int) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// diffText is the diff of one file while it is made.
type diffText struct {
	text    strings.Builder
	most    int  // bytes
	full    bool // lines were left out at the end
	longest bool // a line was cut
}

// add adds one or several complete lines, or the beginning of a line, to the diff. A very long line
// is cut. If the diff would become larger than its limit, the lines are left out.
func (d *diffText) add(line string) {
	if len(line) > maxLine {
		line = line[:maxLine]
		for !utf8.ValidString(line[len(line)-utf8.UTFMax:]) && len(line) > maxLine-utf8.UTFMax {
			line = line[:len(line)-1]
		}
		line, d.longest = line+"…\n", true
	}
	if d.full = d.full || d.text.Len()+len(line) > d.most; !d.full {
		d.text.WriteString(line)
	}
}

// finish appends the text to the diff of the file e, and records in e.Cut if something was left
// out.
func (d *diffText) finish(e *entry) {
	e.Diff += d.text.String()
	switch {
	case d.full:
		e.Cut = "its diff ends after " + size(d.most)
	case d.longest:
		e.Cut = "its lines are cut after " + size(maxLine)
	}
}

// patchReader reads the output of git diff --patch.
type patchReader struct {
	files map[string]*entry // where the diffs go
	left  int               // bytes that all diffs together may still have
	each  int               // bytes that one diff may have

	entry *entry // of the present diff; nil: unknown, or not wanted
	diff  *diffText
}

// The beginnings of lines of a patch. A line of a file begins with another character.
const (
	newDiff  = "diff --git "
	renameTo = "rename to "
	unmerged = "* Unmerged path "
)

// read reads a patch to its end, or until the limit of bytes is used up.
func (p *patchReader) read(in *bufio.Reader) error {
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) && line == "" {
			p.end()
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		switch {
		case strings.HasPrefix(line, newDiff):
			p.end()
			if p.left <= 0 {
				return nil
			}
			p.diff = &diffText{most: min(p.each, p.left)}
			if path, ok := headerPath(strings.TrimSuffix(strings.TrimPrefix(line, newDiff), "\n")); ok {
				p.entry = p.files[path]
			}
		case strings.HasPrefix(line, unmerged):
			p.end()
		case strings.HasPrefix(line, renameTo) && p.diff != nil && p.entry == nil:
			if path, err := unquote(strings.TrimSuffix(strings.TrimPrefix(line, renameTo), "\n")); err == nil {
				p.entry = p.files[path]
			}
		}
		if p.diff != nil {
			p.diff.add(line)
		}
	}
}

// end completes the diff of the current file and subtracts its size from what is left for others.
func (p *patchReader) end() {
	if p.diff != nil && p.entry != nil {
		before := len(p.entry.Diff)
		p.diff.finish(p.entry)
		p.left -= len(p.entry.Diff) - before
		if p.diff.full && p.diff.most < p.each {
			p.left = 0
		}
	}
	p.entry, p.diff = nil, nil
}

// readLine returns the next line with its line end. Of a line that is longer than the buffer, the
// rest is left out.
func readLine(in *bufio.Reader) (string, error) {
	part, err := in.ReadSlice('\n')
	line := string(part)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if err == nil {
		line += "\n"
	}
	return line, err
}

// headerPath returns the path in the header of a diff, which has the form "a/PATH b/PATH". ok is
// false if the two paths differ, because the file was renamed.
func headerPath(names string) (path string, ok bool) {
	if !strings.HasPrefix(names, `"`) {
		half := len(names) / 2
		if len(names)%2 == 0 || half < 3 || names[half] != ' ' || names[2:half] != names[half+3:] {
			return "", false
		}
		return names[2:half], true
	}
	first, rest, err := unquotePrefix(names)
	if err != nil || len(first) < 2 {
		return "", false
	}
	second, err := unquote(strings.TrimPrefix(rest, " "))
	if err != nil || len(second) < 2 || first[2:] != second[2:] {
		return "", false
	}
	return first[2:], true
}
