package session

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

// RunID returns the run_id of the instance with the given instance token. The token cannot be
// computed from the run_id.
func RunID(instance string) string {
	sum := sha256.Sum256([]byte("run " + instance))
	return "run-" + hex.EncodeToString(sum[:12])
}

// WorkerToken returns the token of a run's worker. Each generation has a different token. Tokens are
// derived from the instance token, so they need not be stored. An instance that an earlier version
// of gc started gets a token without the prefix, because its worker knows only that form.
func WorkerToken(instance string, generation int) string {
	mac := hmac.New(sha256.New, []byte(instance))
	mac.Write([]byte("worker token " + strconv.Itoa(generation)))
	token := base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	if strings.HasPrefix(instance, agent.InstanceTokenPrefix) {
		return agent.WorkerTokenPrefix + token
	}
	return token
}

// HashToken returns the hash of a token. Tokens are looked up by hash and never compared directly.
func HashToken(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// RunCaller identifies the sender of a request: the worker of a run, or the owner of the city, who
// may control all runs.
type RunCaller struct {
	Run   string // of the worker; empty for the owner
	Owner bool
}

// CanReportFor reports whether the caller may send reports about a run: only the worker of that
// run may.
func (c RunCaller) CanReportFor(run string) bool { return c.Run != "" && c.Run == run }

// CanDirect reports whether the caller may send requests to a run: the owner and the run's own
// worker may.
func (c RunCaller) CanDirect(run string) bool { return c.Owner || c.CanReportFor(run) }

// StreamItem is one event of a stream: a message, a gap, or the reason why the stream ends.
type StreamItem struct {
	Message *worker.Message
	Gap     *worker.Gap
	End     bool // the run has ended
	Lagged  bool // the reader was too slow; it may connect again
}
