package tui

import (
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
		if n := len(b.messages); n > 0 {
			if last, ok := b.messages[n-1].(PageMsg); ok && last.ID == msg.ID {
				b.messages[n-1] = PageMsg{ID: msg.ID, Output: last.Output + msg.Output, Done: msg.Done}
				return
			}
		}
	}
	if i := slices.IndexFunc(b.messages, same); i >= 0 {
		b.messages[i] = msg
		return
	}
	b.messages = append(b.messages, msg)
}

// take removes and returns all messages.
func (b *inbox) take() []Msg {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages
	b.messages = nil
	return all
}
