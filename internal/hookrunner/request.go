package hookrunner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"gascity/internal/agentcli"
	"gascity/worker"
)

// requestFile is the file, in the directory of the session's hooks, with the last [sentRequest]. It exists only while no other
// hook was called since.
const requestFile = "request.json"

// sentRequest is a request that the agent CLI sends to its model, without its texts.
type sentRequest struct {
	Hash       string `json:"hash"`       // of the request as the hook gets it
	Transcript int64  `json:"transcript"` // size of the transcript in bytes when the request was sent
	Attempt    int    `json:"attempt"`    // 1 for the first one
}

// reportRequest reports to the city that the agent CLI repeats a request to its model. It does if it sends the same request
// again, and in between has neither called another hook nor written to its transcript. The request alone does not show that: the
// hook gets it without tool calls and their results, so all requests of a turn may look the same.
func (h *hook) reportRequest(ctx context.Context) error {
	if h.dir == "" || len(h.in.Request) == 0 {
		return nil
	}
	hash := sha256.Sum256(h.in.Request)
	sent := sentRequest{Hash: hex.EncodeToString(hash[:]), Attempt: 1}
	if info, err := os.Stat(h.in.TranscriptPath); err == nil {
		sent.Transcript = info.Size()
	}
	var last sentRequest
	if text, err := os.ReadFile(filepath.Join(h.dir, requestFile)); err == nil && json.Unmarshal(text, &last) == nil &&
		last.Hash == sent.Hash && last.Transcript == sent.Transcript {
		sent.Attempt = last.Attempt + 1
	}
	if err := h.saveFile(requestFile, sent); err != nil || sent.Attempt == 1 {
		return err
	}
	_, err := h.client.Telemetry(ctx, worker.TelemetryEvent{
		Type: worker.Failure, Timestamp: h.began, Message: "the request to the model failed; " + h.cli.Name + " does not report why",
		Retry: &worker.Retry{Attempt: sent.Attempt},
	})
	return err
}

// forgetRequest removes the last request when another hook is called: the next request is a new one.
func (h *hook) forgetRequest() {
	if h.dir != "" && h.event.Means != agentcli.HookRequest && !h.reported {
		_ = os.Remove(filepath.Join(h.dir, requestFile)) // most often it does not exist
	}
}
