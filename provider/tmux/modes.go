package tmux

// modeScanner finds in the output of a program whether it takes pastes in brackets, and
// whether it is in the middle of a repaint: tmux tells of neither.
type modeScanner struct {
	paste        bool // 2004
	synchronized bool // 2026
	known        bool // the program has said something of it

	state  byte   // 0, or the last byte of an unfinished "ESC [ ? n ; n"
	params []byte // between "?" and the final byte
}

// maxParams bounds an unfinished sequence.
const maxParams = 64

// write scans p and reports whether the mode of pastes has changed.
func (m *modeScanner) write(p []byte) bool {
	before := m.paste
	for _, b := range p {
		switch {
		case b == 0x1b:
			m.state, m.params = b, m.params[:0]
		case m.state == 0:
		case m.state == 0x1b && b == 'c': // RIS
			m.state, m.paste, m.synchronized, m.known = 0, false, false, true
		case m.state == 0x1b && b == '[':
			m.state = b
		case m.state == '[' && (b == '?' || b == '!'):
			m.state = b
		case m.state == '!' && b == 'p': // DECSTR leaves pastes as they are
			m.state = 0
		case m.state == '?' && (b >= '0' && b <= '9' || b == ';') && len(m.params) < maxParams:
			m.params = append(m.params, b)
		case m.state == '?' && (b == 'h' || b == 'l'):
			m.set(b == 'h')
			m.state = 0
		default:
			m.state = 0
		}
	}
	return m.paste != before
}

func (m *modeScanner) set(on bool) {
	n := 0
	for _, b := range append(m.params, ';') {
		if b != ';' {
			n = min(10*n+int(b-'0'), 1e6)
			continue
		}
		switch n {
		case 2004:
			m.paste, m.known = on, true
		case 2026:
			m.synchronized = on
		}
		n = 0
	}
}
