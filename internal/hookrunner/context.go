package hookrunner

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"gascity/internal/service/workers/contextlog"
	"gascity/worker"
)

// claimsFile has the claims that are not acknowledged, in the hooks' own folder.
const claimsFile = "claims.json"

// maxClaims is how many of them are kept: the newest.
const maxClaims = 32

// injectContext passes the agent the context from the city at this beginning: by the answer of
// the hook, or, where the agent CLI takes it with a prompt alone, by the next
// prompt's.
func (h *hook) injectContext(ctx context.Context, source string) error {
	sections, err := h.claim(ctx, source)
	if err != nil || len(sections) == 0 {
		return err
	}
	if h.cli.WithPrompt {
		return h.savePendingSections(sections)
	}
	return h.writeContext(sections)
}

// claim fetches the city's context for its agent at a beginning. What cannot be had in
// half of the hook's time is left out: the agent is not to wait for a city that is not
// there, which sends it later, as a prompt.
func (h *hook) claim(ctx context.Context, source string) ([]worker.Section, error) {
	if !h.cli.InjectsContext(source) || h.Getenv(VariableFolder) == "" {
		return nil, nil // the city sends it otherwise
	}
	within := time.Second
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	claim := worker.ContextClaim{ID: contextlog.ClaimPrefix + rand.Text(), Source: worker.Beginning(source), ConversationID: h.in.SessionID, Limit: h.cli.ContextLimit}
	if err := h.saveClaim(claim); err != nil {
		return nil, err // its outcome could not be found out later
	}
	c, err := h.client.ClaimContext(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("the context for the agent was not fetched: %w", err)
	}
	return c.Sections, h.answered()
}

// writeContext puts sections into the conversation by the hook's answer.
func (h *hook) writeContext(sections []worker.Section) error {
	answer, err := h.cli.Context(h.event, sections)
	if err != nil {
		return err
	}
	_, err = h.Stdout.Write(append(answer, '\n'))
	return err
}

// noncePattern is a nonce as it stands in a section.
var noncePattern = regexp.MustCompile(`\[(gc-[a-z2-7]{10})\]`)

// ackContext acknowledges what was claimed, with the nonces that stand in the conversation's
// transcript. The city sends the agent as a prompt what the agent CLI has not accepted.
func (h *hook) ackContext(ctx context.Context) error {
	claims, err := h.claims()
	if err != nil || h.in.TranscriptPath == "" || h.hasPendingSections() {
		return err
	}
	later := claims[len(claims)-newer(claims, h.in.SessionID):]
	claims = claims[:len(claims)-len(later)]
	if len(claims) == 0 {
		return nil
	}
	seen, err := noncesIn(h.in.TranscriptPath)
	if err != nil {
		return err
	}
	for len(claims) > 0 {
		if c := claims[0]; !c.Answered && len(claims)+len(later) == 1 { // the city may not have received this beginning
			if _, err := h.client.ClaimContext(ctx, c.ContextClaim); err != nil {
				return err
			}
		}
		if err := h.client.Ack(ctx, worker.Ack{ID: claims[0].ID, State: worker.Consumed, Nonces: seen}); err != nil {
			return err
		}
		claims = claims[1:]
		if err := h.saveClaims(slices.Concat(claims, later)); err != nil {
			return err
		}
	}
	return nil
}

// newer returns how many of the last claims are for other conversations than the one with
// the ID: its transcript does not say what happened to them.
func newer(claims []claimed, conversation string) int {
	n := 0
	for _, c := range slices.Backward(claims) {
		if c.ConversationID == "" || c.ConversationID == conversation {
			break
		}
		n++
	}
	return n
}

// noncesIn returns the nonces in a file, each once. What follows another nonce in JSON is
// escaped, and the nonces are not.
func noncesIn(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var seen []string
	had := map[string]bool{}
	piece := make([]byte, maxPiece)
	for at := int64(0); ; {
		n, err := f.ReadAt(piece, at)
		for _, m := range noncePattern.FindAllSubmatch(piece[:n], -1) {
			if nonce := string(m[1]); !had[nonce] {
				had[nonce] = true
				seen = append(seen, nonce)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return seen, nil
		case err != nil:
			return nil, err
		}
		at += int64(n) - overlap
	}
}

// overlap is read twice: a nonce may stand at the end of a piece.
const overlap = 64

// claimed is a claim that is not acknowledged.
type claimed struct {
	worker.ContextClaim
	Answered bool `json:"answered"` // or the city has learned its beginning otherwise
}

func (h *hook) claims() ([]claimed, error) {
	dir := h.Getenv(VariableFolder)
	if dir == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, claimsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var claims []claimed
	if json.Unmarshal(bytes.TrimSpace(text), &claims) != nil {
		return nil, nil //nolint:nilerr // another version's: what it has claimed is sent as a prompt
	}
	return claims, nil
}

func (h *hook) saveClaim(c worker.ContextClaim) error {
	claims, err := h.claims()
	if err != nil {
		return err
	}
	claims = append(claims, claimed{ContextClaim: c})
	return h.saveClaims(claims[max(0, len(claims)-maxClaims):])
}

// answered records that the city has received the last beginning.
func (h *hook) answered() error {
	claims, err := h.claims()
	if err != nil || len(claims) == 0 {
		return err
	}
	claims[len(claims)-1].Answered = true
	return h.saveClaims(claims)
}

func (h *hook) saveClaims(claims []claimed) error { return h.saveFile(claimsFile, claims) }

// saveFile writes a file of the hooks' own folder.
func (h *hook) saveFile(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return replace(filepath.Join(h.Getenv(VariableFolder), name), text)
}
