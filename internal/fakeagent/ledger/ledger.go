// Package ledger reads the ledger of the fake agent: which bytes it received and when, and what it did. Tests compare the
// product's claims with it.
//
// A ledger is a file of JSON lines. Several runs of the agent may append to one file. Each run numbers its records from 1, and
// its first record has the kind [Start].
package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// The kinds of records.
const (
	Start       = "start"        // the agent has started: argv, dir, env, rows, cols, ppid
	Ready       = "ready"        // the input box was drawn
	Prompt      = "prompt"       // a prompt was started: bytes, sha256, text, source
	Queued      = "queued"       // a prompt was submitted while busy; its Prompt record follows when it is started
	Answered    = "answered"     // the turn of a prompt ended
	Interrupted = "interrupted"  // the turn of a prompt was interrupted
	DialogShown = "dialog-shown" // a dialog was drawn: dialog; bytes of input that were unread at that time (Linux)
	Dialog      = "dialog"       // a dialog was answered: dialog, choice
	Asked       = "asked"        // a question was asked by [[ask:...]]: dialog is the question
	Limited     = "limited"      // a usage limit was shown: reason is the time at which it resets
	Choice      = "choice"       // a question was answered: dialog, choice
	Discarded   = "discarded"    // input from before the agent was ready was dropped
	InputEnded  = "input-ended"  // the pipe was closed or the terminal hung up
	Key         = "key"          // raw input as hex
	Resize      = "resize"
	Spawn       = "spawn" // a helper process was started: reason is its kind, pids
	Signal      = "signal"
	Message     = "message"    // a message of the city was received: dialog is its kind, message its id; bytes, sha256 and text of its data, except for an identity
	Context     = "context"    // a section of context was received: dialog is its type, message, bytes, sha256, text
	Identity    = "identity"   // an identity was applied: env; dialog, choice, bytes and sha256 are type, account and value of the credential
	Authorized  = "authorized" // the use of a tool was requested: dialog is the tool, choice is allowed or denied, reason
	Exit        = "exit"       // code, reason; bytes, sha256 and text of the text left in the input box
)

// Record is one line of a ledger. Fields that a kind does not use are empty.
type Record struct {
	Seq  int       `json:"seq"` // number in the run, from 1, without gaps
	Kind string    `json:"kind"`
	Time time.Time `json:"time"`
	Run  int       `json:"run"` // pid of the agent
	Name string    `json:"name,omitempty"`

	Bytes  int    `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Text   string `json:"text,omitempty"`   // empty if it is not valid UTF-8 or longer than 4096 bytes
	Source string `json:"source,omitempty"` // of a prompt: where it was entered, such as queue, argv, stdin, acp or worker

	Message string `json:"message,omitempty"` // ID of a message of the city
	Dialog  string `json:"dialog,omitempty"`
	Choice  string `json:"choice,omitempty"`

	Hex    string `json:"hex,omitempty"`
	Signal string `json:"signal,omitempty"`
	Reason string `json:"reason,omitempty"`
	Code   int    `json:"code,omitempty"`
	PIDs   []int  `json:"pids,omitempty"`

	Argv []string          `json:"argv,omitempty"`
	Dir  string            `json:"dir,omitempty"`
	Env  map[string]string `json:"env,omitempty"`
	PPID int               `json:"ppid,omitempty"`
	Rows int               `json:"rows,omitempty"`

	Conversation string `json:"conversation,omitempty"` // ID of the conversation, in a start record
	Turns        int    `json:"turns,omitempty"`        // number of prompts of previous runs in the conversation
	Cols         int    `json:"cols,omitempty"`
}

// Sum returns the SHA-256 of a text as hexadecimal digits.
func Sum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Is reports whether the record has exactly this text.
func (r Record) Is(text string) bool { return r.Bytes == len(text) && r.SHA256 == Sum(text) }

// Read returns all records of a ledger. An incomplete last line is ignored. The error matches [fs.ErrNotExist] if no agent has
// started yet.
func Read(file string) ([]Record, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	records, _, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", file, err)
	}
	return records, nil
}

// Parse returns the records of all complete lines and the number of bytes in them.
func Parse(data []byte) (records []Record, used int, err error) {
	for {
		end := bytes.IndexByte(data[used:], '\n')
		if end < 0 {
			return records, used, nil
		}
		var record Record
		if err := json.Unmarshal(data[used:used+end], &record); err != nil {
			return records, used, fmt.Errorf("record %d: %w", len(records)+1, err)
		}
		records = append(records, record)
		used += end + 1
	}
}

// Of returns the records of the given kind.
func Of(records []Record, kind string) []Record {
	var some []Record
	for _, r := range records {
		if r.Kind == kind {
			some = append(some, r)
		}
	}
	return some
}

// Prompts returns the records of started prompts.
func Prompts(records []Record) []Record { return Of(records, Prompt) }

// Verify checks that each run begins with [Start], that its records are numbered from 1 without gaps or repetitions, and that
// none follows its [Exit]. It returns all violations joined.
func Verify(records []Record) error {
	type state struct {
		seq    int
		exited bool
	}
	var errs []error
	runs := map[int]state{}
	for i, r := range records {
		s := runs[r.Run]
		switch {
		case r.Kind == Start && r.Seq == 1: // a pid may be reused by a later run
		case s.seq == 0:
			errs = append(errs, fmt.Errorf("line %d: run %d begins with %q number %d", i+1, r.Run, r.Kind, r.Seq))
		case s.exited:
			errs = append(errs, fmt.Errorf("line %d: run %d goes on with %q after its exit", i+1, r.Run, r.Kind))
		case r.Seq != s.seq+1:
			errs = append(errs, fmt.Errorf("line %d: run %d jumps from %d to %d", i+1, r.Run, s.seq, r.Seq))
		}
		runs[r.Run] = state{seq: r.Seq, exited: r.Kind == Exit}
	}
	return errors.Join(errs...)
}
