package transcript

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity/client"
	"gascity/internal/textfmt"
)

const (
	// maxEntries and maxBytes bound what a reader keeps of a conversation; the oldest entries are dropped.
	maxEntries = 5000
	maxBytes   = 16 << 20
	// maxText, maxResult and maxArgument bound an entry, in bytes.
	maxText     = 16 << 10
	maxResult   = 8 << 10
	maxArgument = 300
	// linePlaces is how many entries one line of a transcript can have.
	linePlaces = 64
)

// list has the newest entries of a conversation. The parsers add to it.
type list struct {
	opts    Options
	entries []client.ConversationEntry
	keys    map[string]uint64 // IDs of entries that later lines change, by a key of the format
	dropped int
	bytes   int
	turn    int
	worked  bool // the current turn has more than prompts

	offset int64 // of the current line
	place  int   // number of entries of the current line
}

// newList returns an empty list.
func newList(opts Options) *list { return &list{opts: opts, keys: map[string]uint64{}} }

// startLine sets the offset of the line in the file to which the next entries belong. The IDs of entries are made from it.
func (l *list) startLine(offset int64) { l.offset, l.place = offset, 0 }

// prompt adds a prompt. It begins a new turn, unless the entry before it is also a prompt.
func (l *list) prompt(at time.Time, text string) {
	if l.opts.Prompt != nil {
		text = l.opts.Prompt(text)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	if l.worked || l.turn == 0 {
		l.turn++
	}
	l.worked = false
	l.add(client.ConversationEntry{Kind: client.EntryPrompt, Time: at, Text: text, From: client.PromptByTerminal})
}

// text adds an entry of the given kind with a text. It adds nothing if the text is empty, except for a compaction.
func (l *list) text(kind string, at time.Time, text string) {
	if strings.TrimSpace(text) != "" || kind == client.EntryCompaction {
		l.add(client.ConversationEntry{Kind: kind, Time: at, Text: text})
	}
}

// call adds a call of a tool. key is its ID in the transcript; a call with a known key is not added again.
func (l *list) call(key string, at time.Time, name string, input json.RawMessage) {
	if l.find(key) != nil {
		return
	}
	e := l.add(client.ConversationEntry{Kind: client.EntryTool, Time: at, Tool: &client.ConversationTool{Status: client.ToolRunning}})
	l.describe(e, name, input)
	if key != "" {
		l.keys[key] = e.ID
	}
}

// describe sets the name of the tool and the argument of a tool call.
func (l *list) describe(e *client.ConversationEntry, name string, input json.RawMessage) {
	tool := *e.Tool // readers of earlier snapshots have the old value
	tool.Name, _ = bounded(textfmt.OneLine(l.clean(name)), maxArgument)
	tool.Argument, _ = bounded(textfmt.OneLine(strings.Join(strings.Fields(l.clean(argumentOf(input))), " ")), maxArgument)
	e.Tool = &tool
}

// result sets what a tool call returned, and whether it failed. It does nothing if the call is not in the list.
func (l *list) result(key, text string, failed bool) {
	e := l.find(key)
	if e == nil || e.Tool == nil {
		return
	}
	tool := *e.Tool // readers of earlier snapshots have the old value
	l.bytes -= len(tool.Result)
	tool.Status = client.ToolDone
	if failed {
		tool.Status = client.ToolFailed
	}
	tool.Result, tool.Bytes = bounded(l.clean(text), maxResult)
	l.bytes += len(tool.Result)
	e.Tool = &tool
}

// replace sets the text of an entry.
func (l *list) replace(e *client.ConversationEntry, text string) {
	l.bytes -= len(e.Text)
	e.Text, e.Bytes = bounded(l.clean(text), maxText)
	l.bytes += len(e.Text)
}

// add appends an entry, and removes the oldest entries if there are too many. It returns the entry in the list.
func (l *list) add(e client.ConversationEntry) *client.ConversationEntry {
	e.ID = uint64(l.offset)*linePlaces + uint64(min(l.place, linePlaces-1)) + 1 //nolint:gosec // offsets are positive
	if n := len(l.entries); n > 0 && e.ID <= l.entries[n-1].ID {
		e.ID = l.entries[n-1].ID + 1
	}
	l.place++
	if e.Kind != client.EntryPrompt {
		l.worked = true
	}
	e.Turn = l.turn
	e.Text, e.Bytes = bounded(l.clean(e.Text), maxText)
	l.entries = append(l.entries, e)
	l.bytes += len(e.Text)
	for len(l.entries) > maxEntries || l.bytes > maxBytes && len(l.entries) > 1 {
		l.drop()
	}
	return &l.entries[len(l.entries)-1]
}

// drop removes the oldest quarter of the entries.
func (l *list) drop() {
	n := max(1, len(l.entries)/4)
	for i := range l.entries[:n] {
		l.bytes -= len(l.entries[i].Text)
		if tool := l.entries[i].Tool; tool != nil {
			l.bytes -= len(tool.Result)
		}
	}
	l.entries = slices.Clone(l.entries[n:])
	l.dropped += n
	for key, id := range l.keys {
		if id < l.entries[0].ID {
			delete(l.keys, key)
		}
	}
}

// find returns the entry with a key; nil if there is none.
func (l *list) find(key string) *client.ConversationEntry {
	id, known := l.keys[key]
	if !known || key == "" {
		return nil
	}
	at, found := slices.BinarySearchFunc(l.entries, id, func(e client.ConversationEntry, id uint64) int {
		switch {
		case e.ID < id:
			return -1
		case e.ID > id:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &l.entries[at]
}

// clean returns text without secrets, control sequences and control characters. It keeps invisible characters; what shows the
// text decides about those.
func (l *list) clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		text = withoutControls(text)
	}
	text = strings.Trim(text, "\n")
	if l.opts.Mask != nil {
		text = l.opts.Mask(text)
	}
	return text
}

// withoutControls removes the control sequences of a terminal and other control characters.
func withoutControls(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == 0x1b:
			i += sequenceEnd(text[i:])
			continue
		case unicode.IsControl(r) && r != '\n' && r != '\t':
		default:
			out.WriteString(text[i : i+size])
		}
		i += size
	}
	return out.String()
}

// sequenceEnd returns the length in bytes of the control sequence with which text begins.
func sequenceEnd(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1
			}
			if text[i] < 0x20 {
				return i // an incomplete sequence ends with its line
			}
		}
		return len(text)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(text); i++ {
			switch {
			case text[i] == 0x07:
				return i + 1
			case text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\':
				return i + 2
			case text[i] == '\n':
				return i
			}
		}
		return len(text)
	}
	_, size := utf8.DecodeRuneInString(text[1:])
	if text[1] < 0x20 {
		return 1
	}
	return 1 + size
}

// bounded returns the beginning of text, at most limit bytes. If that is not the whole text, size is the size of the whole text,
// otherwise 0.
func bounded(text string, limit int) (beginning string, size int) {
	if len(text) <= limit {
		return text, 0
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.Clone(text[:end]), len(text) // a part of a string keeps all of it in memory
}

// argumentNames are the names of arguments that say most about a tool call, the best first.
var argumentNames = []string{
	"command", "cmd", "file_path", "filePath", "absolute_path", "path", "notebook_path", "pattern", "query", "url", "dir_path", "description", "prompt", "input", "name", "title",
}

// argumentOf returns the argument of a tool call that says most about it, as text.
func argumentOf(input json.RawMessage) string {
	var text string
	if json.Unmarshal(input, &text) == nil {
		var inner json.RawMessage
		if json.Unmarshal([]byte(text), &inner) != nil || len(inner) == 0 || inner[0] != '{' {
			return text
		}
		input = inner // the arguments are JSON in a string
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	for _, name := range argumentNames {
		if value, ok := members[name]; ok {
			if text := plain(value); text != "" {
				return text
			}
		}
	}
	if len(members) == 0 {
		return ""
	}
	return string(input)
}

// plain returns a JSON value as text: a string, or a list of strings with spaces between them.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var words []string
	if json.Unmarshal(value, &words) == nil {
		if len(words) == 3 && words[1] == "-lc" { // a shell with a script
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}

// join appends text to the text of an entry. If the entry has its largest size already, join only counts the bytes.
func (l *list) join(e *client.ConversationEntry, text string) {
	size := e.Bytes
	if size > 0 { // it has its limit already
		e.Bytes += len(text)
		return
	}
	l.replace(e, e.Text+text)
}
