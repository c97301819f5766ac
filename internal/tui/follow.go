package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/retry"
	"gascity/internal/terminal/vt"
)

// City is the city that a dashboard shows and changes. *client.Client implements it.
type City interface {
	Reader
	Writer
	Queue
	// Present counts the person who sees the dashboard until ctx ends, as client.Client.Present.
	Present(ctx context.Context) error
}

// Reader follows a city.
type Reader interface {
	WatchStatus(ctx context.Context) iter.Seq2[client.Status, error]
	WatchScreen(ctx context.Context, agent string) iter.Seq2[client.Screen, error]
	FollowEvents(ctx context.Context, q client.EventQuery) iter.Seq2[client.Event, error]
	Pending(ctx context.Context, agent string, which client.Which) ([]client.Pending, error)
	Queue(ctx context.Context, agent string, which client.Which) ([]client.Receipt, error)
	Usage(ctx context.Context, req client.UsageRequest) (client.Usage, error)
}

// Queue reads and changes prompts that wait.
type Queue interface {
	PromptText(ctx context.Context, id string) (client.PromptText, error)
	EditPrompt(ctx context.Context, id string, req client.EditRequest) (client.Receipt, error)
	MovePrompt(ctx context.Context, id string, req client.MoveRequest) (client.Receipt, error)
	CancelPrompt(ctx context.Context, id string) (client.Receipt, error)
}

// Writer changes a city.
type Writer interface {
	Respond(ctx context.Context, id string, req client.RespondRequest) (client.Pending, error)
	Nudge(ctx context.Context, agent string, req client.NudgeRequest) (client.Receipt, error)
	Receipt(ctx context.Context, id, wait string) (client.Receipt, error)
	Interrupt(ctx context.Context, agent string, req client.LifecycleRequest) (client.Done, error)
	Suspend(ctx context.Context, agent string, req client.LifecycleRequest) (client.Done, error)
	RestartInstance(ctx context.Context, agent, instance string) (client.Done, error)
}

const (
	// retryFirst and retryMax bound the pauses between tries to reach a controller.
	retryFirst, retryMax = 50 * time.Millisecond, 500 * time.Millisecond
	// costGap is the shortest time between two readings of the costs.
	costGap = 5 * time.Second
	// queueGap is the shortest time between two readings of the queue.
	queueGap = 100 * time.Millisecond
	// settleTime is how long an agent must be selected before its screen is requested if another one was selected just before, so
	// that a person who runs through the list opens no screens on the way.
	settleTime = 40 * time.Millisecond
)

// errEnded reports that a stream ended without an error.
var errEnded = errors.New("the controller ended the connection")

// followStatus reads the state of the city until ctx ends, over any number of controllers.
func (r *runner) followStatus(ctx context.Context) {
	delay := retry.New(retryFirst, retryMax)
	for ctx.Err() == nil {
		up := false
		err := errEnded
		for status, failed := range r.opts.City.WatchStatus(ctx) {
			if failed != nil {
				err = failed
				break
			}
			r.inbox.put(StatusMsg{status})
			if !up {
				up = true
				delay.Reset()
				r.inbox.put(LinkMsg{})
				r.load(ctx)
			}
		}
		if ctx.Err() != nil {
			return
		}
		r.inbox.put(LinkMsg{Err: err})
		if !delay.Wait(ctx) {
			return
		}
	}
}

// load reads what the status does not contain.
func (r *runner) load(ctx context.Context) {
	LoadQuestions{}.carryOut(ctx, r)
	if prompts, err := r.opts.City.Queue(ctx, "", client.WithEnded); err == nil {
		r.inbox.put(PromptsMsg{prompts})
	}
	r.askCosts()
}

// carryOut reads the open questions.
func (LoadQuestions) carryOut(ctx context.Context, r *runner) {
	if questions, err := r.opts.City.Pending(ctx, "", client.OnlyOpen); err == nil { // without a controller all is loaded later
		r.inbox.put(QuestionsMsg{questions})
	}
}

// carryOut reads a receipt. If that fails, the next event has its state.
func (e LoadPrompt) carryOut(ctx context.Context, r *runner) {
	if receipt, err := r.opts.City.Receipt(ctx, e.ID, ""); err == nil {
		r.inbox.put(PromptsMsg{[]client.Receipt{receipt}})
	}
}

// carryOut finds the words that can complete a command line.
func (e Complete) carryOut(ctx context.Context, r *runner) {
	r.inbox.put(CompletionMsg{e.Line, r.opts.Complete(ctx, e.Args)})
}

// followEvents reads the events of the city until ctx ends.
func (r *runner) followEvents(ctx context.Context) {
	q := client.EventQuery{Since: r.opts.Now()}
	for ctx.Err() == nil {
		for e, err := range r.opts.City.FollowEvents(ctx, q) {
			gap := &client.GapError{}
			switch {
			case errors.As(err, &gap):
				r.load(ctx)
			case err == nil:
				q.After = e.ID
				if strings.HasPrefix(e.Kind, "pending.") || strings.HasPrefix(e.Kind, "prompt.") { // the model uses no others
					r.inbox.put(EventMsg{e})
				}
				if e.Kind == "worker.telemetry" {
					r.askCosts()
				}
			}
		}
		if !retry.Sleep(ctx, retryMax) {
			return
		}
	}
}

// askCosts makes followCosts read the costs.
func (r *runner) askCosts() { wake(r.costly) }

// wake sends a token to a channel that holds one.
func wake(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

// onToken calls load for each token, with a pause after each call, until ctx ends.
func onToken(ctx context.Context, token <-chan struct{}, pause time.Duration, load func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-token:
		}
		load(ctx)
		if !retry.Sleep(ctx, pause) {
			return
		}
	}
}

// followCosts reads what each agent has spent, after it was asked to.
func (r *runner) followCosts(ctx context.Context) {
	onToken(ctx, r.costly, costGap, func(ctx context.Context) {
		usage, err := r.opts.City.Usage(ctx, client.UsageRequest{By: "agent"})
		if err != nil {
			return
		}
		costs := map[string]float64{}
		for _, g := range usage.Groups {
			if g.CostUSD != nil {
				costs[g.Group] = *g.CostUSD
			}
		}
		r.inbox.put(CostsMsg{costs})
	})
}

// followQueue reads the prompts that are not delivered yet, after it was asked to.
func (r *runner) followQueue(ctx context.Context) { onToken(ctx, r.queued, queueGap, r.loadQueue) }

func (r *runner) loadQueue(ctx context.Context) {
	prompts, err := r.opts.City.Queue(ctx, "", client.OnlyOpen)
	r.inbox.put(QueueMsg{prompts, err})
}

// watch starts and ends the goroutines that follow screens, so that exactly the visible screens are followed. A screen is
// followed again when its agent runs a new instance or the controller is back.
func (r *runner) watch(ctx context.Context) {
	wanted := map[string]string{}
	for _, name := range r.model.Watched() {
		if a := r.model.agent(name); a != nil && r.model.link.away.IsZero() {
			wanted[name] = fmt.Sprint(a.Instance, " ", a.State, " ", max(r.connections, 1)) // the first connection is no reason to follow it again
		}
	}
	for name, w := range r.watches {
		if wanted[name] != w.key {
			w.cancel()
			delete(r.watches, name)
		}
	}
	now := r.opts.Now()
	settled := now.Sub(r.watched) >= settleTime
	for name, key := range wanted {
		if _, ok := r.watches[name]; ok {
			continue
		}
		follow, cancel := context.WithCancel(ctx)
		r.watches[name], r.watched = watch{key, cancel}, now
		r.work.Go(func() {
			defer cancel()
			r.followScreen(follow, name, settled)
		})
	}
}

// watch is a screen that is followed.
type watch struct {
	key    string // what identifies the stream
	cancel context.CancelFunc
}

// followScreen reads the screen of an agent until ctx ends or the agent exits. If it is not settled that the agent remains selected, it
// waits first.
func (r *runner) followScreen(ctx context.Context, name string, settled bool) {
	delay := retry.New(settleTime, 20*settleTime)
	for ; settled || delay.Wait(ctx); settled = false {
		var screen *vt.Screen
		err := error(nil)
		for part, failed := range r.opts.City.WatchScreen(ctx, name) {
			if failed != nil {
				err = failed
				break
			}
			if part.Cols > 0 {
				screen = vt.New(part.Cols, part.Rows, &vt.Options{Scrollback: -1})
			}
			if screen == nil {
				continue
			}
			screen.Write([]byte(part.Output))
			cols, rows := screen.Size()
			r.inbox.put(ScreenMsg{Agent: name, Screen: &Screen{Cols: cols, Rows: rows, Row: screen.Cells(), Cursor: screen.Cursor(), Plain: part.Plain}})
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil || errors.Is(err, client.ErrRefused) || errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrUnsupported) {
			r.inbox.put(ScreenMsg{Agent: name, Err: err})
			return // the next instance is followed by another goroutine
		}
	}
}
