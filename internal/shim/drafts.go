package shim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Drafts are texts that deliveries may have left in the agent's input line. A
// delivery notes its text before the first byte and takes the note back when the
// line is free again; whoever delivers after one that was cut off knows by the
// note what is ours and what is a person's.

// maxDrafts bounds the notes: the present delivery's and those it found.
const maxDrafts = 8

func (h *host) serveDrafts(*http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([][]byte{}, h.drafts...), nil
}

func (h *host) serveSetDrafts(r *http.Request) (any, error) {
	var drafts [][]byte
	if err := json.NewDecoder(r.Body).Decode(&drafts); err != nil {
		return nil, fmt.Errorf("%w: %w", errInvalid, err)
	}
	if len(drafts) > maxDrafts {
		return nil, fmt.Errorf("%w: %d drafts, at most %d are kept", errInvalid, len(drafts), maxDrafts)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drafts, h.noted = drafts, time.Now()
	return nil, nil
}

// Drafts returns the texts that may stand in the agent's input line.
func (c *Client) Drafts(ctx context.Context) ([]string, error) {
	var drafts [][]byte
	err := c.call(ctx, http.MethodGet, "/drafts", nil, &drafts)
	texts := make([]string, 0, len(drafts))
	for _, d := range drafts {
		texts = append(texts, string(d))
	}
	return texts, err
}

// SetDrafts notes the texts that may stand in the agent's input line.
func (c *Client) SetDrafts(ctx context.Context, drafts ...string) error {
	texts := make([][]byte, 0, len(drafts)) // bytes: as text, JSON could make six of one
	for _, d := range drafts {
		texts = append(texts, []byte(d))
	}
	return c.call(ctx, http.MethodPut, "/drafts", texts, nil)
}

// serveAnswered counts an answered question: the next one is another, also if it has the
// same words.
func (h *host) serveAnswered(*http.Request) (any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered++
	return nil, nil
}

// Answered counts an answered question.
func (c *Client) Answered(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/answered", nil, nil)
}
