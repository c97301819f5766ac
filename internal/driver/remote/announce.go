package remote

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// mark is the first text that an outpost writes. A login shell may have printed other text before it.
const mark = "\n--gc-outpost--\n"

// noiseLimit bounds the text before the mark, in bytes.
const noiseLimit = 64 << 10

// Announce writes the mark, the first bytes that the outpost sends.
func Announce(w io.Writer) error {
	_, err := io.WriteString(w, mark)
	return err
}

// NoOutpostError reports that the remote program exited, or printed other text, before an outpost wrote the mark.
type NoOutpostError struct {
	Printed string // what the program printed, at most its last 2 KiB
	Err     error
}

func (e *NoOutpostError) Error() string {
	if e.Printed == "" {
		return "no outpost answered: " + e.Err.Error()
	}
	return fmt.Sprintf("no outpost answered: %v; the remote program printed: %s", e.Err, e.Printed)
}

func (e *NoOutpostError) Unwrap() error { return e.Err }

// Await reads up to and including the mark, and nothing after it. Its error is a [NoOutpostError].
func Await(r io.Reader) error {
	var printed []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(printed, []byte(mark)) {
		if len(printed) > noiseLimit {
			return noOutpost(printed, fmt.Errorf("it printed more than %d KiB before the mark of an outpost", noiseLimit>>10))
		}
		if _, err := io.ReadFull(r, one); err != nil {
			return noOutpost(printed, err)
		}
		printed = append(printed, one[0])
	}
	return nil
}

// noOutpost returns the error for a remote host on which no outpost (a gc that serves its sessions) answered. It quotes
// the last 2 KiB of what the host printed.
func noOutpost(printed []byte, err error) error {
	const shown = 2 << 10
	text := strings.ToValidUTF8(string(printed[max(0, len(printed)-shown):]), "?")
	return &NoOutpostError{Printed: strings.TrimSpace(text), Err: err}
}
