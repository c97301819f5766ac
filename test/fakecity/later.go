package fakecity

import (
	"context"
	"fmt"

	"gascity/client"
)

// later answers for what is not wired yet.
type later struct{}

var errMissing = fmt.Errorf("%w: not built yet", client.ErrUnsupported)

func (later) Queue(context.Context, string, client.Which) ([]client.Receipt, error) { return nil, errMissing }

func (later) Receipt(context.Context, string, string) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (later) EditPrompt(context.Context, string, client.EditRequest) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (later) CancelPrompt(context.Context, string) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (later) Pending(context.Context, string, client.Which) ([]client.Pending, error) {
	return nil, errMissing
}

func (later) Respond(context.Context, string, client.RespondRequest) (client.Pending, error) {
	return client.Pending{}, errMissing
}

func (later) Await(context.Context, client.WaitRequest) (client.Wait, error) {
	return client.Wait{}, errMissing
}

func (later) AddWait(context.Context, client.WaitRequest) (client.Wait, error) {
	return client.Wait{}, errMissing
}
func (later) Waits(context.Context, client.Which) ([]client.Wait, error) { return nil, errMissing }
func (later) CancelWait(context.Context, string) (client.Wait, error) {
	return client.Wait{}, errMissing
}

func (later) Wake(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) Sleep(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) Suspend(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) Resume(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) Reset(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) Drain(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) DrainState(ctx context.Context, name string) (client.Drain, error) {
	return client.Drain{}, errMissing
}

func (later) DrainAck(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}

func (later) RequestRestart(ctx context.Context, name string, req client.LifecycleRequest) (client.Done, error) {
	return client.Done{}, errMissing
}
