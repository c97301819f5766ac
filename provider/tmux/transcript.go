package tmux

import (
	"bytes"
	"errors"
	"fmt"
)

// maxReply is the limit in bytes of one reply. The client cannot stop a reply, so a longer one breaks the connection.
const maxReply = 128 << 20

// maxErrorText is the limit in bytes of the stored text of an error that belongs to no request.
const maxErrorText = 4 << 10

var errProtocol = errors.New("tmux violated its protocol")

// request is one line that was sent and waits for its reply. Each line is followed by a fence, a command that prints the
// token.
type request struct {
	command tmuxCommand
	token   string
	// done is closed after the reader of the connection has written reply; nil if no caller waits for the reply.
	done  chan struct{}
	reply tmuxReply
	// flush: the request is a flush command, which does not count as activity.
	flush bool
}

// newRequest returns a request whose reply a caller waits for.
func newRequest(command tmuxCommand) *request {
	return &request{command: command, done: make(chan struct{})}
}

// complete stores the reply.
func (r *request) complete(reply tmuxReply) {
	if r.done != nil {
		r.reply = reply
		close(r.done)
	}
}

// answered reports whether the request has its reply.
func (r *request) answered() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// transcript parses the output of the server: replies to requests, and notifications. It collects all lines of a reply
// until the fence and parses them only then. The content of a pane may look like the end of a reply, but it cannot
// contain the random token.
type transcript struct {
	// next returns the request whose reply begins now; nil if none is open.
	next func() *request
	// event processes a notification. Its Data is valid until event returns.
	event func(controlEvent)

	state transcriptState
	// request is the request whose reply is collected.
	request *request
	// key is the text that the begin and the end of the open block have in common: time, number and flags.
	key []byte
	// raw are the lines since the block of the request began, each with its newline.
	raw []byte
	// last is the offset in raw of the last line.
	last int
	// errorText is the text of the last foreign block that failed, cut at maxErrorText.
	errorText []byte
}

// transcriptState is the position of a transcript in the protocol.
type transcriptState uint8

const (
	// outside: in no block.
	outside transcriptState = iota
	// foreign: in a block that is not the reply to a request of this client, for example the block of a hook.
	foreign
	// collecting: between the begin of a reply and its fence.
	collecting
	// closing: the token has arrived; the next line must close its block.
	closing
)

var (
	beginMark = []byte("%begin ")
	endMark   = []byte("%end ")
	errorMark = []byte("%error ")
)

// feed processes one line without its newline. An error means that tmux has violated the protocol.
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
			return fmt.Errorf("%w: unexpected line after a fence: %.80q", errProtocol, line)
		}
		t.finish()
	}
	return nil
}

// handleForeign processes a line of a foreign block: the output of a command that this client did not send, such as a hook. If
// the command failed, its output is stored in errorText.
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

// outside processes a line that is in no block: a notification or the begin of a block.
func (t *transcript) outside(line []byte) error {
	key, begins := bytes.CutPrefix(line, beginMark)
	switch {
	case !begins:
		t.event(parseNotification(line))
	case !isOurs(key):
		t.key, t.state, t.raw = append(t.key[:0], key...), foreign, t.raw[:0]
	default:
		if t.request = t.next(); t.request == nil {
			return fmt.Errorf("%w: a reply without a request", errProtocol)
		}
		t.state, t.raw = collecting, t.raw[:0]
		t.append(line)
	}
	return nil
}

// collect processes a line of a reply. It recognizes the fence: a block that begins and prints the token.
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

// append appends a line to raw.
func (t *transcript) append(line []byte) {
	t.last = len(t.raw)
	t.raw = append(append(t.raw, line...), '\n')
}

// finish completes the request with its reply and publishes the notifications that were collected with it.
func (t *transcript) finish() {
	request, raw := t.request, t.raw
	t.request, t.state, t.last = nil, outside, 0
	if t.raw = t.raw[:0]; cap(t.raw) > 1<<20 {
		t.raw = nil
	}
	reply, notes, sound := splitReply(request.command, raw)
	request.complete(reply)
	if !sound {
		t.event(controlEvent{Kind: eventResync})
	}
	for note := range bytes.Lines(notes) {
		t.event(parseNotification(bytes.TrimSuffix(note, []byte("\n"))))
	}
}

// splitReply splits the lines between the begin of a reply and its fence. It returns the joined blocks of the commands
// and the notifications after the last block. sound is false if some lines may come from a pane and not from
// tmux. These lines are dropped.
func splitReply(command tmuxCommand, raw []byte) (reply tmuxReply, notes []byte, sound bool) {
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
	return tmuxReply{Output: bytes.TrimSuffix(ours.output, []byte("\n")), Err: ours.failure()}, notes, sound
}

// blocks joins the results of several blocks. err is the error of the last block that failed.
type blocks struct {
	count  int
	output []byte
	err    *commandError
}

// add adds what tmux printed for the next part of the command.
func (b *blocks) add(command tmuxCommand, block printed) {
	if block.failed {
		b.err = refusal(command.nameAt(b.count), string(bytes.TrimSuffix(block.body, []byte("\n"))))
	} else {
		b.output = append(b.output, block.body...)
	}
	b.count++
}

// failure returns err as an error; nil if no block failed.
func (b *blocks) failure() error {
	if b.err == nil {
		return nil
	}
	return b.err
}

// printed is one block: body is the output of a command, or the error text if failed is true, and rest are the lines
// after the block.
type printed struct {
	body, rest []byte
	failed     bool
}

// blockOf returns the block at the begin of raw; ok is false if no line closes it. If several lines look like its end,
// the last one is the end and the others are output.
func blockOf(raw, key []byte) (b printed, ok bool) {
	begin := len(beginMark) + len(key) + 1
	end, size := lastMark(raw, endMark, key)
	if at, width := lastMark(raw, errorMark, key); at > end {
		end, size, b.failed = at, width, true
	}
	if end < begin {
		return printed{}, false
	}
	b.body, b.rest = raw[begin:end], raw[end+size:]
	return b, true
}

// lastMark returns the offset and the size of the last line that consists of mark and key. The offset is -1 if there is
// none.
func lastMark(raw, mark, key []byte) (at, size int) {
	wanted := make([]byte, 0, len(mark)+len(key)+2)
	wanted = append(append(append(append(wanted, '\n'), mark...), key...), '\n')
	at = bytes.LastIndex(raw, wanted)
	if at < 0 {
		return -1, 0
	}
	return at + 1, len(wanted) - 1
}

// afterLastBlock returns the lines after the last line that looks like the end of a block. If there is such a line, sound
// is false: the lines before it may be text of a pane.
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

// firstLine returns the first line of raw without its newline.
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

// isOurs reports whether a block is the reply to a line of this client, by the flags at the end of its key.
func isOurs(key []byte) bool {
	return len(key) > 0 && (key[len(key)-1]-'0')&1 == 1
}
