// Package workerrun is an instance in the eyes of the worker API: its name and token,
// who may speak for it, what it has reported about its life, and what it is
// sent. It is pure; package workers acts on it and package workerapi serves it.
package workerrun

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"gascity/internal/agent"
	"gascity/worker"
)

// ID returns the run_id of the instance with an instance token. The token cannot
// be had from it.
func ID(instance string) string {
	sum := sha256.Sum256([]byte("run " + instance))
	return "run-" + hex.EncodeToString(sum[:12])
}

// Token returns the token of a run's worker. Each generation has another one; they are
// derived, so that the owner of the instance token knows them, and nothing has to be stored.
// The token of an instance that an earlier version of gc has started is as that version made
// it: its worker knows no other.
func Token(instance string, generation int) string {
	mac := hmac.New(sha256.New, []byte(instance))
	mac.Write([]byte("worker token " + strconv.Itoa(generation)))
	token := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	if strings.HasPrefix(instance, agent.InstanceTokenPrefix) {
		return agent.WorkerTokenPrefix + token
	}
	return token
}

// HashToken returns a token as it is looked for: tokens are never compared themselves.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// Caller is who speaks: the worker of a run, or the owner of the city, who directs
// them all.
type Caller struct {
	Run   string // of the worker; empty for the owner
	Owner bool
}

// CanReportFor reports whether the caller may speak for a run.
func (c Caller) CanReportFor(run string) bool { return c.Run != "" && c.Run == run }

// CanDirect reports whether the caller may give a run orders: the owner may, and a
// worker its own run.
func (c Caller) CanDirect(run string) bool { return c.Owner || c.CanReportFor(run) }

// Item is one event of a stream: a message, a gap, or why it ends.
type Item struct {
	Message *worker.Message
	Gap     *worker.Gap
	End     bool // the run has ended
	Lagged  bool // the reader was too slow; it may come again
}
