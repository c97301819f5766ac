package prompts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"time"

	"gascity/client"
	"gascity/internal/domain/prompt"
	"gascity/runtime"
)

const (
	// defaultTTL is how long a prompt may wait if its sender sets no limit.
	defaultTTL = 24 * time.Hour
	// maxWaiting and maxWaitingBytes are the largest number and total size of the open prompts of
	// one session.
	maxWaiting      = 10_000
	maxWaitingBytes = 64 << 20
	// headBytes is how many bytes of a text are shown in listings.
	headBytes = 200
)

// content returns the content blocks of a prompt, or client.ErrInvalid if a file cannot be read.
func content(text string, files []string) ([]runtime.ContentBlock, error) {
	var blocks []runtime.ContentBlock
	if text != "" {
		blocks = runtime.TextContent(text)
	}
	for _, file := range files {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("%w: cannot read a file of the prompt: %w", client.ErrInvalid, err)
		}
		blocks = append(blocks, runtime.ContentBlock{Type: runtime.ContentFilePath, Path: file})
	}
	return blocks, nil
}

// digest returns a hash of the content, to recognize the same prompt.
func digest(blocks []runtime.ContentBlock) string {
	sum := sha256.New()
	for _, b := range blocks {
		fmt.Fprintf(sum, "%d %s %d %s %s ", len(b.Text), b.Text, len(b.Path), b.Path, b.Type) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
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

// The names of priorities.
var priorities = []string{prompt.System: client.PrioritySystem, prompt.Urgent: client.PriorityUrgent, prompt.Normal: client.PriorityNormal}

// priorityOf returns the priority with a valid name. An empty name means normal.
func priorityOf(word string) prompt.Priority {
	if p := slices.Index(priorities, word); p >= 0 {
		return prompt.Priority(p)
	}
	return prompt.Normal
}

// priorityWord returns the name of a priority.
func priorityWord(p prompt.Priority) string {
	if p < 0 || int(p) >= len(priorities) {
		return priorities[prompt.Normal]
	}
	return priorities[p]
}
