// Package fakecity is a city without agents: what the control API serves, held
// in memory. Tests of the API, the client and the commands run against it, so
// that they need neither a controller nor a terminal.
package fakecity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity/client"
)

// City is the fake. All methods may be called concurrently.
type City struct {
	// set before use
	Root    string
	Version string
	PID     int
	// Exit is called once, when the city was asked to end.
	Exit func()
	// Dies is called when an agent gets the prompt "die": the end of the
	// controller in the middle of a delivery.
	Dies func()
	// Ending is after how many looks at the status a city that is being stopped
	// ends; zero is a city that is not.
	Ending int

	log  Log
	once sync.Once

	mu        sync.Mutex
	agents    []client.Session        // guarded by mu
	fault     string                  // guarded by mu; of the configuration
	startedAt time.Time               // guarded by mu
	prompts   []string                // guarded by mu; "session: text"
	receipts  []*receipt              // guarded by mu
	pending   []client.Pending        // guarded by mu
	waits     []client.Wait           // guarded by mu
	drains    map[string]client.Drain // guarded by mu; by session
	awaited   chan struct{}           // guarded by mu; see Awaited
	degraded  string                  // guarded by mu
	usage     client.Usage            // guarded by mu
	budgets   []client.Budget         // guarded by mu
	looks     int                     // guarded by mu; at the status, while the city ends
}

// Add makes an agent in the given state.
func (c *City) Add(name, state string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.startedAt.IsZero() {
		c.startedAt, c.drains = time.Now(), map[string]client.Drain{}
	}
	c.agents = append(c.agents, client.Session{
		Agent: client.Agent{
			Name: name, Session: "gc-" + filepath.Base(c.Root) + "-" + strings.ReplaceAll(name, "/", "--"),
			Provider: "fake", Desired: client.StateRunning, State: state, Activity: client.Activity{State: "idle", Source: "fake", Since: time.Now(), Confidence: "certain"},
			PID: 4000 + len(c.agents), StartedAt: time.Now(), ActiveAt: time.Now(), ReadAt: time.Now(),
			Instance: fingerprint(name),
		},
		WorkDir: c.Root, Command: "fake " + name,
		Processes: []client.Process{{PID: 4000 + len(c.agents), PPID: 1, Command: "fake " + name, State: "S"}},
	})
}

func fingerprint(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
}

// Set changes an agent and reports it on the event stream.
func (c *City) Set(name string, change func(*client.Session)) {
	c.mu.Lock()
	i := c.indexLocked(name)
	if i < 0 {
		c.mu.Unlock()
		panic("fakecity: no agent " + name)
	}
	change(&c.agents[i])
	c.raiseLocked(&c.agents[i])
	agent := c.agents[i].Agent
	c.mu.Unlock()
	c.deliver()
	kind := "session." + agent.State
	if agent.State == client.StateRunning {
		kind = "session.started"
	}
	c.Emit(kind, agent, agent.Reason)
}

// Degrade makes the controller say why it holds back.
func (c *City) Degrade(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.degraded = why
}

// Break makes the configuration on disk faulty.
func (c *City) Break(fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fault = fault
}

// Emit puts an event on the stream.
func (c *City) Emit(kind string, agent client.Agent, text string) {
	c.log.Append(client.Event{Time: time.Now(), Kind: kind, Agent: agent.Name, Session: agent.Session, Text: text})
}

// Log returns the event stream.
func (c *City) Log() *Log { return &c.log }

// Prompts returns what was delivered, as "session: text".
func (c *City) Prompts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.prompts)
}

func (c *City) indexLocked(target string) int {
	return slices.IndexFunc(c.agents, func(s client.Session) bool { return s.Name == target || s.Session == target })
}

func (c *City) find(target string) (client.Session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.indexLocked(target); i >= 0 {
		return c.agents[i], nil
	}
	if i := slices.IndexFunc(c.agents, func(s client.Session) bool { return s.Name == target+"-1" }); i >= 0 {
		return client.Session{}, fmt.Errorf("%w: %q is a pool; name one of its members: %s", client.ErrNotFound, target, c.agents[i].Name)
	}
	return client.Session{}, fmt.Errorf("%w: no agent or session is called %q; gc status lists them", client.ErrNotFound, target)
}

// Status implements controlapi.City.
func (c *City) Status(context.Context) (client.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Ending > 0 {
		if c.looks++; c.looks == c.Ending {
			c.once.Do(c.Exit)
		}
	}
	status := client.Status{
		City: filepath.Base(c.Root), Root: c.Root, At: time.Now(),
		Controller: client.Controller{PID: c.PID, Version: c.Version, StartedAt: c.startedAt, Stopping: c.Ending > 0, Degraded: c.degraded},
		Plan:       client.PlanState{LoadedAt: c.startedAt, Error: c.fault},
		Agents:     []client.Agent{},
	}
	for _, s := range c.agents {
		status.Agents = append(status.Agents, s.Agent)
	}
	return status, nil
}

// Plan implements controlapi.City: what is not running is started.
func (c *City) Plan(context.Context) (client.Plan, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := client.Plan{Actions: []client.Action{}, At: time.Now()}
	for _, s := range c.agents {
		if s.State != s.Desired {
			plan.Actions = append(plan.Actions, client.Action{Verb: "start", Agent: s.Name, Session: s.Session, Reason: "it is " + s.State})
		}
	}
	return plan, nil
}

// Session implements controlapi.City.
func (c *City) Session(_ context.Context, target string) (client.Session, error) {
	return c.find(target)
}

// Config implements controlapi.City.
func (c *City) Config(context.Context) (client.Config, error) {
	return client.Config{
		Path:   filepath.Join(c.Root, client.CityFile),
		Values: []client.ConfigValue{{Key: "workspace.name", Value: `"` + filepath.Base(c.Root) + `"`, Origin: "city.toml:1"}},
	}, nil
}

// Providers implements controlapi.City.
func (c *City) Providers(context.Context) ([]client.Provider, error) {
	return []client.Provider{{Name: "fake", Summary: "sessions that do not exist", Default: true, Capabilities: []string{}, Extensions: []string{}}}, nil
}

// Peek implements controlapi.City: the agent's name and the last prompts.
func (c *City) Peek(_ context.Context, target string, lines int) (client.Output, error) {
	s, err := c.find(target)
	if err != nil {
		return client.Output{}, err
	}
	text := []string{"this is " + s.Name}
	for _, prompt := range c.Prompts() {
		if said, ok := strings.CutPrefix(prompt, s.Session+": "); ok {
			text = append(text, "> "+said)
		}
	}
	if lines > 0 && len(text) > lines {
		text = text[len(text)-lines:]
	}
	return client.Output{Session: s.Session, Text: strings.Join(text, "\n")}, nil
}

// Interrupt implements controlapi.City.
func (c *City) Interrupt(ctx context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	s, err := c.Session(ctx, target)
	if err == nil && req.InTurn && s.State == client.StateRunning && s.Activity.State == "idle" && s.Activity.Confidence == "certain" && (req.Instance == "" || req.Instance == s.Instance) {
		return client.Done{Session: s.Session, Detail: "idle: " + client.NoTurn}, nil
	}
	return c.done(target, req.Instance, "interrupted")
}

// Keys implements controlapi.City: key names are words.
func (c *City) Keys(_ context.Context, target string, req client.KeysRequest) (client.Done, error) {
	for _, key := range req.Keys {
		if strings.Contains(key, "?") {
			return client.Done{}, fmt.Errorf("%w: no key is called %q", client.ErrInvalid, key)
		}
	}
	return c.done(target, req.Instance, "sent "+strings.Join(req.Keys, " "))
}

// ClearInput implements controlapi.City.
func (c *City) ClearInput(_ context.Context, target string, req client.LifecycleRequest) (client.Done, error) {
	return c.done(target, req.Instance, "the input box is empty")
}

// Copy implements controlapi.City.
func (c *City) Copy(_ context.Context, target string, req client.CopyRequest) (client.Done, error) {
	if strings.HasPrefix(req.RelDst, "..") {
		return client.Done{}, fmt.Errorf("%w: %s is outside the working directory", client.ErrInvalid, req.RelDst)
	}
	return c.done(target, req.Instance, filepath.Base(req.Src)+" -> "+req.RelDst)
}

func (c *City) done(target, instance, detail string) (client.Done, error) {
	s, err := c.fenced(target, instance)
	if err != nil {
		return client.Done{}, err
	}
	if s.State != client.StateRunning {
		return client.Done{Session: s.Session, Detail: "the session is " + s.State}, nil
	}
	return client.Done{Session: s.Session, Changed: true, Detail: detail}, nil
}

// Logs implements controlapi.Recorder: a line with the agent's name, then the event
// stream's texts about it.
func (c *City) Logs(ctx context.Context, target string, q client.LogQuery, w io.Writer) error {
	s, err := c.find(target)
	if err != nil {
		return err
	}
	if q.Since.IsZero() {
		if _, err := fmt.Fprintf(w, "\x1b[1mthis is %s\x1b[0m\r\n", s.Name); err != nil {
			return err
		}
	}
	if !q.Follow {
		return nil
	}
	past, _, next := c.log.Read(ctx, 0)
	for _, e := range past {
		if e.Session == s.Session {
			if _, err := fmt.Fprintf(w, "%s\r\n", e.Kind); err != nil {
				return err
			}
		}
	}
	for e := range next {
		if e.Session == s.Session {
			if _, err := fmt.Fprintf(w, "%s\r\n", e.Kind); err != nil {
				return err
			}
		}
	}
	return nil
}
