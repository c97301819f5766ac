package config

import (
	"context"
	"fmt"
	"io"
	"os"
)

// The limits of a city.toml. They are checked before the text is decoded, because the decoder can
// need very long for a text that exceeds one, even if the text is small.
const (
	maxFile    = 4 << 20 // bytes
	maxDepth   = 16      // nested arrays and inline tables, plus parts of a dotted key
	maxTables  = 4_000   // [table] and [[table]]
	maxEntries = 50_000  // keys and elements of arrays
	maxKeys    = 5_000   // keys of one [table] and its inline tables: the decoder compares each with all previous ones
	maxKey     = 1_024   // bytes of a dotted key
)

// ReadFile returns the content of a file. A file with more than limit bytes is an error. ReadFile
// does not wait for data: a pipe, a socket or a device, except the null device, is an error. If ctx
// has ended, it returns the cause.
func ReadFile(ctx context.Context, path string, limit int64) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("cannot read %s: it is a directory", path)
	}
	if !info.Mode().IsRegular() && path != os.DevNull {
		return nil, fmt.Errorf("cannot read %s: it is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(text)) > limit:
		return nil, fmt.Errorf("cannot read %s: it has more than %d bytes", path, limit)
	}
	return text, context.Cause(ctx)
}

// checkLimits returns a mistake if a text exceeds one of the limits of a city.toml, otherwise nil.
// The text need not be valid TOML.
func checkLimits(file string, source []byte) *Error {
	exceeded := func(offset int, hint, format string, args ...any) *Error {
		e := locate(source, originAt(file, source, offset))
		e.Message, e.Hint = fmt.Sprintf(format, args...), hint
		return e
	}
	if len(source) > maxFile {
		return &Error{File: file, Message: fmt.Sprintf("the file has %d bytes, the limit is %d", len(source), maxFile), Hint: "move long texts into files and name those"}
	}
	s := limitScanner{source: source}
	for s.next() {
		switch {
		case s.depth+s.dots >= maxDepth:
			return exceeded(s.at, "nest fewer tables and arrays in each other", "the nesting is deeper than the limit of %d", maxDepth)
		case s.tables > maxTables:
			return exceeded(s.at, "write many agents of one kind as one pool", "there are more tables than the limit of %d", maxTables)
		case s.entries > maxEntries:
			return exceeded(s.at, "write many agents of one kind as one pool", "there are more keys and array elements than the limit of %d", maxEntries)
		case s.keys > maxKeys:
			return exceeded(s.at, "move some of the keys into another table", "the table has more keys than the limit of %d", maxKeys)
		case s.name > maxKey:
			return exceeded(s.at-s.name, "use a shorter key", "the key is longer than the limit of %d bytes", maxKey)
		}
	}
	return nil
}

// limitScanner reads a TOML text byte by byte and counts its tables, keys and elements, without
// decoding it.
type limitScanner struct {
	source []byte
	at     int // offset of the last read byte
	offset int // of the next byte

	depth   int // open brackets of values
	dots    int // in the current key
	key     int // bytes of what may become a key
	name    int // length of the key that has just ended, in bytes
	tables  int
	entries int
	keys    int // of the current table

	begun  bool // the line contains something other than blanks
	header bool // the line is the header of a table
	value  bool // the current key has ended
}

// next reads the next byte outside of strings and comments, and updates the counts. It returns
// false at the end of the text.
func (s *limitScanner) next() bool {
	if s.offset >= len(s.source) {
		return false
	}
	s.at = s.offset
	s.name = 0
	s.offset++
	switch c := s.source[s.at]; c {
	case '#':
		for s.offset < len(s.source) && s.source[s.offset] != '\n' {
			s.offset++
		}
	case '"', '\'':
		s.begun = true
		s.skipString(c)
		if !s.value {
			s.key += s.offset - s.at
		}
	case '\n':
		if s.depth == 0 {
			s.begun, s.header = false, false
			s.beginKey()
		}
	case '[', '{':
		if !s.begun && s.depth == 0 && c == '[' {
			s.tables++
			s.keys = 0
			s.header = true
		} else if !s.header {
			s.depth++
			s.entries++
		}
		s.begun = true
		s.beginKey()
	case ']', '}':
		if s.header {
			s.name = s.key
		} else {
			s.depth = max(0, s.depth-1)
		}
		s.beginKey()
	case ',':
		s.entries++
		s.beginKey()
	case '=':
		s.entries++
		s.keys++
		s.name = s.key
		s.beginKey()
		s.value = true
	case '.':
		s.dots++
		s.key++
	case ' ', '\t', '\r':
	default:
		s.begun = true
		if !s.value {
			s.key++
		}
	}
	return true
}

// beginKey resets the counts of a key before a new one.
func (s *limitScanner) beginKey() { s.dots, s.key, s.value = 0, 0, false }

// skipString moves to the end of the string whose first quote was just read. The string may have
// one line or several. A string of one line that is not closed ends with its line.
func (s *limitScanner) skipString(quote byte) {
	text := s.source
	long := s.offset+1 < len(text) && text[s.offset] == quote && text[s.offset+1] == quote
	if long {
		s.offset += 2
	}
	for s.offset < len(text) {
		c := text[s.offset]
		switch {
		case c == '\\' && quote == '"':
			s.offset++
		case c == '\n' && !long:
			return
		case c == quote && !long:
			s.offset++
			return
		case c == quote && s.offset+2 < len(text) && text[s.offset+1] == quote && text[s.offset+2] == quote:
			s.offset += 3
			for s.offset < len(text) && text[s.offset] == quote { // quotes at the end belong to the string
				s.offset++
			}
			return
		}
		s.offset++
	}
	s.offset = min(s.offset, len(text))
}
