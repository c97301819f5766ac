// A complete worker of the Factory Worker API: it answers each prompt with its own
// words, asks before it runs what stands behind "run: ", and reports what that
// used.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"gascity/worker"
)

func main() {
	ctx := context.Background()
	c := &worker.Client{Socket: os.Getenv("GC_WORKER_SOCKET"), Token: os.Getenv("GC_WORKER_TOKEN"), RunID: os.Getenv("GC_RUN_ID")}
	report(c.Report(ctx, worker.Started, worker.Detail{Agent: "echo"}), c.Prove(ctx), c.Report(ctx, worker.Ready, worker.Detail{}))
	for m, err := range c.Messages(ctx) {
		var p worker.Prompt
		if err != nil || m.Kind != worker.PromptMessage || json.Unmarshal(m.Data, &p) != nil {
			report(err, c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Refused}))
			continue
		}
		report(c.Report(ctx, worker.Busy, worker.Detail{PromptID: m.ID}), c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Submitted}))
		answer := p.Content
		if command, ok := strings.CutPrefix(p.Content, "run: "); ok {
			d, _ := c.Authorize(ctx, worker.Call{Tool: "Bash", Input: json.RawMessage(fmt.Sprintf("{%q:%q}", "command", command))})
			answer = fmt.Sprintf("allowed: %t %s", d.Allowed, d.Reason) // an error is a no, with its reason
		}
		fmt.Println("answer:", answer)
		in, out := int64(len(p.Content)), int64(len(answer))
		_, err = c.Telemetry(ctx, worker.TelemetryEvent{Type: worker.TurnComplete, Timestamp: time.Now(), MessageID: m.ID, Usage: &worker.Usage{InputTokens: &in, OutputTokens: &out, Model: "echo", Source: "estimate"}})
		report(err, c.Report(ctx, worker.Idle, worker.Detail{PromptID: m.ID}), c.Ack(ctx, worker.Ack{ID: m.ID, State: worker.Consumed}))
	}
}

func report(errs ...error) {
	for _, err := range errs {
		if err != nil {
			log.Fatal(err)
		}
	}
}
