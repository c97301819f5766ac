package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

const (
	// maxText is the largest size of a prompt's text in bytes, and maxFiles the largest number of
	// its files.
	maxText  = 1 << 20
	maxFiles = 64
	// defaultTTL is how long a prompt may wait if its sender sets no limit.
	defaultTTL = 24 * time.Hour
	// maxWaiting and maxWaitingBytes are the largest number and total size of the open prompts of
	// one session.
	maxWaiting      = 10_000
	maxWaitingBytes = 64 << 20
	// headBytes is how many bytes of a text are shown in listings.
	headBytes = 200
	// maxMetadata and maxMetadataBytes are the largest number and total size of a prompt's metadata
	// entries.
	maxMetadata      = 32
	maxMetadataBytes = 16 << 10
)

// invalid returns a client.ErrInvalid with a message.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", client.ErrInvalid, fmt.Sprintf(format, args...))
}

// content returns the content blocks of a prompt, or client.ErrInvalid if the text or a file is not
// valid.
func content(text string, files []string) ([]runtime.ContentBlock, error) {
	switch {
	case text == "" && len(files) == 0:
		return nil, invalid("the prompt is empty")
	case !utf8.ValidString(text):
		return nil, invalid("the text is not UTF-8")
	case len(text) > maxText:
		return nil, invalid("the text has %d bytes, the limit is %d; put it into a file and send that", len(text), maxText)
	case len(files) > maxFiles:
		return nil, invalid("there are %d files, the limit is %d", len(files), maxFiles)
	}
	var blocks []runtime.ContentBlock
	if text != "" {
		blocks = runtime.TextContent(text)
	}
	for _, file := range files {
		if !filepath.IsAbs(file) {
			return nil, invalid("the path %q is not absolute", file)
		}
		if _, err := os.Stat(file); err != nil {
			return nil, invalid("cannot read a file of the prompt: %v", err)
		}
		blocks = append(blocks, runtime.ContentBlock{Type: runtime.ContentFilePath, Path: file})
	}
	return blocks, nil
}

// checkMetadata returns client.ErrInvalid if the metadata of a prompt is not valid or too large.
func checkMetadata(m map[string]string) error {
	size := 0
	for key, value := range m {
		if key == "" || !utf8.ValidString(key) || !utf8.ValidString(value) {
			return invalid("the metadata key %q is empty, or it or its value is not UTF-8", key)
		}
		size += len(key) + len(value)
	}
	if len(m) > maxMetadata || size > maxMetadataBytes {
		return invalid("the metadata has %d entries and %d bytes, the limit is %d and %d", len(m), size, maxMetadata, maxMetadataBytes)
	}
	return nil
}

// digest returns a hash of the content, to recognize the same prompt.
func digest(blocks []runtime.ContentBlock) string {
	sum := sha256.New()
	for _, b := range blocks {
		fmt.Fprintf(sum, "%d %s %d %s %s ", len(b.Text), b.Text, len(b.Path), b.Path, b.Type) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// replaceText returns the content with a new text and the same files.
func replaceText(blocks []runtime.ContentBlock, text string) ([]runtime.ContentBlock, error) {
	return content(text, filesOf(blocks))
}

// filesOf returns the paths of the files in the content.
func filesOf(blocks []runtime.ContentBlock) []string {
	var files []string
	for _, b := range blocks {
		if b.Type == runtime.ContentFilePath {
			files = append(files, b.Path)
		}
	}
	return files
}

// head returns the beginning of a text, at most headBytes bytes of whole characters.
func head(text string) string {
	if len(text) <= headBytes {
		return text
	}
	end := headBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// The names of priorities.
var priorities = []string{prompt.System: "system", prompt.Urgent: "urgent", prompt.Normal: "normal"}

// priorityOf returns the priority with a name. An empty name means normal.
func priorityOf(word string) (prompt.Priority, error) {
	if word == "" {
		return prompt.Normal, nil
	}
	for p, w := range priorities {
		if w == word {
			return prompt.Priority(p), nil
		}
	}
	return 0, invalid("the priority %q is not one of system, urgent, normal", word)
}

// priorityWord returns the name of a priority.
func priorityWord(p prompt.Priority) string {
	if p < 0 || int(p) >= len(priorities) {
		return priorities[prompt.Normal]
	}
	return priorities[p]
}

// ttlOf returns how long a prompt may wait. Zero means defaultTTL; a negative value is
// client.ErrInvalid.
func ttlOf(ttl time.Duration) (time.Duration, error) {
	switch {
	case ttl < 0:
		return 0, invalid("the ttl %s is negative", ttl)
	case ttl == 0:
		return defaultTTL, nil
	}
	return ttl, nil
}

// checkWait returns client.ErrInvalid if a receipt cannot be waited for in the given state.
func checkWait(wait string) error {
	switch wait {
	case "", client.ReceiptSubmitted, client.ReceiptConsumed:
		return nil
	}
	return invalid("cannot wait for %q: it is not one of submitted, consumed", wait)
}
