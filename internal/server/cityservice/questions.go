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

// addInputBlocked sets why the input box of an agent is blocked, and since when.
func (e *Engines) addInputBlocked(a *client.Agent) {
	if why, since := e.Prompts.InputBlocked(a.Session, a.Instance); why != "" {
		a.InputBlocked, a.InputBlockedSince = why, since
	}
}

// QuestionCity is the controller for the questions service. If the agent asks nothing, a blocked
// input box and a required login are questions of the city.
type QuestionCity struct {
	*controller.Controller
	Engines *Engines
}

var _ questions.City = QuestionCity{}

// Snapshot returns the controller's snapshot of a session, with the questions that gc itself asks a
// person. It implements questions.City.
func (c QuestionCity) Snapshot(name string) (session.Snapshot, error) {
	v, err := c.Controller.Snapshot(name)
	return c.withLogin(c.Engines.withInputBlocked(v)), err
}

// Snapshots returns the snapshots of all sessions, each as Snapshot returns it. It implements
// questions.City.
func (c QuestionCity) Snapshots() []session.Snapshot {
	views := c.Controller.Snapshots()
	for i := range views {
		views[i] = c.withLogin(c.Engines.withInputBlocked(views[i]))
	}
	return views
}

// withInputBlocked returns the snapshot v with a question of gc to a person if the agent's input
// box is blocked. It sets ReadAt to the time when the input box became blocked or free, if that is
// later.
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
				runtime.MetaText:   "no",
				runtime.MetaWhy:    "this removes all text from the box, also what a person typed; or clean it yourself with gc attach or gc keys, or: gc restart " + v.Agent,
			},
		}
	}
	return v
}

// withLogin returns the snapshot v with a question of gc to a person if the agent needs a login,
// because prompts wait until a person has logged in.
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
		Prompt:  cmp.Or(o.Detail, v.Agent+" needs a login."), // the agent's own text, which may contain a URL
		Options: []string{"try the next prompt now"},
		Metadata: map[string]string{
			runtime.MetaSource: string(o.Source),
			runtime.MetaWhy:    "prompts wait until it is logged in: gc attach " + v.Agent + "; without an answer one prompt is tried from time to time",
		},
	}
	return v
}

// clearInput empties the blocked input box of an agent: a person has chosen this answer to the question whether to empty it.
func (e *Engines) clearInput(ctx context.Context, v session.Snapshot) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), clearLimit)
	defer cancel()
	err := runtime.ClearInput(ctx, v.Provider, v.Session, v.Token)
	if err == nil {
		e.Prompts.InputCleared(ctx, v.Session)
	}
	return err
}

// clearLimit is the time limit for emptying an input box.
const clearLimit = 30 * time.Second
