package tui

import (
	"bytes"
	"slices"
	"sync"
)

// inbox holds messages of the goroutines that follow the city until the dashboard reads them, also while the terminal belongs to
// an agent or an editor. A newer status or screen replaces an older one, so a slow dashboard gets fewer of them.
type inbox struct {
	wake chan struct{} // holds a token if there are messages

	mu       sync.Mutex
	messages []Msg // guarded by mu
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds messages.
func (b *inbox) put(messages ...Msg) {
	b.mu.Lock()
	for _, msg := range messages {
		b.addLocked(msg)
	}
	b.mu.Unlock()
	wake(b.wake)
}

func (b *inbox) addLocked(msg Msg) {
	same := func(Msg) bool { return false }
	switch msg := msg.(type) {
	case StatusMsg:
		same = func(old Msg) bool { _, ok := old.(StatusMsg); return ok }
	case ScreenMsg:
		same = func(old Msg) bool { s, ok := old.(ScreenMsg); return ok && s.Agent == msg.Agent }
	case PageMsg:
		b.addOutputLocked(msg)
		return
	}
	if i := slices.IndexFunc(b.messages, same); i >= 0 {
		b.messages[i] = msg
		return
	}
	b.messages = append(b.messages, msg)
}

// maxOutput is the largest number of bytes of one command that wait in the inbox; older ones are dropped.
const maxOutput = 4 << 20

// pageOutput is the output of the command with the id in the inbox.
type pageOutput struct {
	id   int
	text []byte
	done bool
}

// addOutputLocked appends the output of a command to what waits of it.
func (b *inbox) addOutputLocked(msg PageMsg) {
	var out *pageOutput
	for _, old := range b.messages {
		if o, ok := old.(*pageOutput); ok && o.id == msg.ID {
			out = o
		}
	}
	if out == nil {
		out = &pageOutput{id: msg.ID}
		b.messages = append(b.messages, out)
	}
	out.text = append(out.text, msg.Output...)
	out.done = out.done || msg.Done
	if len(out.text) > 2*maxOutput { // not at each message, because it copies
		out.text = append(out.text[:0], newest(out.text)...)
	}
}

// newest returns an output, of a longer one at most the last [maxOutput] bytes. These begin with a line end, so that the line before does not
// continue with another one.
func newest(text []byte) []byte {
	if len(text) <= maxOutput {
		return text
	}
	text = text[len(text)-maxOutput:]
	return text[max(0, bytes.IndexByte(text, '\n')):]
}

// take removes and returns all messages.
func (b *inbox) take() []Msg {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages
	b.messages = nil
	for i := range all {
		if out, ok := all[i].(*pageOutput); ok {
			all[i] = PageMsg{ID: out.id, Output: string(newest(out.text)), Done: out.done}
		}
	}
	return all
}
