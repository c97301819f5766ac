package fsutil

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"sort"
	"strings"
	"time"
)

// RawLogQuery selects the part of a log to read.
type RawLogQuery struct {
	Since  time.Time // output from this time on, to the second; zero means from the beginning
	Until  time.Time // output up to this time, to the second; zero means to the end. It cannot be combined with Follow
	Follow bool      // continue with new output until ctx ends
}

// CopyRawLog writes the output that the query selects to w, oldest first. It returns [fs.ErrNotExist] if the log at path does not
// exist and Follow is false. If ctx ends while it follows, it returns nil.
func CopyRawLog(ctx context.Context, w io.Writer, path string, q RawLogQuery) error {
	var changes <-chan struct{}
	if q.Follow {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var err error
		if changes, err = WatchFile(ctx, path); err != nil {
			return err
		}
	}
	oldErr := copyRawFile(ctx, w, path+oldSuffix, q)
	if oldErr != nil && !errors.Is(oldErr, fs.ErrNotExist) {
		return oldErr
	}
	t := &rawTail{path: path, out: w}
	defer t.close()
	err := t.begin(q.Since, q.Until)
	if errors.Is(err, fs.ErrNotExist) && (q.Follow || oldErr == nil) {
		err = nil
	}
	if err != nil || !q.Follow {
		return err
	}
	for range changes {
		if err := t.step(); err != nil {
			return err
		}
	}
	return nil
}

// copyRawFile writes the selected output of one file of the log to w.
func copyRawFile(ctx context.Context, w io.Writer, path string, q RawLogQuery) error {
	t := &rawTail{path: path, out: w}
	defer t.close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.begin(q.Since, q.Until)
}

// rawTail reads one log file, also while it grows and is rotated.
type rawTail struct {
	path string
	out  io.Writer
	file *os.File
}

func (t *rawTail) close() {
	if t.file != nil {
		_ = t.file.Close() // the file was only read
	}
	t.file = nil
}

// begin opens the file and writes the output between since and until.
func (t *rawTail) begin(since, until time.Time) error {
	file, err := os.Open(t.path)
	if err != nil {
		return err
	}
	t.file = file
	index := readIndex(t.path + indexSuffix)
	from := index.since(since)
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	if to, ends := index.until(until); ends {
		_, err := io.CopyN(t.out, file, max(0, to-from))
		if errors.Is(err, io.EOF) {
			err = nil // the log was truncated meanwhile
		}
		return err
	}
	return t.drain()
}

func (t *rawTail) drain() error {
	_, err := io.Copy(t.out, t.file)
	return err
}

// step writes new output, and opens the new file after a rotation. It asks for the rotation before it reads: only then is the
// previous file complete.
func (t *rawTail) step() error {
	if t.file != nil {
		current := t.current()
		if err := t.drain(); err != nil || current {
			return err
		}
		t.close()
	}
	err := t.begin(time.Time{}, time.Time{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the rotation is in progress
	}
	return err
}

// current reports whether the open file is still the file at path.
func (t *rawTail) current() bool {
	mine, err := t.file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(t.path)
	return err != nil || os.SameFile(mine, now)
}

// rawIndex holds the offsets at which the output of each second begins in a log.
type rawIndex struct {
	records []byte
	size    int64 // size of the log in bytes
}

// readIndex reads the index at path. If the file is missing, the index has no records.
func readIndex(path string) rawIndex {
	records, err := os.ReadFile(path)
	if err != nil {
		return rawIndex{}
	}
	x := rawIndex{records: records}
	if info, err := os.Stat(strings.TrimSuffix(path, indexSuffix)); err == nil {
		x.size = info.Size()
	}
	return x
}

func (x rawIndex) len() int { return len(x.records) / recordSize }

// at returns record i: the time in Unix milliseconds and the offset.
func (x rawIndex) at(i int) (moment, offset int64) {
	record := x.records[i*recordSize:]
	return int64(binary.BigEndian.Uint64(record)), int64(binary.BigEndian.Uint64(record[recordSize/2:]))
}

// after returns the number of the first record that is after moment.
func (x rawIndex) after(moment time.Time) int {
	return sort.Search(x.len(), func(i int) bool { at, _ := x.at(i); return at > moment.UnixMilli() })
}

// since returns the offset of the output since moment. It is the offset of the last record that is not after moment, or of the
// next record if that one is too old.
func (x rawIndex) since(moment time.Time) int64 {
	later := x.after(moment)
	if moment.IsZero() || later == 0 {
		return 0
	}
	began, offset := x.at(later - 1)
	if moment.Sub(time.UnixMilli(began)) <= indexStep {
		return offset
	}
	if later == x.len() {
		return x.size // the log may have more output of the last indexed second
	}
	_, offset = x.at(later)
	return offset
}

// until returns the offset at which the output up to moment ends. It reports false if moment is
// zero or nothing comes later, so that this is the end of the log.
func (x rawIndex) until(moment time.Time) (int64, bool) {
	later := x.after(moment)
	if moment.IsZero() || later == x.len() {
		return 0, false
	}
	_, offset := x.at(later)
	return offset, true
}
