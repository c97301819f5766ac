package fakeagent

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// readTerminal sends the input of the terminal to the channel until the terminal closes. It waits before each read.
func readTerminal(in *os.File, to chan<- chunk, wait time.Duration) {
	buf := make([]byte, 64<<10)
	for {
		if wait > 0 {
			<-time.After(wait)
		}
		n, err := in.Read(buf)
		if n > 0 {
			to <- chunk{data: bytes.Clone(buf[:n]), at: time.Now()}
		}
		if err != nil {
			to <- chunk{err: err, at: time.Now()}
			return
		}
	}
}

// readPrompts sends the prompts of a pipe to the channel until its end. An empty line is not a prompt.
func readPrompts(in io.Reader, framed bool, to chan<- chunk) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		text, err := readLine(r)
		if framed && err == nil {
			text, err = readFrame(r, text)
		}
		if len(text) > 0 {
			to <- chunk{data: text, prompt: true, at: time.Now()}
		}
		if err != nil {
			to <- chunk{err: err, at: time.Now()}
			return
		}
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	return bytes.TrimSuffix(line, []byte("\n")), err
}

// readFrame reads as many bytes as length says.
func readFrame(r io.Reader, length []byte) ([]byte, error) {
	n, err := strconv.Atoi(strings.TrimSpace(string(length)))
	if err != nil || n < 0 {
		return nil, fmt.Errorf("bad frame length %q", length)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, errors.Join(errors.New("frame cut short"), err)
	}
	return text, nil
}
