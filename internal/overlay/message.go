package overlay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/runtime"
)

// messageDir is where files of messages are put, below the working directory.
const messageDir = ".gc/files"

// Message is a message as an agent gets it.
type Message struct {
	// Text keeps the bytes of its blocks. A file is referred to by its place in the
	// working directory, the same each time.
	Text string

	files []placed
}

// placed is a file of a message and its place below the working directory.
type placed struct{ src, dst string }

// MessageOf returns the message. It stages nothing. A file that is not there is an error:
// the agent would look for it in vain.
func MessageOf(content []runtime.ContentBlock) (Message, error) {
	var parts []string
	var m Message
	for _, block := range content {
		if block.Type != runtime.ContentFilePath {
			if block.Text != "" {
				parts = append(parts, block.Text)
			}
			continue
		}
		if block.Path == "" {
			continue
		}
		if _, err := os.Stat(block.Path); err != nil {
			return Message{}, fmt.Errorf("cannot hand over a file: %w", err)
		}
		dst := m.placeFor(block.Path)
		m.files = append(m.files, placed{block.Path, dst})
		parts = append(parts, "[File staged: ./"+dst+"]")
	}
	m.Text = strings.Join(parts, "\n")
	return m, nil
}

// placeFor returns where a file goes: under its own name, with a number if another file of
// the message has that.
func (m Message) placeFor(src string) string {
	ext := filepath.Ext(src)
	name := strings.TrimSuffix(filepath.Base(src), ext)
	for n := 1; ; n++ {
		dst := filepath.Join(messageDir, name+ext)
		if n > 1 {
			dst = filepath.Join(messageDir, fmt.Sprintf("%s-%d%s", name, n, ext))
		}
		if !slices.ContainsFunc(m.files, func(f placed) bool { return f.dst == dst && f.src != src }) {
			return dst
		}
	}
}

// Stage copies the message's files into the working directory and returns their places below it,
// also with an error: those that were copied by then.
func (m Message) Stage(workDir string) (places []string, err error) {
	return m.StageBy(func(src, dst string) error { return CopyTo(workDir, src, dst) })
}

// StageBy is Stage where copying is somebody else's: dst is below the working directory.
func (m Message) StageBy(copyTo func(src, dst string) error) (places []string, err error) {
	for _, f := range m.files {
		if err := copyTo(f.src, f.dst); err != nil {
			return places, fmt.Errorf("cannot hand over %s: %w", f.src, err)
		}
		places = append(places, f.dst)
	}
	return places, nil
}
