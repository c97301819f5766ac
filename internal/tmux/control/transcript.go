package control

import (
	"bytes"
	"errors"
	"fmt"
)

// maxReply bounds the bytes of one reply. tmux cannot be stopped, so a longer one
// breaks the connection.
const maxReply = 128 << 20

// maxErrorText bounds what is kept of an error that belongs to no line of ours.
const maxErrorText = 4 << 10

var errProtocol = errors.New("tmux broke its protocol")

// request is one line that was sent and awaits its reply. A fence follows it: a command that
// prints the token.
type request struct {
	command Command
	token   string
	// batch waits for the reply; nil without a waiter.
	batch *batch
	// index is the place of the reply in the batch.
	index int
}

// transcript reads what the server sends: replies to requests and notifications. A reply is
// collected as it comes until its fence, and only then taken apart: what a pane shows may
// look like the end of a reply, but the token cannot be guessed.
type transcript struct {
	// next takes the request whose reply begins now; nil when none is open.
	next func() *request
	// event takes a notification. Its Data is good until it returns.
	event func(Event)

	state state
	// request is the one whose reply is collected.
	request *request
	// key is what the end of the open block repeats: time, number and flags.
	key []byte
	// raw are the lines since the block of the request began, each with its newline.
	raw []byte
	// last is where the last line of raw begins.
	last int
	// errorText is the text of the last foreign block that failed, cut at maxErrorText.
	errorText []byte
}

type state uint8

const (
	outside state = iota
	// foreign: in a block that is not the reply to a line of ours, such as of a hook.
	foreign
	// collecting: between the begin of a reply and its fence.
	collecting
	// closing: the token came, its block is to be closed.
	closing
)

var (
	beginMark = []byte("%begin ")
	endMark   = []byte("%end ")
	errorMark = []byte("%error ")
)

// feed takes one line without its newline.
func (t *transcript) feed(line []byte) error {
	switch t.state {
	case outside:
		return t.outside(line)
	case foreign:
		t.handleForeign(line)
	case collecting:
		return t.collect(line)
	case closing:
		if !isEnd(line, t.key) {
			return fmt.Errorf("%w: a fence is followed by %.80q", errProtocol, line)
		}
		t.finish()
	}
	return nil
}

// handleForeign takes a line of a foreign block.
func (t *transcript) handleForeign(line []byte) {
	if isEnd(line, t.key) {
		t.state = outside
		if bytes.HasPrefix(line, errorMark) {
			t.errorText, t.raw = append(t.errorText[:0], t.raw...), t.raw[:0]
		}
		return
	}
	if len(t.raw)+len(line) < maxErrorText {
		t.raw = append(append(t.raw, line...), '\n')
	}
}

func (t *transcript) outside(line []byte) error {
	key, begins := bytes.CutPrefix(line, beginMark)
	switch {
	case !begins:
		t.event(parseNotification(line))
	case !isOurs(key):
		t.key, t.state, t.raw = append(t.key[:0], key...), foreign, t.raw[:0]
	default:
		if t.request = t.next(); t.request == nil {
			return fmt.Errorf("%w: a reply to nothing", errProtocol)
		}
		t.state, t.raw = collecting, t.raw[:0]
		t.append(line)
	}
	return nil
}

func (t *transcript) collect(line []byte) error {
	if string(line) == t.request.token {
		if key, ok := bytes.CutPrefix(bytes.TrimSuffix(t.raw[t.last:], []byte("\n")), beginMark); ok && t.last > 0 {
			t.key, t.state = append(t.key[:0], key...), closing
			t.raw = t.raw[:t.last]
			return nil
		}
	}
	t.append(line)
	if len(t.raw) > maxReply {
		return fmt.Errorf("%w: the reply to %s exceeds %d bytes", errProtocol, t.request.command.nameAt(0), maxReply)
	}
	return nil
}

func (t *transcript) append(line []byte) {
	t.last = len(t.raw)
	t.raw = append(append(t.raw, line...), '\n')
}

func (t *transcript) finish() {
	request, raw := t.request, t.raw
	t.request, t.state, t.last = nil, outside, 0
	if t.raw = t.raw[:0]; cap(t.raw) > 1<<20 {
		t.raw = nil
	}
	reply, notes, sound := splitReply(request.command, raw)
	request.batch.complete(request.index, reply)
	if !sound {
		t.event(Event{Kind: Resync})
	}
	for note := range bytes.Lines(notes) {
		t.event(parseNotification(bytes.TrimSuffix(note, []byte("\n"))))
	}
}

// splitReply splits what came between the begin of a reply and its fence into the blocks of
// its commands and the notifications after the last of them. Sound is false when something
// stood between blocks that is not certain to come from tmux: it is left out.
func splitReply(command Command, raw []byte) (reply Reply, notes []byte, sound bool) {
	sound = true
	var ours, others blocks
	for len(raw) > 0 {
		key, begins := bytes.CutPrefix(firstLine(raw), beginMark)
		if !begins {
			notes, sound = afterLastBlock(raw)
			break
		}
		found, ok := blockOf(raw, key)
		if !ok {
			sound = false
			break
		}
		raw = found.rest
		if isOurs(key) {
			ours.add(command, found)
		} else {
			others.add(command, found)
		}
	}
	// Before 3.2 the commands within a nested one are not marked as ours.
	if command.nested && len(ours.output) == 0 && ours.err == nil && others.count > 0 {
		ours = others
	}
	return Reply{Output: bytes.TrimSuffix(ours.output, []byte("\n")), Err: ours.failure()}, notes, sound
}

// blocks joins what blocks say.
type blocks struct {
	count  int
	output []byte
	err    *CommandError
}

func (b *blocks) add(command Command, one printed) {
	if one.failed {
		b.err = refusal(command.nameAt(b.count), string(bytes.TrimSuffix(one.body, []byte("\n"))))
	} else {
		b.output = append(b.output, one.body...)
	}
	b.count++
}

func (b *blocks) failure() error {
	if b.err == nil {
		return nil
	}
	return b.err
}

// printed is what one command printed, or why it failed, and what follows it.
type printed struct {
	body, rest []byte
	failed     bool
}

// blockOf returns the block that raw begins with, if it is closed. The last line that
// closes it counts: those before are text.
func blockOf(raw, key []byte) (b printed, ok bool) {
	begin := len(beginMark) + len(key) + 1
	end, size := lastLine(raw, endMark, key)
	if at, width := lastLine(raw, errorMark, key); at > end {
		end, size, b.failed = at, width, true
	}
	if end < begin {
		return printed{}, false
	}
	b.body, b.rest = raw[begin:end], raw[end+size:]
	return b, true
}

// lastLine returns where the last line that consists of mark and key begins, and its size;
// -1 when there is none.
func lastLine(raw, mark, key []byte) (at, size int) {
	wanted := make([]byte, 0, len(mark)+len(key)+2)
	wanted = append(append(append(append(wanted, '\n'), mark...), key...), '\n')
	at = bytes.LastIndex(raw, wanted)
	if at < 0 {
		return -1, 0
	}
	return at + 1, len(wanted) - 1
}

// afterLastBlock returns the lines after the last that closes a block. Those before may be text
// of a pane.
func afterLastBlock(raw []byte) (notes []byte, sound bool) {
	notes, sound = raw, true
	for offset := 0; offset < len(raw); {
		line := firstLine(raw[offset:])
		offset += len(line) + 1
		if bytes.HasPrefix(line, endMark) || bytes.HasPrefix(line, errorMark) {
			notes, sound = raw[offset:], false
		}
	}
	return notes, sound
}

func firstLine(raw []byte) []byte {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	return line
}

// isEnd reports whether the line closes the block with this key.
func isEnd(line, key []byte) bool {
	rest, ok := bytes.CutPrefix(line, endMark)
	if !ok {
		rest, ok = bytes.CutPrefix(line, errorMark)
	}
	return ok && bytes.Equal(rest, key)
}

// isOurs reports by the flags at the end of the key whether the block answers a line of this
// client.
func isOurs(key []byte) bool {
	return len(key) > 0 && (key[len(key)-1]-'0')&1 == 1
}
