package httpwire

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// EventStream is the content type of server-sent events.
	EventStream = "text/event-stream"

	// Heartbeat is how often a server sends a comment on a stream without events.
	Heartbeat = 15 * time.Second

	// silence is how long a stream may send nothing before its reader closes it as broken.
	silence = 3 * Heartbeat

	maxLine = 8 << 20
)

// ReadStream opens a stream of server-sent events and calls the function each with every event: its name, which
// may be empty, and its data. It returns when open or each returns an error, when the stream ends or
// sends nothing for 45 s, and when ctx ends. It always returns an error.
func ReadStream(ctx context.Context, open func(context.Context) (*http.Response, error), each func(kind string, data []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(silence, cancel)
	defer timer.Stop()
	res, err := open(ctx)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	alive := func() { timer.Reset(silence) }
	return ReadEvents(monitoredReader{res.Body, alive}, func(kind string, data []byte) error {
		timer.Stop() // each may take long
		defer alive()
		return each(kind, data)
	})
}

// monitoredReader calls alive after each read. A long event may arrive slowly.
type monitoredReader struct {
	io.Reader
	alive func()
}

func (r monitoredReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.alive()
	return n, err
}

// ReadEvents reads the text/event-stream format and calls the function each for every event. It
// returns an error of that function or of body. Such a stream never ends by itself, so the end of
// body is the error io.ErrUnexpectedEOF. The field id is ignored, because the data contains the id too.
func ReadEvents(body io.Reader, each func(kind string, data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	var kind string
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 {
			if kind != "" || data != nil {
				if err := each(kind, data); err != nil {
					return err
				}
			}
			kind, data = "", nil
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			kind = string(value)
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		default: // ids and comments; a comment is a heartbeat
		}
	}
	return fmt.Errorf("the stream broke: %w", cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
}

// Pause waits for d before a client tries again. It returns false if ctx ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
