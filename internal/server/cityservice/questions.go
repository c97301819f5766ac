package cityservice

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"gascity/client"
	"gascity/internal/controller"
	"gascity/internal/domain/session"
	"gascity/internal/service/questions"
	"gascity/runtime"
)

// inputBlocked adds to an agent what blocks its input box.
func (e *Engines) inputBlocked(a *client.Agent) {
	if why, since := e.Prompts.InputBlocked(a.Session, a.Instance); why != "" {
		a.InputBlocked, a.InputBlockedSince = why, since
	}
}

// QuestionCity is the controller as the questions see it: an input box that is blocked, and a
// login that is needed, are questions too, where the agent itself asks none.
type QuestionCity struct {
	*controller.Controller
	Engines *Engines
}

var _ questions.City = QuestionCity{}

// Snapshot implements questions.City.
func (c QuestionCity) Snapshot(name string) (session.Snapshot, error) {
	v, err := c.Controller.Snapshot(name)
	return c.withLogin(c.Engines.withInputBlocked(v)), err
}

// Snapshots implements questions.City.
func (c QuestionCity) Snapshots() []session.Snapshot {
	views := c.Controller.Snapshots()
	for i := range views {
		views[i] = c.withLogin(c.Engines.withInputBlocked(views[i]))
	}
	return views
}

// withInputBlocked returns the view with the question that a blocked input box is. What is known
// of the box is a reading too: it says when that question is there, and when it is over.
func (e *Engines) withInputBlocked(v session.Snapshot) session.Snapshot {
	if v.Instance == "" {
		return v
	}
	why, changed := e.Prompts.InputBlocked(v.Session, v.Instance)
	if changed.After(v.ReadAt) {
		v.ReadAt = changed
	}
	if why != "" && v.CityQuestion == nil {
		asked := v
		v.AnswerCityQuestion = func(ctx context.Context, _ runtime.InteractionResponse) error { return e.clearInput(ctx, asked) }
		v.CityQuestion = &runtime.PendingInteraction{
			RequestID: client.PendingInputBlocked + "/" + v.Instance, Kind: client.PendingInputBlocked,
			Prompt:  "The input box of " + v.Agent + " is blocked: " + why + ". No prompt is typed until it is empty.",
			Options: []string{"clear the input box"},
			Metadata: map[string]string{
				runtime.MetaSource: "delivery",
				runtime.MetaWhy:    "this removes all text from the box, also what a person typed; or clean it yourself with gc attach or gc keys, or: gc restart " + v.Agent,
			},
		}
	}
	return v
}

// withLogin returns the view with the question that a login is which is needed: prompts wait, and
// only a person can log in.
func (c QuestionCity) withLogin(v session.Snapshot) session.Snapshot {
	o := &v.Obstacle
	if v.Instance == "" || v.CityQuestion != nil || v.Pending != nil || o.Kind != runtime.ObstacleLogin || o.Released {
		return v
	}
	target := v.Session
	v.AnswerCityQuestion = func(ctx context.Context, _ runtime.InteractionResponse) error {
		_, err := c.Resume(ctx, target, client.LifecycleRequest{Reason: "a person has logged in"})
		c.Sense(target)
		return err
	}
	v.CityQuestion = &runtime.PendingInteraction{
		RequestID: runtime.ObstacleLogin + "/" + v.Instance + "/" + strconv.FormatInt(o.Since.Unix(), 10), Kind: runtime.WaitLogin,
		Prompt:  cmp.Or(o.Detail, v.Agent+" needs a login."), // the agent's own words, which may end in an address
		Options: []string{"try the next prompt now"},
		Metadata: map[string]string{
			runtime.MetaSource: string(o.Source),
			runtime.MetaWhy:    "prompts wait until it is logged in: gc attach " + v.Agent + "; without an answer one prompt is tried from time to time",
		},
	}
	return v
}

// clearInput is the answer to the question that a blocked input box is.
func (e *Engines) clearInput(ctx context.Context, v session.Snapshot) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearLimit)
	defer cancel()
	err := runtime.ClearInput(ctx, v.Provider, v.Session, v.Token)
	if err == nil {
		e.Prompts.InputCleared(v.Session)
	}
	return err
}

// clearLimit bounds how long emptying an input box may take.
const clearLimit = 30 * time.Second
