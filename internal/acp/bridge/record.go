package bridge

import (
	"cmp"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/acp"
	agenttranscript "gascity/internal/agentcli/transcript"
	"gascity/internal/fsutil"
)

const (
	// recordSize is the size at which the record of a conversation is rotated.
	recordSize = 8 << 20
	// recordPiece is how much text of an answer is collected for one line.
	recordPiece = 512
	// recordText bounds a text of one line; readers show less.
	recordText = 256 << 10
)

// recorder writes the conversation into a file, the record, from which gc shows it to people. It is safe for concurrent use. It
// ignores errors, because the agent can work without a record.
type recorder struct {
	mu    sync.Mutex
	file  *fsutil.LogFile // nil if nothing is written
	kind  string          // of the collected text
	text  strings.Builder
	more  bool // a part of the text was written
	calls map[string]*recordedCall
}

// recordedCall is a tool call of the current turn. Of a call that is over only that is stored.
type recordedCall struct {
	acp.ToolCall

	output []string
	over   bool
}

// newRecorder returns a recorder that appends to the file at path. The recorder writes nothing if path is empty or the file
// cannot be opened.
func newRecorder(path string) *recorder {
	r := &recorder{calls: map[string]*recordedCall{}}
	if path == "" {
		return r
	}
	if file, err := fsutil.OpenLog(path, recordSize); err == nil {
		r.file = file
	}
	return r
}

// write appends a line to the file. r.mu must be held.
func (r *recorder) write(line agenttranscript.Line) {
	if r.file == nil {
		return
	}
	line.Time = time.Now().UTC()
	line.Text, line.Result = atMost(line.Text), atMost(line.Result)
	text, err := json.Marshal(line)
	if err != nil {
		return
	}
	_, _ = r.file.Write(append(text, '\n')) // the agent works without its record
}

// atMost returns the beginning of a text that is as long as a line may contain.
func atMost(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), recordText)], "\ufffd")
}

// flush writes the text that was collected. r.mu must be held.
func (r *recorder) flush() {
	if r.text.Len() == 0 {
		return
	}
	r.write(agenttranscript.Line{Kind: r.kind, Text: r.text.String(), More: r.more})
	r.text.Reset()
	r.more = true
}

// end writes the text that was collected, and ends its entry. r.mu must be held.
func (r *recorder) end() {
	r.flush()
	r.kind, r.more = "", false
}

// entry writes an entry of the given kind with a text.
func (r *recorder) entry(kind, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	r.write(agenttranscript.Line{Kind: kind, Text: text})
}

// chunk adds a piece to an answer of the agent or to its thoughts, depending on kind. Pieces are collected into longer lines.
func (r *recorder) chunk(kind, text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if kind != r.kind {
		r.end()
		r.kind = kind
	}
	r.text.WriteString(text)
	if r.text.Len() >= recordPiece || strings.Contains(text, "\n") {
		r.flush()
	}
}

// tool records an update of a tool call. Only a new call ends the text before it: an answer continues after the result of a call
// that began earlier.
func (r *recorder) tool(t acp.ToolCall) {
	if t.ID == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.calls[t.ID]
	if c == nil {
		r.end()
		c = &recordedCall{}
		r.calls[t.ID] = c
	}
	if c.over {
		return
	}
	before := c.ToolCall
	c.ToolCall = mergeToolCall(before, t)
	if len(t.Texts) > 0 {
		c.output = t.Texts // an update replaces the content
	}
	line := agenttranscript.Line{Kind: client.EntryTool, ID: t.ID, Tool: cmp.Or(c.Name, toolOfKind[c.Kind], c.Kind, "tool"), Input: inputOf(&c.ToolCall)}
	switch {
	case c.Status == acp.ToolCompleted, c.Status == acp.ToolFailed:
		line.Status, line.Result = client.ToolDone, strings.Join(c.output, "\n")
		if c.Status == acp.ToolFailed {
			line.Status = client.ToolFailed
		}
		*c = recordedCall{over: true}
	case before.ID != "" && before.Title == c.Title && len(t.RawInput) == 0 && before.Name == c.Name:
		return // nothing that is shown has changed
	}
	r.flush()
	r.write(line)
}

// inputOf returns the argument of a tool call that says most about it.
func inputOf(t *acp.ToolCall) string {
	var input struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
	}
	if json.Unmarshal(t.RawInput, &input) == nil {
		for _, raw := range []json.RawMessage{input.Command, input.Cmd} {
			var text string
			if json.Unmarshal(raw, &text) == nil && text != "" {
				return text
			}
		}
	}
	if len(t.Paths) > 0 && t.Kind != acp.KindExecute {
		return strings.Join(t.Paths, " ")
	}
	return t.Title
}

// turnEnded writes how a turn has ended. failed means an error of the model provider or of the agent.
func (r *recorder) turnEnded(failed bool, text string) {
	kind := client.EntryNotice
	if failed {
		kind = client.EntryError
	}
	if text != "" {
		r.entry(kind, text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	clear(r.calls)
}

// close writes the text that was collected and closes the file.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	if r.file != nil {
		_ = r.file.Close() // nothing more is written
	}
}
