package exec

import (
	"bytes"
	"os"
	"testing"
	"time"
)

// The machine stood still for longer than the reader's deadline: what the script had
// written is read nevertheless, and a writer that goes on does not hold us up.
func TestDrainReadsWhatIsThereAfterItsDeadline(t *testing.T) {
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
