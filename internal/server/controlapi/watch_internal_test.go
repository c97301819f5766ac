package controlapi

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
)

// slowWriter is a reader that takes what is written only when it is released.
type slowWriter struct {
	http.ResponseWriter
	release chan struct{}
}

func (w *slowWriter) Write(p []byte) (int, error) { return len(p), nil }

func (w *slowWriter) FlushError() error {
	<-w.release
	return nil
}

// TestStreamsMakeValuesWhenTheyCanBeSent: while the reader of a stream does not take a value, the next one is not made.
func TestStreamsMakeValuesWhenTheyCanBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{release: make(chan struct{})}
		made := 0
		ended := make(chan error, 1)
		go func() {
			ended <- follow(t.Context(), NewServer(nil, Options{}), w, "number", func(_ context.Context, send func(int) error) error {
				for made < 3 {
					made++
					if err := send(made); err != nil {
						return err
					}
				}
				return nil
			})
		}()
		for want := 1; want <= 3; want++ {
			if synctest.Wait(); made != want {
				t.Errorf("%d values were made before the reader took number %d", made, want)
			}
			w.release <- struct{}{}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
