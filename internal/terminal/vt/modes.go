package vt

// MouseMode selects the mouse events that the program receives. It is the number of the DEC private mode.
type MouseMode uint16

// The mouse modes.
const (
	MouseOff    MouseMode = 0
	MouseX10    MouseMode = 9
	MouseNormal MouseMode = 1000
	MouseButton MouseMode = 1002
	MouseAny    MouseMode = 1003
)

// MouseEncoding is the encoding of mouse events. It is the number of the DEC private mode.
type MouseEncoding uint16

// The mouse encodings.
const (
	MouseLegacy MouseEncoding = 0
	MouseUTF8   MouseEncoding = 1005
	MouseSGR    MouseEncoding = 1006
	MouseURXVT  MouseEncoding = 1015
)

// Modes are the modes that a program has set. The zero value is not the initial
// state: a fresh terminal has AutoWrap and CursorVisible set.
type Modes struct {
	AltScreen       bool // 47, 1047, 1049
	BracketedPaste  bool // 2004
	AppCursorKeys   bool // 1 (DECCKM)
	AppKeypad       bool // ESC = (DECKPAM)
	AutoWrap        bool // 7 (DECAWM)
	Insert          bool // ANSI 4 (IRM)
	NewLine         bool // ANSI 20 (LNM)
	Origin          bool // 6 (DECOM)
	CursorVisible   bool // 25 (DECTCEM)
	FocusEvents     bool // 1004
	Synchronized    bool // 2026: the program is in the middle of a repaint
	ThemeUpdates    bool // 2031
	Mouse           MouseMode
	MouseEncoding   MouseEncoding
	ModifyOtherKeys uint8 // xterm's CSI > 4 ; n m
	KittyKeyboard   uint8 // the active flags of the kitty keyboard protocol
}

func initialModes() Modes { return Modes{AutoWrap: true, CursorVisible: true} }

// CursorShape is the look of the cursor as set by DECSCUSR, 0 being the default.
type CursorShape uint8

const maxCursorShape = 6

// Cursor is the position and the look of the cursor.
type Cursor struct {
	X, Y        int  // column and row, from 0, always inside the screen
	PendingWrap bool // the last column was printed: the next character wraps
	Visible     bool
	Shape       CursorShape
}

// setMode sets or resets an ANSI mode.
func (s *Screen) setMode(n int, on bool) {
	switch n {
	case 4:
		s.modes.Insert = on
	case 20:
		s.modes.NewLine = on
	}
}

// setPrivateMode sets or resets a DEC private mode.
func (s *Screen) setPrivateMode(n int, on bool) {
	if f := s.modes.flag(n); f != nil {
		*f = on
		return
	}
	switch n {
	case 3: // column mode: the size stays, the screen is cleared
		s.moveTo(0, 0)
		s.eraseScreen()
	case 6:
		s.modes.Origin = on
		s.moveTo(0, 0)
	case 9, 1000, 1001, 1002, 1003:
		s.modes.Mouse = MouseOff
		if on && n != 1001 {
			s.modes.Mouse = MouseMode(n)
		}
	case 1005, 1006, 1015:
		if encoding := MouseEncoding(n); on {
			s.modes.MouseEncoding = encoding
		} else if s.modes.MouseEncoding == encoding { // the program may reset another one than the current one
			s.modes.MouseEncoding = MouseLegacy
		}
	case 47, 1047, 1049:
		s.alternate(on, n == 1049)
	case 1048:
		if on {
			s.saveCursor()
		} else {
			s.restoreCursor()
		}
	}
}

// flag returns the field of a private mode that is only a switch; nil for other modes.
func (m *Modes) flag(n int) *bool {
	switch n {
	case 1:
		return &m.AppCursorKeys
	case 7:
		return &m.AutoWrap
	case 25:
		return &m.CursorVisible
	case 66:
		return &m.AppKeypad
	case 1004:
		return &m.FocusEvents
	case 2004:
		return &m.BracketedPaste
	case 2026:
		return &m.Synchronized
	case 2031:
		return &m.ThemeUpdates
	}
	return nil
}

// modeState returns the DECRQM answer for a private mode: 0 unknown, 1 set, 2 reset,
// 4 permanently reset.
func (s *Screen) modeState(n int) int {
	if f := s.modes.flag(n); f != nil {
		return setOrReset(*f)
	}
	switch n {
	case 3:
		return 4
	case 6:
		return setOrReset(s.modes.Origin)
	case 9, 1000, 1002, 1003:
		return setOrReset(int(s.modes.Mouse) == n)
	case 1005, 1006, 1015:
		return setOrReset(int(s.modes.MouseEncoding) == n)
	case 47, 1047, 1049:
		return setOrReset(s.modes.AltScreen)
	}
	return 0
}

// setOrReset returns the value that reports a mode to a program: 1 for on (set), 2 for off (reset).
func setOrReset(on bool) int {
	if on {
		return 1
	}
	return 2
}

// alternate switches between main and alternate screen. With cursor, the cursor and pen
// are saved on entry and restored on exit.
func (s *Screen) alternate(on, cursor bool) {
	if on {
		s.enterAlternate(cursor)
		return
	}
	s.unwrapCursor()
	if cursor && s.hasBefore {
		s.cx = min(s.beforeAlt.x, s.cols-1)
		s.cy = min(s.beforeAlt.y, s.rows-1)
		s.pen = s.beforeAlt.pen
	}
	if s.modes.AltScreen {
		s.modes.AltScreen = false
		s.grid = s.main
	}
}

// enterAlternate switches to the empty alternate screen. With cursor it also stores the cursor's
// position for the return.
func (s *Screen) enterAlternate(cursor bool) {
	if s.modes.AltScreen {
		return
	}
	if cursor {
		s.beforeAlt.x, s.beforeAlt.y = s.cx, s.cy
		s.hasBefore = true
	}
	s.beforeAlt.pen = s.pen
	if s.alt == nil {
		s.alt = newGrid(s.cols, s.rows)
	}
	for y := range s.alt.rows {
		s.alt.clearLine(y, 0)
	}
	s.grid = s.alt
	s.modes.AltScreen = true
}

// reset executes RIS: it resets everything except scrollback and size.
func (s *Screen) reset() {
	if s.modes.AltScreen {
		s.alternate(false, false)
	}
	s.pen, s.charset = cell{}, charset{}
	s.saved, s.beforeAlt, s.hasBefore = savedCursor{}, savedCursor{}, false
	s.modes = initialModes()
	s.cursor = 0
	s.kitty = [2]kittyFlags{}
	s.titles = nil
	s.resetTabs()
	s.top, s.bottom = 0, s.rows-1
	s.eraseScreen()
	s.cx, s.cy = 0, 0
}

// softReset executes DECSTR: it resets modes and pen and keeps the screen.
func (s *Screen) softReset() {
	s.pen, s.charset = cell{}, charset{}
	s.saved = savedCursor{}
	s.modes.Insert, s.modes.Origin = false, false
	s.modes.AppCursorKeys, s.modes.AppKeypad = false, false
	s.modes.CursorVisible, s.modes.AutoWrap = true, true
	s.top, s.bottom = 0, s.rows-1
}
