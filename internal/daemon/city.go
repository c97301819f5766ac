package daemon

import (
	"context"
	"fmt"

	"gascity/client"
	"gascity/internal/api"
	"gascity/internal/controller"
)

// city is what the control API serves: the controller and those who deal with
// its sessions beside it.
type city struct {
	*controller.Controller
	api.Prompts
	api.Questions
	api.Conditions
}

var _ api.City = city{}

// unbuilt answers for what is not wired yet.
type unbuilt struct{}

var errMissing = fmt.Errorf("%w: not built yet", client.ErrUnsupported)

func (unbuilt) Nudge(context.Context, string, client.NudgeRequest) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (unbuilt) Queue(context.Context, string, client.Which) ([]client.Receipt, error) { return nil, errMissing }

func (unbuilt) Receipt(context.Context, string, string) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (unbuilt) EditPrompt(context.Context, string, client.EditRequest) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (unbuilt) CancelPrompt(context.Context, string) (client.Receipt, error) {
	return client.Receipt{}, errMissing
}

func (unbuilt) Pending(context.Context, string, client.Which) ([]client.Pending, error) {
	return nil, errMissing
}

func (unbuilt) Respond(context.Context, string, client.RespondRequest) (client.Pending, error) {
	return client.Pending{}, errMissing
}

func (unbuilt) Await(context.Context, client.WaitRequest) (client.Wait, error) {
	return client.Wait{}, errMissing
}

func (unbuilt) AddWait(context.Context, client.WaitRequest) (client.Wait, error) {
	return client.Wait{}, errMissing
}
func (unbuilt) Waits(context.Context, client.Which) ([]client.Wait, error) { return nil, errMissing }
func (unbuilt) CancelWait(context.Context, string) (client.Wait, error) {
	return client.Wait{}, errMissing
}
