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

	"gascity/internal/service/workers"
	"gascity/worker"
)

// claimsFile is the file, in the directory of the session's hooks, with the claims that are not acknowledged yet. A claim is the
// request of a hook for the context that the city has for the agent.
const claimsFile = "claims.json"

// maxClaims is how many claims are kept. The oldest ones are dropped first.
const maxClaims = 32

// injectContext fetches the context that the city has for the agent at the start of a conversation, and gives it to the agent: in
// the answer of this hook or, if the agent CLI accepts context only with a prompt, together with the next prompt. source is how
// the conversation started.
func (h *hook) injectContext(ctx context.Context, source string) error {
	sections, err := h.claim(ctx, source)
	if err != nil || len(sections) == 0 {
		return err
	}
	if h.cli.WithPrompt {
		return h.saveFile(pendingFile, sections) // it replaces those that still wait from an earlier start
	}
	return h.writeContext(sections)
}

// claim asks the city for the agent's context at the start of a conversation and returns its sections. It returns none if the
// city gives this agent its context in another way. It waits for at most half of the time that the hook has, so that the agent
// does not wait for a city that does not answer; the city then sends the context as a prompt.
func (h *hook) claim(ctx context.Context, source string) ([]worker.Section, error) {
	if !h.cli.InjectsContext(source) || h.dir == "" {
		return nil, nil // the city sends the context in another way
	}
	within := time.Second
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end) / 2
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	claim := worker.ContextClaim{ID: workers.ClaimPrefix + rand.Text(), Source: worker.Beginning(source), ConversationID: h.in.SessionID, Limit: h.cli.ContextLimit}
	if err := h.saveClaim(claim); err != nil {
		return nil, err // without the file, the claim could not be acknowledged later
	}
	c, err := h.client.ClaimContext(ctx, claim)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch the context for the agent: %w", err)
	}
	return c.Sections, h.answered()
}

// writeContext writes sections as the hook's answer, so that they become part of the conversation.
func (h *hook) writeContext(sections []worker.Section) error {
	answer, err := h.cli.Context(h.event, sections)
	if err != nil {
		return err
	}
	_, err = h.Stdout.Write(append(answer, '\n'))
	return err
}

// noncePattern finds the nonce of a section of context: a random word that shows that the section is in a transcript.
var noncePattern = regexp.MustCompile(`\[(gc-[a-z2-7]{10})\]`)

// ackContext searches for the nonces of the claimed sections in the transcript of the conversation and reports the ones it finds to
// the city. The city sends the other sections again, as a prompt.
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
		if c := claims[0]; !c.Answered && len(claims)+len(later) == 1 { // the city may not have received the claim
			if _, err := h.client.ClaimContext(ctx, c.ContextClaim); err != nil {
				return err
			}
		}
		if err := h.client.Ack(ctx, worker.Ack{ID: claims[0].ID, State: worker.Consumed, Nonces: seen}); err != nil {
			return err
		}
		claims = claims[1:]
		if err := h.saveFile(claimsFile, slices.Concat(claims, later)); err != nil {
			return err
		}
	}
	return nil
}

// newer returns how many claims at the end of the list belong to other conversations than the given one. The transcript of the
// given conversation cannot contain their nonces.
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

// noncesIn returns the nonces in a file, each one once. It searches the bytes of the file without parsing its JSON, because no
// character of a nonce is escaped in JSON.
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

// overlap is the number of bytes at the end of a piece of a file that are read again with the next piece, because a nonce may lie
// across the border.
const overlap = 64

// claimed is a claim that is not acknowledged yet.
type claimed struct {
	worker.ContextClaim
	Answered bool `json:"answered"` // the city answered, or knows this start from another report
}

// claims returns the saved claims (requests of this hook for the context of its agent) that are not acknowledged yet, the oldest
// first. It returns none if the hooks have no directory, or the file cannot be parsed.
func (h *hook) claims() ([]claimed, error) {
	if h.dir == "" {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(h.dir, claimsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var claims []claimed
	if json.Unmarshal(bytes.TrimSpace(text), &claims) != nil {
		return nil, nil //nolint:nilerr // written by another version; the city sends that context as a prompt
	}
	return claims, nil
}

// saveClaim adds a claim to the saved ones and keeps the newest [maxClaims].
func (h *hook) saveClaim(c worker.ContextClaim) error {
	claims, err := h.claims()
	if err != nil {
		return err
	}
	claims = append(claims, claimed{ContextClaim: c})
	return h.saveFile(claimsFile, claims[max(0, len(claims)-maxClaims):])
}

// answered marks the newest claim as answered: the city has confirmed that it knows about the start of the conversation.
func (h *hook) answered() error {
	claims, err := h.claims()
	if err != nil || len(claims) == 0 {
		return err
	}
	claims[len(claims)-1].Answered = true
	return h.saveFile(claimsFile, claims)
}

// saveFile writes v as JSON into a file in the directory of the session's hooks.
func (h *hook) saveFile(name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return replace(filepath.Join(h.dir, name), text)
}
