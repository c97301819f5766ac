package channel

import (
	"encoding/json"
	"slices"
)

// conversation is what is known about the thread on the screen, from the messages between server
// and client: its turn and its open questions. It sends and reads nothing itself. The caller must
// not run two methods at the same time.
type conversation struct {
	thread    string            // ID of the thread on the screen; empty: none yet
	turn      string            // ID of its running turn; empty: none
	asking    []string          // IDs of the client's unanswered requests that start a turn in it
	opening   map[string]bool   // IDs of the client's requests that show another thread
	listing   map[string]bool   // IDs of the client's requests for the list of hooks
	questions map[string]bool   // IDs of the server's requests that a person must answer
	messages  map[string]string // the turn of each user message, by the sender's message ID
	order     []string          // keys of messages, the oldest first
	ends      map[string]string // the final status of each turn, by turn ID
	endings   []string          // keys of ends, the oldest first
}

// change says what one message has changed in a conversation.
type change struct {
	shown   bool       // another thread is on the screen
	message string     // the sender's ID of a user message that is now in the conversation
	turn    string     // the turn of that message
	ended   *turn      // a turn ended
	failure *turnError // the model could not be reached; the turn goes on
}

// newConversation returns a conversation about which nothing is known yet.
func newConversation() *conversation {
	return &conversation{opening: map[string]bool{}, listing: map[string]bool{}, questions: map[string]bool{}, messages: map[string]string{}, ends: map[string]string{}}
}

// busy reports whether a prompt must wait: a turn runs or is about to begin, a question is open, or
// another thread is about to be shown.
func (c *conversation) busy() bool {
	return c.turn != "" || len(c.asking) > 0 || len(c.questions) > 0 || len(c.opening) > 0
}

// maxMessages is how many user messages, and how many ended turns, are remembered.
const maxMessages = 256

// turnOf returns the turn of a user message. id is the ID that the sender gave to the message. ok
// is false if the message is not known.
func (c *conversation) turnOf(id string) (turn string, ok bool) {
	turn, ok = c.messages[id]
	return turn, ok
}

// handleClient updates the conversation for a message of the client.
func (c *conversation) handleClient(m message) {
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

// handleServer updates the conversation for a message of the server and returns what has changed.
// It does not get the answers to gc's own requests; see [conversation.recordTurn] for those.
func (c *conversation) handleServer(m message) change {
	switch {
	case m.Method == "":
		return c.applyAnswer(m)
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

// applyAnswer updates the conversation for an answer of the server to a request of the client.
func (c *conversation) applyAnswer(m message) change {
	id := string(m.ID)
	if at := slices.Index(c.asking, id); at >= 0 {
		c.asking = slices.Delete(c.asking, at, at+1)
		var r struct{ Turn turn }
		if m.Error == nil && json.Unmarshal(m.Result, &r) == nil {
			c.recordTurn(r.Turn)
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

// recordTurn records that a turn is running, unless it is known that it has ended.
func (c *conversation) recordTurn(t turn) {
	ended := t.Status == turnCompleted || t.Status == turnInterrupted || t.Status == turnFailed
	if _, known := c.ends[t.ID]; !known && !ended && t.ID != "" {
		c.turn = t.ID
	}
}

// applyNotice updates the conversation for a notification of the server about the thread on the
// screen, and returns what has changed.
func (c *conversation) applyNotice(method string, n notice) change {
	switch method {
	case noticeTurnStarted:
		c.recordTurn(n.Turn)
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
		if n.Status.Type == statusIdle || n.Status.Type == statusError { // covers a missed end of a turn
			c.turn, c.questions = "", map[string]bool{}
		}
	case noticeError:
		if n.WillRetry {
			return change{failure: &n.Error}
		}
	}
	return change{}
}

// remember sets an entry of a map and drops the oldest entry if there are more than [maxMessages].
// order has the keys of the map, the oldest first; remember returns the new order.
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
