package vt

import "github.com/charmbracelet/x/ansi/parser"

const (
	maxParams    = 32
	maxParam     = 1 << 20 // larger numbers are clamped
	maxOSC       = 1 << 20 // longer operating system commands are dropped
	maxDCS       = 512     // only the start of other strings is looked at
	keepString   = 4 << 10 // a larger string buffer is not kept
	paramMissing = -1
)

// params are the numbers of a control sequence.
type params struct {
	v    [maxParams]int32
	n    int
	more uint32 // bit i: a sub-parameter follows v[i] after a colon
}

// get returns parameter i, or def when it is missing. A parameter with sub-parameters is
// none: ok is false.
func (p *params) get(i, def int) (v int, ok bool) {
	if i >= p.n {
		return def, true
	}
	if p.more>>i&1 != 0 {
		return 0, false
	}
	if p.v[i] == paramMissing {
		return def, true
	}
	return int(p.v[i]), true
}

// action says what the owner of a sequence parser has to do after a byte.
type action uint8

const (
	actNone action = iota
	actControl
	actESC
	actCSI
	actOSC
	actDCS
)

// sequence recognises the sequences that start with ESC. The owner handles text itself and
// calls advance for every byte while it is not at ground. States and transitions
// are those of x/ansi; what differs is that bytes above 0x7f are never C1 controls, that
// malformed sequences are swallowed whole, and that ESC k starts a string.
type sequence struct {
	state   parser.State
	prefix  byte // one of <=>? or 0
	inter   byte // the last intermediate, 0 for none
	inters  int
	final   byte // final byte of the dispatched sequence
	ignore  bool // malformed: swallow up to the final byte
	tooLong bool
	dcsESC  bool // ESC seen inside a DCS
	params  params
	str     []byte
}

func (p *sequence) isGround() bool { return p.state == parser.GroundState }

// start enters a sequence after ESC.
func (p *sequence) start() {
	p.state = parser.EscapeState
	p.clear()
}

func (p *sequence) clear() {
	p.prefix, p.inter, p.inters = 0, 0, 0
	p.ignore, p.tooLong, p.dcsESC = false, false, false
	p.params.n, p.params.more = 0, 0
}

// advance consumes one byte of an escape sequence and returns what the screen must do now: nothing yet, or execute the
// complete sequence.
func (p *sequence) advance(b byte) action {
	switch b {
	case 0x1b:
		return p.escape()
	case 0x18, 0x1a:
		p.state = parser.GroundState
		p.dcsESC = false
		return actNone
	}
	if p.dcsESC {
		return p.afterDCSEscape(b)
	}
	if b >= 0x80 { // data inside a string, ignored elsewhere
		if p.inString() {
			p.put(b)
		}
		return actNone
	}
	if p.state == parser.EscapeState && b == 'k' {
		p.beginString(parser.SosStringState)
		return actNone
	}
	next, act := parser.Table.Transition(p.state, b)
	if p.ignore && p.state != parser.EscapeState {
		return p.skip(b)
	}
	if p.malformed(b) {
		p.ignore = true
		return actNone
	}
	was := p.state
	p.state = next
	return p.perform(act, was, b)
}

// escape handles ESC inside a sequence: it ends a string and starts again.
func (p *sequence) escape() action {
	was := p.state
	if was == parser.DcsStringState {
		if p.dcsESC { // doubled: payload of a pass-through
			p.put(0x1b)
			p.dcsESC = false
			return actNone
		}
		p.dcsESC = true
		return actNone
	}
	ended := actNone
	if was == parser.OscStringState && !p.tooLong {
		ended = actOSC
	}
	p.final = 0x1b
	p.start()
	return ended
}

// afterDCSEscape handles the byte after ESC in a DCS: a backslash ends it, anything else
// abandons it for the new sequence.
func (p *sequence) afterDCSEscape(b byte) action {
	p.dcsESC = false
	if b == '\\' {
		p.state = parser.GroundState
		return actDCS
	}
	p.start()
	return p.advance(b)
}

// bulk consumes the plain data at the start of b when inside a string. It is the fast path
// of advance and must agree with it.
func (p *sequence) bulk(b []byte) int {
	if !p.inString() || p.dcsESC {
		return 0
	}
	n := 0
	for n < len(b) && b[n] >= 0x20 {
		n++
	}
	room := max(0, p.limit()-len(p.str))
	p.str = append(p.str, b[:min(n, room)]...)
	p.tooLong = p.tooLong || n > room
	return n
}

// inString reports whether the parser is inside a string sequence (OSC, DCS, SOS, PM or APC).
func (p *sequence) inString() bool {
	switch p.state {
	case parser.OscStringState, parser.DcsStringState, parser.SosStringState,
		parser.PmStringState, parser.ApcStringState:
		return true
	}
	return false
}

// malformed reports whether b makes a control sequence invalid.
func (p *sequence) malformed(b byte) bool {
	switch p.state {
	case parser.CsiParamState:
		return b >= 0x3c && b <= 0x3f
	case parser.CsiIntermediateState:
		return b >= 0x30 && b <= 0x3f
	}
	return false
}

// skip swallows the rest of a malformed control sequence; controls still work.
func (p *sequence) skip(b byte) action {
	if b >= 0x40 && b <= 0x7e {
		p.state = parser.GroundState
		return actNone
	}
	if b < 0x20 {
		return actControl
	}
	return actNone
}

// perform performs an action of the state table for byte b. was is the state before b. It returns what
// the screen must do.
func (p *sequence) perform(act parser.Action, was parser.State, b byte) action {
	switch act {
	case parser.ClearAction:
		p.clear()
	case parser.ExecuteAction:
		return actControl
	case parser.PrefixAction:
		p.prefix = b
	case parser.CollectAction:
		p.inter = b
		p.inters++
	case parser.ParamAction:
		p.param(b)
	case parser.StartAction:
		if p.state == parser.DcsStringState {
			p.final = b
		}
		p.beginString(p.state)
	case parser.PutAction:
		p.put(b)
	case parser.DispatchAction:
		return p.dispatch(was, b)
	}
	return actNone
}

// dispatch ends a sequence with its final byte b and returns its kind. An OSC that is too long is
// dropped.
func (p *sequence) dispatch(was parser.State, b byte) action {
	p.final = b
	switch was {
	case parser.EscapeState, parser.EscapeIntermediateState:
		return actESC
	case parser.OscStringState:
		if !p.tooLong {
			return actOSC
		}
	case parser.CsiEntryState, parser.CsiParamState, parser.CsiIntermediateState:
		return actCSI
	}
	return actNone
}

// beginString begins to collect the text of a string sequence. A large buffer of an earlier string is
// released.
func (p *sequence) beginString(state parser.State) {
	p.state = state
	if cap(p.str) > keepString {
		p.str = nil
	}
	p.str = p.str[:0]
	p.tooLong = false
}

// put collects a byte of a string up to the limit for its kind.
func (p *sequence) put(b byte) {
	if len(p.str) >= p.limit() {
		p.tooLong = true
		return
	}
	p.str = append(p.str, b)
}

// limit returns the maximum number of bytes of the string sequence that is being read.
func (p *sequence) limit() int {
	if p.state == parser.OscStringState {
		return maxOSC
	}
	return maxDCS
}

// param adds a byte to the numeric parameters of a control sequence: a digit, or a separator that begins the next
// parameter. If there are too many parameters, the whole sequence is ignored.
func (p *sequence) param(b byte) {
	ps := &p.params
	if ps.n == 0 {
		ps.n = 1
		ps.v[0] = paramMissing
	}
	i := ps.n - 1
	switch {
	case b <= '9':
		ps.v[i] = int32(min(int(max(ps.v[i], 0))*10+int(b-'0'), maxParam))
	case ps.n == maxParams:
		p.ignore = true
	default:
		if b == ':' {
			ps.more |= 1 << i
		}
		ps.v[ps.n] = paramMissing
		ps.n++
	}
}

// scanCSI reads a whole plain control sequence, digits and semicolons only, from the start of
// b, which follows ESC and [. It returns the bytes consumed, 0 when the sequence is not
// that simple or not complete. It is the fast path of advance and must agree with it.
func (p *sequence) scanCSI(b []byte) int {
	ps := &p.params
	ps.n, ps.more = 0, 0
	i := 0
	p.prefix, p.inter, p.inters = 0, 0, 0
	if len(b) > 0 && b[0] == '?' {
		p.prefix = '?'
		i = 1
	}
	v := int32(paramMissing)
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c-'0' < 10:
			v = min(max(v, 0)*10+int32(c-'0'), maxParam)
			continue
		case c == ';' || c == ':':
			if ps.n >= maxParams-1 {
				return 0
			}
			if c == ':' {
				ps.more |= 1 << ps.n
			}
			ps.v[ps.n] = v
			ps.n++
			v = paramMissing
			continue
		case c >= 0x40 && c <= 0x7e:
			if v != paramMissing || ps.n > 0 {
				ps.v[ps.n] = v
				ps.n++
			}
			p.final = c
			return i + 1
		}
		return 0
	}
	return 0
}
