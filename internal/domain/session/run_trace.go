package session

import (
	"crypto/sha256"
	"encoding/hex"
)

// TraceParent returns the W3C trace context of a run. The spans of its agent become children of
// the run's span.
func TraceParent(run string) string { return "00-" + TraceID(run) + "-" + SpanID(run) + "-01" }

// TraceID returns the trace id of a run.
func TraceID(run string) string { return identifier("trace "+run, 16) }

// SpanID returns the span id for a name. The name of the run's own span is its run_id.
func SpanID(name string) string { return identifier("span "+name, 8) }

// identifier returns the first n bytes of the SHA-256 of name in hexadecimal.
func identifier(name string, n int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:n])
}
