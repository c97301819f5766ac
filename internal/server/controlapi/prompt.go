package controlapi

import (
	"context"

	"gascity/client"
	"gascity/internal/server/httpkit"
)

// nudgeInput is a prompt for a target.
type nudgeInput struct {
	Named
	Body client.NudgeRequest
}

// nudge accepts a prompt and then waits for its receipt. If the caller disconnects, accepting
// continues and waiting ends.
func nudge(ctx context.Context, s *Server, in *nudgeInput) (*reply[client.Receipt], error) {
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	req := in.Body
	req.Wait = ""
	accepting, cancel := httpkit.Detached(ctx, slow)
	defer cancel()
	accepted, err := s.city.Nudge(accepting, in.Target, req)
	if err != nil || in.Body.Wait == "" || accepted.Reached(in.Body.Wait) {
		return answer(accepted, err)
	}
	return answer(s.city.Receipt(ctx, accepted.ID, in.Body.Wait))
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
	if err := in.Body.Check(in.ID); err != nil {
		return nil, err
	}
	return answer(city.EditPrompt(ctx, in.ID, in.Body))
}

// moveInput is a new place of a queued prompt.
type moveInput struct {
	Identified
	Body client.MoveRequest
}

// movePrompt moves a queued prompt.
func movePrompt(ctx context.Context, city City, in *moveInput) (*reply[client.Receipt], error) {
	if err := in.Body.Check(in.ID); err != nil {
		return nil, err
	}
	return answer(city.MovePrompt(ctx, in.ID, in.Body))
}

// promptText returns the whole text of a queued prompt.
func promptText(ctx context.Context, city City, in *Identified) (*reply[client.PromptText], error) {
	return answer(city.PromptText(ctx, in.ID))
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
	if err := req.Check(); err != nil {
		return nil, err
	}
	return answer(city.RetryPrompt(ctx, in.ID, req))
}
