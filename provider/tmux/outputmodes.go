package tmux

// outputModes reads two modes from the output of a program that not every multiplexer reports: bracketed paste and synchronized
// update. A sequence may be split between two calls of Write. The zero value is ready for use. Only one goroutine at a time
// may use it.
type outputModes struct {
	Paste        bool // 2004
	Synchronized bool // 2026
	Known        bool // the program has set or reset bracketed paste

	state  byte   // 0, or the last byte of an unfinished "ESC [ ? n ; n"
	params []byte // between "?" and the final byte
}

// maxModeParams is the limit in bytes of the parameters of a sequence.
const maxModeParams = 64

// Write scans p and reports whether Paste or Known has changed.
func (m *outputModes) Write(p []byte) bool {
	paste, known := m.Paste, m.Known
	for _, b := range p {
		switch {
		case b == 0x1b:
			m.state, m.params = b, m.params[:0]
		case m.state == 0:
		case m.state == 0x1b && b == 'c': // RIS
			m.state, m.Paste, m.Synchronized, m.Known = 0, false, false, true
		case m.state == 0x1b && b == '[':
			m.state = b
		case m.state == '[' && (b == '?' || b == '!'):
			m.state = b
		case m.state == '!' && b == 'p': // DECSTR leaves pastes as they are
			m.state = 0
		case m.state == '?' && (b >= '0' && b <= '9' || b == ';') && len(m.params) < maxModeParams:
			m.params = append(m.params, b)
		case m.state == '?' && (b == 'h' || b == 'l'):
			m.set(b == 'h')
			m.state = 0
		default:
			m.state = 0
		}
	}
	return m.Paste != paste || m.Known != known
}

func (m *outputModes) set(on bool) {
	n := 0
	for _, b := range append(m.params, ';') {
		if b != ';' {
			n = min(10*n+int(b-'0'), 1e6)
			continue
		}
		switch n {
		case 2004:
			m.Paste, m.Known = on, true
		case 2026:
			m.Synchronized = on
		}
		n = 0
	}
}
