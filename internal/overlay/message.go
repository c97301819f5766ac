package overlay

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/runtime"
)

// messageDir is the folder of the files of messages, relative to the working directory.
const messageDir = ".gc/files"

// Message is a message in the form that an agent receives.
type Message struct {
	// Text is the text of all blocks, unchanged. A file is replaced by its path in the working directory, which is the same for
	// each delivery of the message.
	Text string

	files []placed
}

// placed is a file of a message and its path in the working directory.
type placed struct{ src, dst string }

// MessageOf returns the message for content. It copies no files. A file that does not exist is an error, because the agent
// could not read it.
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
			return Message{}, fmt.Errorf("cannot attach a file: %w", err)
		}
		dst := m.placeFor(block.Path)
		m.files = append(m.files, placed{block.Path, dst})
		parts = append(parts, "[File staged: ./"+dst+"]")
	}
	m.Text = strings.Join(parts, "\n")
	return m, nil
}

// placeFor returns the path for a file: its own name, with a number if another file of the message has that name.
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

// Stage copies the message's files into the working directory and returns their paths in it. If there is an error, it returns
// the files that were copied before.
func (m Message) Stage(workDir string) (places []string, err error) {
	return m.StageBy(func(src, dst string) error { return CopyTo(workDir, src, dst) })
}

// StageBy is Stage with a different copy function. dst is relative to the working directory.
func (m Message) StageBy(copyTo func(src, dst string) error) (places []string, err error) {
	for _, f := range m.files {
		if err := copyTo(f.src, f.dst); err != nil {
			return places, fmt.Errorf("cannot attach %s: %w", f.src, err)
		}
		places = append(places, f.dst)
	}
	return places, nil
}
