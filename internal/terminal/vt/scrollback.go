package vt

import "iter"

const (
	slabSize         = 32 << 10
	bytesPerLine     = 640     // average allowed per line of the limit
	minScrollbackLen = 1 << 20 // bytes allowed at least
)

// slab holds consecutive stored lines.
type slab struct {
	buf    []byte
	starts []uint32 // where each line begins
}

// scrollback is a queue of stored lines, limited by count and by bytes. In steady state
// it reuses its slabs and allocates nothing.
type scrollback struct {
	limit   int // lines; 0 keeps none
	slabs   []*slab
	head    int // lines of slabs[0] that are already dropped
	lines   int
	bytes   int // capacity of all slabs
	spare   *slab
	scratch []byte
}

// push appends a row and drops the oldest lines beyond the limits.
func (b *scrollback) push(t *interned, cells []cell, l line) {
	if b.limit <= 0 {
		return
	}
	b.scratch = appendLine(b.scratch[:0], t, cells, l)
	b.pushStored(b.scratch)
	b.trim(b.limit)
}

// pushStored appends a line in stored form. It does not enforce the limits.
func (b *scrollback) pushStored(stored []byte) {
	s := b.last()
	if s == nil || len(s.buf)+len(stored) > cap(s.buf) {
		s = b.fresh(len(stored))
		b.slabs = append(b.slabs, s)
	}
	s.starts = append(s.starts, uint32(len(s.buf)))
	s.buf = append(s.buf, stored...)
	b.lines++
}

// last returns the newest slab; nil if there is none.
func (b *scrollback) last() *slab {
	if len(b.slabs) == 0 {
		return nil
	}
	return b.slabs[len(b.slabs)-1]
}

// fresh returns an empty slab that can hold n bytes.
func (b *scrollback) fresh(n int) *slab {
	if s := b.spare; s != nil && cap(s.buf) >= n {
		b.spare = nil
		b.bytes += cap(s.buf)
		return s
	}
	size := slabSize
	if b.lines == 0 {
		size = slabSize / 8 // most sessions are short
	}
	s := &slab{buf: make([]byte, 0, max(size, n))}
	b.bytes += cap(s.buf)
	return s
}

// trim drops the oldest lines until at most limit lines and the allowed bytes are kept.
func (b *scrollback) trim(limit int) {
	allowed := max(b.limit*bytesPerLine, minScrollbackLen)
	for b.lines > limit {
		b.dropFirst()
	}
	for b.bytes > allowed && len(b.slabs) > 1 {
		b.lines -= len(b.slabs[0].starts) - b.head
		b.release()
	}
}

// dropFirst removes the oldest line.
func (b *scrollback) dropFirst() {
	b.lines--
	b.head++
	if b.head == len(b.slabs[0].starts) {
		b.release()
	}
}

// release removes the first slab and stores it for reuse.
func (b *scrollback) release() {
	s := b.slabs[0]
	b.bytes -= cap(s.buf)
	s.buf, s.starts = s.buf[:0], s.starts[:0]
	if cap(s.buf) == slabSize {
		b.spare = s
	}
	copy(b.slabs, b.slabs[1:])
	b.slabs[len(b.slabs)-1] = nil
	b.slabs = b.slabs[:len(b.slabs)-1]
	b.head = 0
}

// endLast marks the newest line as not continued in the next line.
func (b *scrollback) endLast() {
	if s := b.last(); s != nil {
		s.buf[s.starts[len(s.starts)-1]] &^= lineWrapped
	}
}

// popLast removes the newest line and returns its stored form, valid until the next push.
func (b *scrollback) popLast() []byte {
	s := b.last()
	i := len(s.starts) - 1
	start := s.starts[i]
	stored := s.buf[start:]
	s.starts = s.starts[:i]
	s.buf = s.buf[:start]
	b.lines--
	first := len(b.slabs) == 1
	if i == 0 || first && i == b.head {
		b.bytes -= cap(s.buf)
		b.slabs[len(b.slabs)-1] = nil
		b.slabs = b.slabs[:len(b.slabs)-1]
		if first {
			b.head = 0
		}
	}
	return stored
}

// clear drops all lines.
func (b *scrollback) clear() {
	*b = scrollback{limit: b.limit, scratch: b.scratch[:0]}
}

// from returns every stored line from number skip on, oldest first.
func (b *scrollback) from(skip int) iter.Seq[[]byte] {
	return func(yield func(stored []byte) bool) {
		first := b.head + skip // in the slab
		for _, s := range b.slabs {
			for ; first < len(s.starts); first++ {
				if !yield(s.line(first)) {
					return
				}
			}
			first -= len(s.starts)
		}
	}
}

// drain calls f with every stored line, oldest first, and releases the memory of each slab after its lines.
func (b *scrollback) drain(f func(stored []byte)) {
	head := b.head
	for i, s := range b.slabs {
		for n := head; n < len(s.starts); n++ {
			f(s.line(n))
		}
		b.slabs[i] = nil
		head = 0
	}
	b.clear()
}

// line returns the encoded line i of the slab.
func (s *slab) line(i int) []byte {
	if i+1 < len(s.starts) {
		return s.buf[s.starts[i]:s.starts[i+1]]
	}
	return s.buf[s.starts[i]:]
}
