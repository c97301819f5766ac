package exec_test

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
)

// framer sends both outputs of a call over one connection.
type framer struct {
	mu  sync.Mutex
	enc *json.Encoder
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (f *framer) send(x frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.enc.Encode(x)
}

func (f *framer) out() io.Writer {
	return writerFunc(func(p []byte) (int, error) { return len(p), f.send(frame{Out: p}) })
}

func (f *framer) err() io.Writer {
	return writerFunc(func(p []byte) (int, error) { return len(p), f.send(frame{Err: p}) })
}

func readerOf(data []byte) io.Reader { return bytes.NewReader(data) }
