package vt

import "bytes"

// Scanner finds titles and other notices in a stream of program output without
// keeping a screen. Sequences may be cut anywhere between two calls of Write. It is used
// by one goroutine at a time.
type Scanner struct {
	notify func(Notice)
	seq    sequence
}

// NewScanner returns a Scanner that calls notify, synchronously from Write.
func NewScanner(notify func(Notice)) *Scanner { return &Scanner{notify: notify} }

// Write scans p. It never fails.
func (c *Scanner) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if c.seq.isGround() {
			n := bytes.IndexByte(p[i:], 0x1b)
			if n < 0 {
				break
			}
			i += n + 1
			c.seq.start()
			continue
		}
		if n := c.seq.bulk(p[i:]); n > 0 {
			i += n
			continue
		}
		if c.seq.advance(p[i]) == actOSC {
			c.osc(c.seq.str)
		}
		i++
	}
	return len(p), nil
}

// osc reports the notice of an operating system command, if it has one.
func (c *Scanner) osc(data []byte) {
	number, rest, ok := splitOSC(data)
	if !ok {
		return
	}
	if number == 0 || number == 2 {
		if title, ok := cleanTitle(rest); ok {
			c.notify(Notice{Title, title})
		}
		return
	}
	if n, ok := oscNotice(number, rest); ok {
		c.notify(n)
	}
}
