package channel

import (
	"encoding/json"
	"slices"
)

// conversation is what the messages between server and terminal client say of the thread
// that is on the screen. It decides nothing and does no I/O. The caller serializes calls.
type conversation struct {
	thread    string            // on the screen; empty: none yet
	turn      string            // in progress in that thread; empty: none
	asking    []string          // IDs of the client's requests that start a turn there and are not answered
	opening   map[string]bool   // IDs of the client's requests that bring a thread to the screen
	listing   map[string]bool   // IDs of the client's requests for the list of hooks
	questions map[string]bool   // IDs of the server's requests that a person has to answer
	messages  map[string]string // by the sender's ID of a user's message: the turn that has it
	order     []string          // of messages
	ends      map[string]string // by turn: its status at its end
	endings   []string          // of ends
}

// change is what one message changed.
type change struct {
	shown   bool       // another thread is on the screen
	began   bool       // a turn began
	message string     // the sender's ID of a user's message that is in the conversation now
	turn    string     // the turn that has the message
	ended   *turn      // a turn ended
	failure *turnError // the model could not be reached; the turn goes on
}

func newConversation() *conversation {
	return &conversation{opening: map[string]bool{}, listing: map[string]bool{}, questions: map[string]bool{}, messages: map[string]string{}, ends: map[string]string{}}
}

// busy reports whether a turn is in progress or about to begin, a person is asked, or another
// thread is about to come to the screen.
func (c *conversation) busy() bool {
	return c.turn != "" || len(c.asking) > 0 || len(c.questions) > 0 || len(c.opening) > 0
}

// maxMessages is how many messages of users, and how many turns, are remembered.
const maxMessages = 256

// turnOf returns the turn that has the user's message with the sender's ID.
func (c *conversation) turnOf(id string) (turn string, ok bool) {
	turn, ok = c.messages[id]
	return turn, ok
}

// fromClient follows a message of the terminal client to the server.
func (c *conversation) fromClient(m message) {
	id := string(m.ID)
	switch m.Method {
	case methodThreadStart, methodThreadResume, methodThreadFork:
		c.opening[id] = true
	case methodHooksList:
		c.listing[id] = true
	case methodTurnStart:
		var p turnParams
		if json.Unmarshal(m.Params, &p) == nil && p.ThreadID == c.thread {
			c.asking = append(c.asking, id)
		}
	case "":
		delete(c.questions, id) // the answer to a question
	}
}

// fromServer follows a message of the server. Answers to our own requests are not given to it,
// except for [conversation.started].
func (c *conversation) fromServer(m message) change {
	switch {
	case m.Method == "":
		return c.answered(m)
	case m.ID != nil:
		var p notice
		if json.Unmarshal(m.Params, &p) == nil && p.ThreadID == c.thread && c.thread != "" {
			c.questions[string(m.ID)] = true
		}
		return change{}
	}
	var n notice
	if json.Unmarshal(m.Params, &n) != nil || n.ThreadID == "" || n.ThreadID != c.thread {
		return change{}
	}
	return c.applyNotice(m.Method, n)
}

// answered follows an answer of the server to the client.
func (c *conversation) answered(m message) change {
	id := string(m.ID)
	if at := slices.Index(c.asking, id); at >= 0 {
		c.asking = slices.Delete(c.asking, at, at+1)
		var r struct{ Turn turn }
		if m.Error == nil && json.Unmarshal(m.Result, &r) == nil {
			return change{began: c.started(r.Turn)}
		}
		return change{}
	}
	if !c.opening[id] {
		return change{}
	}
	delete(c.opening, id)
	var r struct{ Thread thread }
	if m.Error != nil || json.Unmarshal(m.Result, &r) != nil || r.Thread.ID == "" || r.Thread.Ephemeral || r.Thread.Parent != "" {
		return change{}
	}
	shown := r.Thread.ID != c.thread
	if shown {
		c.thread, c.turn, c.asking, c.questions = r.Thread.ID, "", nil, map[string]bool{}
	}
	if n := len(r.Thread.Turns); n > 0 && r.Thread.Turns[n-1].Status == "inProgress" {
		c.turn = r.Thread.Turns[n-1].ID
	}
	return change{shown: shown}
}

// started notes that a turn is in progress, and reports whether that is new.
func (c *conversation) started(t turn) bool {
	if _, ended := c.ends[t.ID]; ended || t.ID == "" || t.ID == c.turn || hasEnded(t.Status) {
		return false
	}
	c.turn = t.ID
	return true
}

func hasEnded(status string) bool {
	return status == turnCompleted || status == turnInterrupted || status == turnFailed
}

func (c *conversation) applyNotice(method string, n notice) change {
	switch method {
	case noticeTurnStarted:
		return change{began: c.started(n.Turn)}
	case noticeItemStarted, noticeItemCompleted:
		if n.Item.Type == itemUserMessage && n.Item.ClientID != "" {
			_, known := c.messages[n.Item.ClientID]
			c.order = remember(c.messages, c.order, n.Item.ClientID, n.TurnID)
			if !known {
				return change{message: n.Item.ClientID, turn: n.TurnID}
			}
		}
	case noticeTurnCompleted:
		if c.turn == n.Turn.ID {
			c.turn, c.questions = "", map[string]bool{}
		}
		c.endings = remember(c.ends, c.endings, n.Turn.ID, n.Turn.Status)
		return change{ended: &n.Turn}
	case noticeStatus:
		if n.Status.Type == statusIdle || n.Status.Type == statusError { // heals an end that was not noticed
			c.turn, c.questions = "", map[string]bool{}
		}
	case noticeError:
		if n.WillRetry {
			return change{failure: &n.Error}
		}
	}
	return change{}
}

// remember puts an entry into a map that keeps the newest ones, and returns its order.
func remember(entries map[string]string, order []string, key, value string) []string {
	if _, known := entries[key]; !known {
		if order = append(order, key); len(order) > maxMessages {
			delete(entries, order[0])
			order = order[1:]
		}
	}
	entries[key] = value
	return order
}
