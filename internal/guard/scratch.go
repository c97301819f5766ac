package guard

import (
	"strings"

	"gascity/internal/guard/shell"
)

// scratch is reusable memory for the analysis of a call. A verdict refers only to texts in it.
type scratch struct {
	shell    *shell.Scratch
	parts    []part
	subjects []subject
	files    []file
	names    []string
}

// newScratch returns reusable memory that is large enough for most calls.
func newScratch() *scratch {
	return &scratch{
		shell: shell.NewScratch(), parts: make([]part, 0, 16), subjects: make([]subject, 0, 16), files: make([]file, 0, 64), names: make([]string, 0, 256),
	}
}

// acquireScratch returns memory for checking one call. The caller must give it back with
// releaseScratch.
func (p *Policy) acquireScratch() *scratch {
	if r, ok := p.scratchPool.Get().(*scratch); ok {
		return r
	}
	return newScratch()
}

// releaseScratch clears the memory and makes it available again.
func (p *Policy) releaseScratch(r *scratch) {
	r.shell.Clear()
	clear(r.parts)
	clear(r.subjects)
	clear(r.files)
	clear(r.names)
	if cap(r.parts) > maxScratch || cap(r.subjects) > maxScratch {
		return // unusually large; do not keep it
	}
	r.parts, r.subjects, r.files, r.names = r.parts[:0], r.subjects[:0], r.files[:0], r.names[:0]
	p.scratchPool.Put(r)
}

// maxScratch is the maximum number of parts of a call whose memory is kept.
const maxScratch = 128

// split returns the same as strings.Split(text, "/"), in reused memory if that is sufficient.
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

// freeFiles returns an empty slice in this memory, to which the caller may append files. The caller
// must call commit before it calls freeFiles again.
func (r *scratch) freeFiles() []file { return r.files[len(r.files):] }

// commit marks appended files as used, so that the memory after them is free.
func (r *scratch) commit(files []file) []file {
	if n := len(r.files) + len(files); n <= cap(r.files) {
		r.files = r.files[:n]
	}
	return files
}
