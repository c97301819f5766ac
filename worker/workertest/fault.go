package workertest

import (
	"io"
	"net/http"

	"gascity/worker"
)

// Fault replaces the answer to a request.
type Fault func(http.ResponseWriter)

// Broken breaks the connection.
func Broken(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// Failing answers with an internal error of the city.
func Failing(w http.ResponseWriter) {
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, "internal error") // the worker may have closed the connection
}

// Garbled sends an answer that cannot be decoded.
func Garbled(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `<html>{"allowed": tru`) // as above
}

// Fail applies a fault to each request to a path. A nil fault removes it.
func (c *City) Fail(path string, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults[path] = f
}

// keys are the run's tokens.
type keys struct {
	now     string
	next    string // new token, sent and valid
	message string // id of the message with the new token
}

func (k *keys) accepts(token string) bool {
	return token == k.now || k.next != "" && token == k.next
}

// acknowledged makes the old token invalid when the worker has acknowledged the new one.
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

// token returns the token that is valid now.
func (c *City) token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys.now
}

// Rotate sends the worker a new token, with a message of this id. The old token becomes invalid
// when the worker has acknowledged the message as consumed.
func (c *City) Rotate(id string) error {
	c.mu.Lock()
	c.keys.next, c.keys.message = c.keys.now+"-"+id, id
	token := c.keys.next
	c.mu.Unlock()
	return c.Send(id, worker.IdentityMessage, map[string]string{"run_id": c.run, "token": token})
}

// Allow makes the city allow all tools except the canary. [City.Decide] is not called any more.
func (c *City) Allow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allows = true
}

// Fence breaks the worker's stream, and then answers that another instance has replaced this one.
func (c *City) Fence() {
	c.mu.Lock()
	c.over = true // no change is published, so the open stream does not report it
	c.mu.Unlock()
	c.Cut()
}
