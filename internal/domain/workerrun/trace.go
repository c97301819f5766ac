package workerrun

import (
	"crypto/sha256"
	"encoding/hex"
)

// TraceParent returns the W3C trace context of a run: what its agent does is part of the
// run's trace, below its span.
func TraceParent(run string) string { return "00-" + TraceID(run) + "-" + SpanID(run) + "-01" }

// TraceID returns the trace of a run.
func TraceID(run string) string { return identifier("trace "+run, 16) }

// SpanID returns the span of what has that name: of the run itself for its id.
func SpanID(name string) string { return identifier("span "+name, 8) }

func identifier(name string, n int) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:n])
}
