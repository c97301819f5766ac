package exec

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// The machine was suspended for longer than the deadline of the reader. The written output is read, and a
// script that continues to write does not delay the reader.
func TestDrainReadsWrittenOutputAfterItsDeadline(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	want := bytes.Repeat([]byte("token"), 1000)
	if _, err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	drain(&got, r)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes were read, want %d", got.Len(), len(want))
	}
}
