package controlapi

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
	"unicode/utf8"

	"gascity/client"
)

// The limits of a prompt.
const (
	maxText  = 1 << 20
	maxFiles = 64
	maxWords = 256 // bytes of a key and of a source
	maxTime  = 8760 * time.Hour
)

// nudgeInput is a prompt for a target.
type nudgeInput struct {
	Named
	Body client.NudgeRequest
}

// nudge accepts a prompt and then waits for its receipt. If the caller disconnects, accepting
// continues and waiting ends.
func nudge(ctx context.Context, s *Server, in *nudgeInput) (*reply[client.Receipt], error) {
	if err := checkPrompt(in.Body); err != nil {
		return nil, err
	}
	req := in.Body
	req.Wait = ""
	accepting, cancel := s.detached(ctx, slow)
	defer cancel()
	accepted, err := s.city.Nudge(accepting, in.Target, req)
	if err != nil || in.Body.Wait == "" || accepted.Reached(in.Body.Wait) {
		return answer(accepted, err)
	}
	return answer(s.city.Receipt(ctx, accepted.ID, in.Body.Wait))
}

// checkPrompt returns client.ErrInvalid if a prompt exceeds a limit or is not valid.
func checkPrompt(req client.NudgeRequest) error {
	if req.Text == "" && len(req.Files) == 0 {
		return fmt.Errorf("%w: the prompt is empty", client.ErrInvalid)
	}
	if len(req.Files) > maxFiles {
		return fmt.Errorf("%w: %d files, at most %d are allowed with one prompt", client.ErrInvalid, len(req.Files), maxFiles)
	}
	for _, file := range req.Files {
		if !filepath.IsAbs(file) {
			return fmt.Errorf("%w: the file %q has no absolute path", client.ErrInvalid, file)
		}
	}
	if len(req.Key) > maxWords || len(req.Source) > maxWords {
		return fmt.Errorf("%w: a key and a source have at most %d bytes", client.ErrInvalid, maxWords)
	}
	if err := checkTime("ttl_ns", req.TTL); err != nil {
		return err
	}
	return checkText(req.Text)
}

// checkText returns client.ErrInvalid if the text of a prompt is too long or not UTF-8.
func checkText(text string) error {
	switch {
	case len(text) > maxText:
		return fmt.Errorf("%w: the prompt has %d bytes, the limit is %d; put the text into a file and send that", client.ErrInvalid, len(text), maxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: the prompt is not valid UTF-8", client.ErrInvalid)
	}
	return nil
}

// checkTime returns client.ErrInvalid if a duration is negative or longer than maxTime.
func checkTime(field string, d time.Duration) error {
	if d < 0 || d > maxTime {
		return fmt.Errorf("%w: %s is %v, want 0 to %v", client.ErrInvalid, field, d, maxTime)
	}
	return nil
}

// List selects the entries of a listing. It is exported for the same reason as [Named].
type List struct {
	Target string       `query:"target" maxLength:"1024" doc:"only entries of the agent or session of this name"`
	Which  client.Which `query:"which" enum:"ended" doc:"include entries that ended recently"`
}

// queued returns the queued and injected prompts.
func queued(ctx context.Context, city City, in *List) (*reply[[]client.Receipt], error) {
	return rows(city.Queue(ctx, in.Target, in.Which))
}

// Identified names a receipt, a pending question or a wait by its ID.
type Identified struct {
	ID string `path:"id" minLength:"1" maxLength:"256" doc:"the ID of the receipt, question or wait"`
}

// receiptInput names a receipt and the state to wait for.
type receiptInput struct {
	Identified
	Wait string `query:"wait" enum:"submitted,consumed" doc:"answer when the receipt has this state or has ended"`
}

// receipt returns a receipt; with in.Wait, when it has that state or has ended.
func receipt(parent context.Context, s *Server, in *receiptInput) (*reply[client.Receipt], error) {
	if in.Wait != "" {
		return answer(s.city.Receipt(parent, in.ID, in.Wait))
	}
	ctx, cancel := context.WithTimeout(parent, quick)
	defer cancel()
	return answer(s.city.Receipt(ctx, in.ID, ""))
}

// editInput is a change of a queued prompt.
type editInput struct {
	Identified
	Body client.EditRequest
}

// editPrompt changes a queued prompt.
func editPrompt(ctx context.Context, city City, in *editInput) (*reply[client.Receipt], error) {
	if in.Body == (client.EditRequest{}) {
		return nil, fmt.Errorf("%w: the request changes nothing", client.ErrInvalid)
	}
	if text := in.Body.Text; text != nil {
		if *text == "" {
			return nil, fmt.Errorf("%w: the prompt is empty; to cancel it: gc queue cancel %s", client.ErrInvalid, in.ID)
		}
		if err := checkText(*text); err != nil {
			return nil, err
		}
	}
	if ttl := in.Body.TTL; ttl != nil {
		if *ttl == 0 {
			return nil, fmt.Errorf("%w: ttl_ns is 0; to cancel the prompt: gc queue cancel %s", client.ErrInvalid, in.ID)
		}
		if err := checkTime("ttl_ns", *ttl); err != nil {
			return nil, err
		}
	}
	return answer(city.EditPrompt(ctx, in.ID, in.Body))
}

// cancelPrompt cancels a prompt that the agent has not accepted.
func cancelPrompt(ctx context.Context, city City, in *Identified) (*reply[client.Receipt], error) {
	return answer(city.CancelPrompt(ctx, in.ID))
}

// retryInput names the receipt whose prompt is sent again. Its body may be missing.
type retryInput struct {
	Identified
	Body *client.RetryRequest
}

// retryPrompt sends the prompt of an ended receipt again.
func retryPrompt(ctx context.Context, city City, in *retryInput) (*reply[client.Receipt], error) {
	var req client.RetryRequest
	if in.Body != nil {
		req = *in.Body
	}
	if len(req.Key) > maxWords || len(req.Source) > maxWords {
		return nil, fmt.Errorf("%w: a key and a source have at most %d bytes", client.ErrInvalid, maxWords)
	}
	return answer(city.RetryPrompt(ctx, in.ID, req))
}
