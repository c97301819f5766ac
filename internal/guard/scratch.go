package guard

import (
	"strings"

	"gascity/internal/guard/shell"
)

// scratch is the memory in which a call is taken apart. It is used again for the next one:
// nothing of it stands in a verdict but texts.
type scratch struct {
	shell    *shell.Scratch
	parts    []part
	subjects []subject
	files    []file
	names    []string
}

func newScratch() *scratch {
	return &scratch{
		shell: shell.NewScratch(), parts: make([]part, 0, 16), subjects: make([]subject, 0, 16), files: make([]file, 0, 64), names: make([]string, 0, 256),
	}
}

// acquireScratch returns unused memory. The caller returns it when done.
func (p *Policy) acquireScratch() *scratch {
	if r, ok := p.scratchPool.Get().(*scratch); ok {
		return r
	}
	return newScratch()
}

func (p *Policy) releaseScratch(r *scratch) {
	r.shell.Clear()
	clear(r.parts)
	clear(r.subjects)
	clear(r.files)
	clear(r.names)
	if cap(r.parts) > maxScratch || cap(r.subjects) > maxScratch {
		return // of a call like no other
	}
	r.parts, r.subjects, r.files, r.names = r.parts[:0], r.subjects[:0], r.files[:0], r.names[:0]
	p.scratchPool.Put(r)
}

// maxScratch bounds the parts of a call whose memory is kept.
const maxScratch = 128

// split is strings.Split by a slash.
func (r *scratch) split(text string) []string {
	from, n := len(r.names), 1+strings.Count(text, "/")
	if from+n > cap(r.names) {
		return strings.Split(text, "/")
	}
	for part := range strings.SplitSeq(text, "/") {
		r.names = append(r.names, part)
	}
	return r.names[from : from+n : from+n]
}

// freeFiles returns where files may be appended. They are kept before the next ones are.
func (r *scratch) freeFiles() []file { return r.files[len(r.files):] }

// commit turns appended files into the free part of the memory.
func (r *scratch) commit(files []file) []file {
	if n := len(r.files) + len(files); n <= cap(r.files) {
		r.files = r.files[:n]
	}
	return files
}
