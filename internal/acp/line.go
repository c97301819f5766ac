package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest message that is accepted, in bytes without the newline.
const MaxLine = 64 << 20

// lineReader reads lines up to a limit. For a longer line it returns an error; the next call reads the line after it.
type lineReader struct {
	r     *bufio.Reader
	limit int
}

// newLineReader returns a reader of the lines of r with at most limit bytes.
func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), limit}
}

// next returns a line without its newline. The caller may keep the slice. At the end of input the error is [io.EOF]; a last
// line without a newline is returned first.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	size := 0
	for {
		piece, err := l.r.ReadSlice('\n')
		whole := err == nil
		if whole {
			piece = piece[:len(piece)-1]
		}
		size += len(piece)
		if room := l.limit - len(line); size > l.limit && room < len(piece) {
			line = append(line, piece[:max(room, 0)]...)
		} else {
			line = append(line, piece...)
		}
		switch {
		case whole || errors.Is(err, io.EOF) && size > 0:
			if size > l.limit {
				return nil, &LongLineError{Bytes: size, Begin: string(line[:min(len(line), 80)])}
			}
			return bytes.TrimSuffix(line, []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, err
		}
	}
}
