package runtimetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// The kinds of ledger entries that the suite reads. An agent may write others.
const (
	LedgerStart       = "start"       // the agent runs: run, argv, dir, env
	LedgerReady       = "ready"       // it has drawn its input box
	LedgerPrompt      = "prompt"      // it consumed a prompt: bytes, sha256, text
	LedgerInterrupted = "interrupted" // the turn of a prompt was interrupted
	LedgerSpawn       = "spawn"       // it started other processes: pids
	LedgerDialog      = "dialog"      // a dialog was answered: choice
	LedgerAsked       = "asked"       // it asked a question
	LedgerChoice      = "choice"      // a question was answered: choice
	LedgerExit        = "exit"        // it exited by itself: code
)

// Entry is one line of a fake agent's ledger: a record of what the agent received or did. A ledger
// is a file with one JSON object in each line. The agent writes each line to disk before it
// continues. All instances of a session append to one file.
type Entry struct {
	Kind   string    `json:"kind"`
	Time   time.Time `json:"time"`
	Run    int       `json:"run"`              // the agent's process
	Bytes  int       `json:"bytes,omitempty"`  // of the prompt
	SHA256 string    `json:"sha256,omitempty"` // of the prompt, lower-case hex
	Text   string    `json:"text,omitempty"`   // of the prompt, if it is valid UTF-8 of at most 4 KiB
	Choice string    `json:"choice,omitempty"`
	Code   int       `json:"code,omitempty"`
	PIDs   []int     `json:"pids,omitempty"`
	Dir    string    `json:"dir,omitempty"`
}

// ParseLedger returns the entries of a ledger. It ignores a last line without a newline, because
// that is still being written.
func ParseLedger(data []byte) ([]Entry, error) {
	var entries []Entry
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return entries, fmt.Errorf("line %d: %w", len(entries)+1, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Is reports whether the entry has exactly this text. If an agent CLI would run the text in its
// shell, the entry may have a space or a zero-width space before it, which that CLI ignores.
func (e Entry) Is(text string) bool {
	is := func(text string) bool { return e.Bytes == len(text) && e.SHA256 == digest(text) }
	return is(text) || strings.HasPrefix(text, "!") && (is(" "+text) || is("\u200b"+text))
}

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
