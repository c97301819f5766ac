package workertest

import (
	"io"
	"net/http"

	"gascity/worker"
)

// Fault is what a city does instead of an answer.
type Fault func(http.ResponseWriter)

// Broken breaks the connection off.
func Broken(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// Failing answers that the city has a defect.
func Failing(w http.ResponseWriter) {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, "a stack of a defect") // the reader may be gone
}

// Garbled sends an answer that is not understood.
func Garbled(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `<html>{"allowed": tru`) // as above
}

// Fail has requests to a path meet a fault; nil is none.
func (c *City) Fail(path string, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[path] = f
}

// keys are the run's tokens.
type keys struct {
	now     string
	next    string // sent, and good already
	message string // that has sent it
}

func (k *keys) accepts(token string) bool {
	return token == k.now || k.next != "" && token == k.next
}

// acknowledged lets the old token die when the worker has the new one. One that takes
// none keeps the old one.
func (k *keys) acknowledged(id string, state worker.Progress) {
	if id != k.message || k.next == "" {
		return
	}
	switch state {
	case worker.Consumed:
		*k = keys{now: k.next}
	case worker.Refused, worker.Failed:
		*k = keys{now: k.now}
	default:
	}
}

func (c *City) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.now
}

// Rotate sends the worker a new token, by a message of this id. The old one dies when
// the worker has acknowledged it as consumed.
func (c *City) Rotate(id string) error {
	c.mu.Lock()
	c.keys.next, c.keys.message = c.keys.now+"-"+id, id
	token := c.keys.next
	c.mu.Unlock()
	return c.Send(id, worker.IdentityMessage, map[string]string{"run_id": c.run, "token": token})
}

// Allow makes the city allow all tools but the canary. [City.Decide] does not count then.
func (c *City) Allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allows = true
}

// Fence breaks the worker's stream off, and answers from now on that another
// instance has its place.
func (c *City) Fence() {
	c.mu.Lock()
	c.over = true // without a change: the stream that is open does not say so
	c.mu.Unlock()
	c.Cut()
}
