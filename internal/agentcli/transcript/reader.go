// Package transcript reads the conversation of an agent from the file in which its agent CLI records it.
//
// A [Reader] follows one file: each [Reader.Read] parses only the lines that were appended since the last one. A parser
// for each [agentcli.TranscriptFormat] turns lines into entries. Formats are data of an agent CLI that change from month
// to month, so a parser ignores what it does not know, and a line that is not JSON is skipped and counted.
package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"

	"gascity/client"
	"gascity/internal/agentcli"
)

const (
	// maxLine is the longest line that is parsed, in bytes. A longer line is skipped.
	maxLine = 16 << 20
	// maxStart is how many bytes of a file are read at first, from its end.
	maxStart = 64 << 20
	// pieceBytes is the size of one read.
	pieceBytes = 1 << 20
	// tailBytes is how many bytes before the offset are compared, to notice that a file was rewritten.
	tailBytes = 64
)

// ErrNoFile means that there is no transcript. The conversation may have no message yet.
var ErrNoFile = errors.New("no transcript")

// Options are the functions that a [Reader] applies to texts. A nil function is not called.
type Options struct {
	// Mask removes secrets from a text. It gets the whole text, before it is shortened.
	Mask func(text string) string
	// Prompt returns the text of a prompt without what the agent CLI adds to it.
	Prompt func(text string) string
}

// Reader reads one transcript, from where it stopped the last time. It is not safe for concurrent use.
type Reader struct {
	path   string
	format agentcli.TranscriptFormat
	opts   Options

	info     os.FileInfo // of the file that was read last
	offset   int64       // of the first byte that is not parsed
	tail     []byte      // the last bytes before offset
	skipping bool        // inside a line that is too long
	cut      bool        // the beginning of the file was not read
	skipped  int
	list     *list
	parse    parser
}

// NewReader returns a reader of the file at path. It does not open the file.
func NewReader(path string, format agentcli.TranscriptFormat, opts Options) *Reader {
	r := &Reader{path: path, format: format, opts: opts}
	r.reset()
	return r
}

// reset makes the reader begin with an empty list at the start of the file.
func (r *Reader) reset() {
	r.info, r.offset, r.tail, r.skipping, r.cut, r.skipped = nil, 0, nil, false, false, 0
	r.list = newList(r.opts)
	r.parse = newParser(r.format)
}

// Entries returns the entries of the conversation that are kept, the oldest first. The caller must not change them.
func (r *Reader) Entries() []client.ConversationEntry { return r.list.entries }

// Turns returns how many turns the conversation has had.
func (r *Reader) Turns() int { return r.list.turn }

// Skipped returns how many lines could not be parsed.
func (r *Reader) Skipped() int { return r.skipped }

// Cut reports whether the conversation has older entries than those that are kept.
func (r *Reader) Cut() bool { return r.cut || r.list.dropped > 0 }

// Read parses what was appended to the file since the last call. If the file is another one or was rewritten, Read begins
// again. An incomplete last line is left for the next call. If there is no file, the error is [ErrNoFile].
func (r *Reader) Read(ctx context.Context) error {
	// A link or a named pipe is never opened: an agent can write into the directory.
	file, err := os.OpenFile(r.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ErrNoFile
	case err != nil:
		return fmt.Errorf("cannot open the transcript: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the transcript: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot read the transcript: %s is not a regular file", r.path)
	}
	if r.info != nil && !r.continues(file, info) {
		r.reset()
	}
	if r.info == nil && info.Size() > maxStart {
		r.offset, r.skipping, r.cut = info.Size()-maxStart, true, true // begins inside a line
	}
	r.info = info
	return r.readFrom(ctx, file)
}

// continues reports whether the file is still the one that was read, with the same bytes before the offset. Otherwise it was
// replaced or written again.
func (r *Reader) continues(file *os.File, info os.FileInfo) bool {
	if !os.SameFile(r.info, info) || info.Size() < r.offset {
		return false
	}
	now := make([]byte, len(r.tail))
	_, err := file.ReadAt(now, r.offset-int64(len(now)))
	return err == nil && bytes.Equal(now, r.tail)
}

// readFrom reads the file from the offset on and parses its complete lines.
func (r *Reader) readFrom(ctx context.Context, file io.ReaderAt) error {
	var rest []byte // an incomplete line; it begins at r.offset
	piece := make([]byte, pieceBytes)
	for {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		n, err := file.ReadAt(piece, r.offset+int64(len(rest)))
		rest = append(rest, piece[:n]...)
		rest = r.lines(rest)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read the transcript: %w", err)
		}
	}
}

// lines parses the complete lines in text, moves the offset behind them, and returns what follows the last line end.
func (r *Reader) lines(text []byte) []byte {
	for {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			break
		}
		if !r.skipping {
			r.line(text[:end])
		}
		r.skipping = false
		r.advance(text[:end+1])
		text = text[end+1:]
	}
	if len(text) > maxLine || r.skipping {
		if !r.skipping {
			r.skipped++
		}
		r.skipping = true
		r.advance(text)
		text = nil
	}
	return slices.Clone(text)
}

// advance moves the offset past text, and keeps the last bytes to compare them later.
func (r *Reader) advance(text []byte) {
	r.offset += int64(len(text))
	if len(text) < tailBytes {
		text = append(slices.Clip(r.tail), text...)
	}
	r.tail = bytes.Clone(text[max(0, len(text)-tailBytes):])
}

// line parses one line and counts it as skipped if it cannot be parsed.
func (r *Reader) line(text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	r.list.startLine(r.offset)
	if r.parse == nil || r.parse.line(text, r.list) != nil {
		r.skipped++
	}
}
