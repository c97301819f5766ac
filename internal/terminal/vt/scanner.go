package vt

import "bytes"

// Scanner finds titles, modes and other notices in a stream of program output without
// keeping a screen. Sequences may be cut anywhere between two calls of Write. It is used
// by one goroutine at a time.
type Scanner struct {
	// Paste and Synchronized report whether the program has turned on bracketed paste (mode 2004) and synchronized output
	// (mode 2026). Known reports whether the program has set or reset Paste. The owner may change them.
	Paste, Synchronized, Known bool

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
		switch c.seq.advance(p[i]) {
		case actESC:
			if c.seq.final == 'c' && c.seq.inters == 0 {
				c.Paste, c.Synchronized, c.Known = false, false, true
			}
		case actCSI:
			c.modes()
		case actOSC:
			c.osc(c.seq.str)
		default: // nothing that is a notice or a mode
		}
		i++
	}
	return len(p), nil
}

// modes updates the modes by a control sequence that sets or resets private modes.
func (c *Scanner) modes() {
	on := c.seq.final == 'h'
	if c.seq.prefix != '?' || c.seq.inters > 0 || !on && c.seq.final != 'l' {
		return
	}
	for i := range c.seq.params.n {
		switch n, _ := c.seq.params.get(i, 0); n {
		case 2004:
			c.Paste, c.Known = on, true
		case 2026:
			c.Synchronized = on
		}
	}
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
