package guard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// MaxRecordedInput is the maximum length of a stored input in bytes.
	MaxRecordedInput = 64 << 10

	// maxWaitingCalls is the maximum number of calls that wait to be written. If the disk is too
	// slow, further calls are lost and a warning is logged; no decision waits for the disk.
	maxWaitingCalls = 1024
	// maxAuditBatch is the size, in bytes, at which a batch is written.
	maxAuditBatch = 256 << 10
)

// auditLog writes calls to the record in its own goroutine. Calls that wait are written together.
type auditLog struct {
	opts    EvaluatorOptions
	calls   chan Call
	dropped atomic.Int64
	ended   chan struct{}
	// used by the writer only
	failing bool      // a write failure was already logged
	last    time.Time // of the last call that was written
}

// maxDisorder is by how much the time of a call is moved so that no recorded call is older than the
// one before it: calls that are decided at once wait in any order. Pages of decisions rely on it. A
// clock that was set back more than this is recorded as it is.
const maxDisorder = time.Second

// newAuditLog returns an audit log of tool calls and starts the goroutine that writes it. Close it
// with close.
func newAuditLog(opts EvaluatorOptions) *auditLog {
	r := &auditLog{opts: opts, calls: make(chan Call, maxWaitingCalls), ended: make(chan struct{})}
	go r.work()
	return r
}

// enqueue queues a decided tool call to be written to the audit log. It never blocks: if too many
// calls wait already, the call is lost. An input that is too long is not stored.
func (r *auditLog) enqueue(c Call) {
	if len(c.Input) > MaxRecordedInput {
		c.Input, c.Cut = nil, true
	}
	select {
	case r.calls <- c:
	default:
		r.dropped.Add(1)
	}
}

// close waits until all queued calls are written, and ends the log's goroutine.
func (r *auditLog) close() {
	close(r.calls)
	<-r.ended
}

// work writes calls until the channel is closed.
func (r *auditLog) work() {
	defer close(r.ended)
	var batch bytes.Buffer
	for c := range r.calls {
		batch.Reset()
		err := r.appendLine(&batch, c)
		for waiting := len(r.calls); waiting > 0 && batch.Len() < maxAuditBatch && err == nil; waiting-- {
			err = r.appendLine(&batch, <-r.calls)
		}
		if batch.Len() > 0 {
			if _, fault := r.opts.Record.Write(batch.Bytes()); fault != nil {
				err = fault
			}
		}
		r.reportLoss(err)
	}
}

// reportLoss logs err, an error of writing the audit log, once until writing works again. It also
// logs how many calls were lost because too many were waiting.
func (r *auditLog) reportLoss(err error) {
	switch {
	case err == nil:
		r.failing = false
	case !r.failing:
		r.failing = true
		r.opts.Logger.Warn("tool calls are not recorded for gc guard replay", "error", err)
	}
	if n := r.dropped.Swap(0); n > 0 {
		r.opts.Logger.Warn("some tool calls were not recorded for gc guard replay, because they came too fast", "lost", n)
	}
}

// appendLine appends a call as one line of JSON to the batch, with the values of credentials
// removed. If they cannot be removed, it returns an error and the call is not stored.
func (r *auditLog) appendLine(batch *bytes.Buffer, c Call) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("cannot remove credentials from a call: %v", fault)
		}
	}()
	if c.At.Before(r.last) && r.last.Sub(c.At) < maxDisorder {
		c.At = r.last
	}
	r.last = c.At
	c.Reason, c.Part = r.opts.Conceal(c.Reason), r.opts.Conceal(c.Part)
	if !c.Cut {
		c.Input, c.Cut = r.redactInput(c.Input)
	}
	text, err := json.Marshal(c)
	if err == nil {
		batch.Write(append(text, '\n'))
	}
	return err
}

// redactInput returns an input without the values of credentials. cut is true if the input is not
// valid JSON and was left out.
func (r *auditLog) redactInput(input json.RawMessage) (kept json.RawMessage, cut bool) {
	var value any
	switch {
	case len(input) == 0:
		return nil, false
	case json.Unmarshal(input, &value) != nil:
		return nil, true
	}
	kept, err := json.Marshal(r.redactValue(value))
	return kept, err != nil
}

// redactValue returns a JSON value without the values of credentials.
func (r *auditLog) redactValue(value any) any {
	switch v := value.(type) {
	case string:
		return r.opts.Conceal(v)
	case []any:
		for i := range v {
			v[i] = r.redactValue(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			out[r.opts.Conceal(name)] = r.redactValue(one)
		}
		return out
	}
	return value
}
