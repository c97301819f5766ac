package controlapi

import (
	"context"

	"gascity/client"
	"gascity/internal/server/httpkit"
)

// nudge accepts a prompt and then waits for its receipt. If the caller disconnects, accepting
// continues and waiting ends.
func nudge(ctx context.Context, city City, in *namedInput[client.NudgeRequest]) (client.Receipt, error) {
	if err := in.Body.Check(); err != nil {
		return client.Receipt{}, err
	}
	req := in.Body
	req.Wait = ""
	accepting, cancel := httpkit.Detached(ctx, slow)
	defer cancel()
	accepted, err := city.Nudge(accepting, in.Target, req)
	if err != nil || in.Body.Wait == "" || accepted.Reached(in.Body.Wait) {
		return accepted, err
	}
	return city.Receipt(ctx, accepted.ID, in.Body.Wait)
}

// List selects the entries of a listing. It is exported for the same reason as [Named].
type List struct {
	Target string       `query:"target" maxLength:"1024" doc:"only entries of the agent or session of this name"`
	Which  client.Which `query:"which" enum:"ended" doc:"include entries that ended recently"`
}

// list returns the binding of a route that lists entries by a method of [City].
func list[T any](method func(City, context.Context, string, client.Which) ([]T, error)) binding {
	return bind(func(ctx context.Context, city City, in *List) ([]T, error) {
		return method(city, ctx, in.Target, in.Which)
	})
}

// waitsInput selects the entries of the listing of waits.
type waitsInput struct {
	Which client.Which `query:"which" enum:"ended" doc:"include waits that ended recently"`
}

// waits returns the registered waits.
func waits(ctx context.Context, city City, in *waitsInput) ([]client.Wait, error) {
	return city.Waits(ctx, in.Which)
}

// receiptInput names a receipt and the state to wait for.
type receiptInput struct {
	Identified
	Wait string `query:"wait" enum:"submitted,consumed" doc:"answer when the receipt has this state or has ended"`
}

// receipt returns a receipt; with in.Wait, when it has that state or has ended.
func receipt(ctx context.Context, city City, in *receiptInput) (client.Receipt, error) {
	if in.Wait == "" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, quick)
		defer cancel()
	}
	return city.Receipt(ctx, in.ID, in.Wait)
}

// editPrompt changes a queued prompt.
func editPrompt(ctx context.Context, city City, in *identifiedInput[client.EditRequest]) (client.Receipt, error) {
	if err := in.Body.Check(in.ID); err != nil {
		return client.Receipt{}, err
	}
	return city.EditPrompt(ctx, in.ID, in.Body)
}

// movePrompt moves a queued prompt.
func movePrompt(ctx context.Context, city City, in *identifiedInput[client.MoveRequest]) (client.Receipt, error) {
	if err := in.Body.Check(in.ID); err != nil {
		return client.Receipt{}, err
	}
	return city.MovePrompt(ctx, in.ID, in.Body)
}

// retryPrompt sends the prompt of an ended receipt again. The body may be missing.
func retryPrompt(ctx context.Context, city City, in *identifiedInput[*client.RetryRequest]) (client.Receipt, error) {
	var req client.RetryRequest
	if in.Body != nil {
		req = *in.Body
	}
	if err := req.Check(); err != nil {
		return client.Receipt{}, err
	}
	return city.RetryPrompt(ctx, in.ID, req)
}
