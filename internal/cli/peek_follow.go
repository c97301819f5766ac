package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/retry"
	"gascity/internal/terminal/vt"
	"gascity/internal/textfmt"
)

const (
	screenGap   = 40 * time.Millisecond // between two pages of gc peek --follow
	screenPause = time.Second           // before a screen that could not be read is read again
)

// followedScreen is a screen as JSON.
type followedScreen struct {
	Agent string `json:"agent"`
	State string `json:"state"` // the session's lifecycle
	client.Output
}

// screenFollower follows the screens of agents. Its panes stay when the connection to the controller is lost.
type screenFollower struct {
	app    *app
	client *client.Client
	of     cmdenv.Selection
	lines  int

	update  func([]render.Pane)
	mu      sync.Mutex
	order   []string                  // sessions
	screens map[string]*followedAgent // by session
	printed map[string]followedScreen // the last document of each session; only for print
}

// followedAgent is an agent whose screen is followed.
type followedAgent struct {
	pane   render.Pane
	source string             // what the screen is read from; see sourceOf
	cancel context.CancelFunc // ends the reader; nil: there is none
}

// followScreens shows the screens of agents until ctx ends. Of each it shows at most the given number of last lines; zero means all.
func (a *app) followScreens(ctx context.Context, c *client.Client, of cmdenv.Selection, lines int) error {
	f := &screenFollower{app: a, client: c, of: of, lines: lines, screens: map[string]*followedAgent{}, printed: map[string]followedScreen{}}
	return cmdenv.Live[[]render.Pane]{
		Follow: f.follow, Gap: screenGap, Print: f.print,
		Page: func(s render.Formatter, panes []render.Pane) string { return s.Panes(panes) },
	}.Run(ctx, &a.Base)
}

// follow follows the status, and the screen of each selected agent, until the connection is lost.
func (f *screenFollower) follow(parent context.Context, update func([]render.Pane)) error {
	ctx, cancel := context.WithCancel(parent)
	var readers sync.WaitGroup
	f.update = update
	defer func() {
		cancel()
		readers.Wait()
		for _, s := range f.screens {
			s.source, s.cancel = "", nil
		}
	}()
	for status, err := range f.client.WatchStatus(ctx) {
		if err != nil {
			return err
		}
		agents, err := f.of.Of(ctx, f.client, status)
		if err != nil && len(f.order) == 0 {
			return err
		}
		if err == nil { // otherwise an agent was removed; its pane stays
			f.setAgents(ctx, agents, &readers)
		}
	}
	return nil
}

// setAgents sets the agents that are shown, and starts and ends readers of screens.
func (f *screenFollower) setAgents(ctx context.Context, agents []client.Agent, readers *sync.WaitGroup) {
	f.change(func() {
		f.order = f.order[:0]
		for _, agent := range agents {
			f.order = append(f.order, agent.Session)
			s := f.screens[agent.Session]
			if s == nil {
				s = &followedAgent{}
				f.screens[agent.Session] = s
			}
			s.pane.Agent = agent
			source := sourceOf(agent)
			if source == s.source {
				continue
			}
			if s.cancel != nil {
				s.cancel()
			}
			reading, cancel := context.WithCancel(ctx)
			s.source, s.cancel = source, cancel
			read := f.readLast
			if hasScreen(agent) {
				read = f.readLive
			}
			readers.Go(func() { read(reading, s, agent) })
		}
		for session, s := range f.screens { // an agent that was removed
			if !slices.Contains(f.order, session) {
				if s.cancel != nil {
					s.cancel()
				}
				delete(f.screens, session)
			}
		}
	})
}

// sourceOf returns what an agent's screen is read from: the terminal of an instance, or the record of one that has ended.
func sourceOf(agent client.Agent) string {
	if hasScreen(agent) {
		return fmt.Sprint("terminal ", agent.Epoch)
	}
	return fmt.Sprint("record ", agent.Epoch, agent.State)
}

// hasScreen reports whether an agent's session may have a terminal now.
func hasScreen(agent client.Agent) bool {
	return slices.Contains([]string{client.StateRunning, client.StateStarting, client.StateDraining, client.StateStopping, client.StateUnknown}, agent.State)
}

// readLive reads the screen of a terminal until the agent has exited or ctx ends.
func (f *screenFollower) readLive(ctx context.Context, s *followedAgent, agent client.Agent) {
	for {
		var screen *vt.Screen
		ended := true
		for frame, err := range f.client.WatchScreen(ctx, agent.Session) {
			if err != nil {
				f.setProblem(ctx, s, err)
				ended = false
				break
			}
			if frame.Cols > 0 {
				screen = vt.New(frame.Cols, frame.Rows, &vt.Options{Scrollback: -1})
			}
			if screen == nil {
				continue // of a stream that does not begin with a whole screen
			}
			_, _ = screen.Write([]byte(frame.Output)) // a screen accepts everything
			rows := screen.Rows()
			f.changeUnlessDone(ctx, func() { s.pane.Rows, s.pane.EndedAt, s.pane.Problem = rows, time.Time{}, "" })
		}
		if ctx.Err() != nil || ended || !retry.Sleep(ctx, screenPause) {
			return
		}
	}
}

// readLast reads the last screen of an agent that does not run.
func (f *screenFollower) readLast(ctx context.Context, s *followedAgent, agent client.Agent) {
	out, err := f.client.Peek(ctx, agent.Session, 0)
	if err != nil {
		f.setProblem(ctx, s, err)
		return
	}
	f.changeUnlessDone(ctx, func() {
		s.pane.Rows, s.pane.EndedAt, s.pane.Problem = strings.Split(out.Text, "\n"), out.EndedAt, ""
	})
}

// setProblem shows why there is no screen.
func (f *screenFollower) setProblem(ctx context.Context, s *followedAgent, err error) {
	words := err.Error()
	if errors.Is(err, client.ErrRefused) {
		words = strings.TrimPrefix(words, client.ErrRefused.Error()+": ")
	}
	f.changeUnlessDone(ctx, func() { s.pane.Problem = words })
}

// changeUnlessDone changes a pane if its reader was not ended meanwhile.
func (f *screenFollower) changeUnlessDone(ctx context.Context, change func()) {
	f.change(func() {
		if ctx.Err() == nil {
			change()
		}
	})
}

// change calls do, which changes the panes, and then shows all panes. Changes of different goroutines do not mix.
func (f *screenFollower) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
	panes := make([]render.Pane, 0, len(f.order))
	for _, session := range f.order {
		pane := f.screens[session].pane
		if rows := render.TrimRows(pane.Rows); f.lines > 0 && len(rows) > f.lines {
			pane.Rows = rows[len(rows)-f.lines:]
		}
		panes = append(panes, pane)
	}
	f.update(panes)
}

// print prints the screens that have changed as documents: with --json each as a line, otherwise as gc peek prints them.
func (f *screenFollower) print(panes []render.Pane) error {
	for _, p := range panes {
		text := strings.Join(render.TrimRows(p.Rows), "\n")
		if text != "" {
			text += "\n"
		}
		doc := followedScreen{Agent: p.Agent.Name, State: p.Agent.State, Output: client.Output{Session: p.Agent.Session, Text: text, EndedAt: p.EndedAt}}
		before, known := f.printed[doc.Session]
		if known && doc == before || !known && text == "" && p.Problem == "" {
			continue // not read yet
		}
		f.printed[doc.Session] = doc
		switch {
		case f.app.JSON:
			if err := f.app.PrintJSONLine(doc); err != nil {
				return err
			}
			continue
		case known && doc.Text == before.Text:
			continue // only the state has changed
		}
		if !f.of.One() {
			fmt.Fprintln(f.app.Stdout, f.app.Paint(textfmt.Bold, p.Agent.Name))
		}
		if _, err := fmt.Fprintln(f.app.Stdout, textfmt.Block(text)); err != nil {
			return err
		}
	}
	return nil
}
