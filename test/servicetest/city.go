// Package servicetest contains a city for tests of one service: its sessions are what the test sets,
// its store can be made to fail, and it records what the service requests.
package servicetest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/runtime"
	"gascity/test/storetest"
)

// Service is the service that is tested.
type Service interface {
	Run(ctx context.Context) error
	SessionChanged(session string)
}

// City is a scripted city for one service, inside of a bubble of synctest.
type City struct {
	T     testing.TB
	Store *storetest.Faulty
	Log   *storetest.Events
	Stop  func() // stops the service; it may be called twice

	Mu       sync.Mutex
	Views    map[string]session.Snapshot // by agent
	requests []string
	fail     error // of every request

	service Service
}

// New returns a city without sessions. No service runs.
func New(t testing.TB) *City {
	stores := storetest.Memory(time.Now)
	return &City{T: t, Store: storetest.NewFaulty(stores), Log: stores.Events.(*storetest.Events), Views: map[string]session.Snapshot{}}
}

// Start runs a service until it is idle. The end of the test stops it, if Stop was not called.
func (c *City) Start(s Service) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.T.Context())) // the service outlives the test function
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	c.service = s
	c.Stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.T.Errorf("Run returned %v", err)
		}
	})
	c.T.Cleanup(c.Stop)
	synctest.Wait()
}

// Add adds an agent that runs and is ready. edit may change its snapshot.
func (c *City) Add(name string, edit func(*session.Snapshot)) {
	v := session.Snapshot{
		Agent: name, Session: "s-" + name, Desired: "running", State: session.StateRunning, Running: true, Ready: true,
		Instance: name + "-1", Token: "token of " + name, ReadAt: time.Now(),
	}
	edit(&v)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Views[name] = v
}

// Snapshot returns the snapshot of an agent or session.
func (c *City) Snapshot(name string) (session.Snapshot, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	for _, v := range c.Views {
		if v.Session == name || v.Agent == name {
			return v, nil
		}
	}
	return session.Snapshot{}, fmt.Errorf("%w: no agent or session is called %q", client.ErrNotFound, name)
}

// Snapshots returns all snapshots, sorted by agent.
func (c *City) Snapshots() []session.Snapshot {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return slices.SortedFunc(maps.Values(c.Views), func(a, b session.Snapshot) int { return cmp.Compare(a.Agent, b.Agent) })
}

// Edit changes the snapshot of an agent or session, and does not notify the service. It returns the
// name of the session.
func (c *City) Edit(name string, change func(*session.Snapshot)) string {
	v, err := c.Snapshot(name)
	if err != nil {
		c.T.Fatal(err)
	}
	change(&v)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Views[v.Agent] = v
	return v.Session
}

// Change changes the snapshot of an agent, notifies the service and waits until it is idle.
func (c *City) Change(name string, change func(*session.Snapshot)) {
	name = c.Edit(name, change)
	if c.service != nil {
		c.service.SessionChanged(name)
		synctest.Wait()
	}
}

// Remove removes an agent, notifies the service and waits until it is idle.
func (c *City) Remove(name string) {
	c.Mu.Lock()
	v := c.Views[name]
	delete(c.Views, name)
	c.Mu.Unlock()
	c.service.SessionChanged(v.Session)
	synctest.Wait()
}

// SetActivity changes the activity of an agent, notifies the service and waits until it is idle.
func (c *City) SetActivity(name string, activity runtime.Activity) {
	c.Change(name, func(v *session.Snapshot) { v.Activity = session.Activity{State: activity, Since: time.Now()} })
}

// Kinds returns the kinds of the events so far.
func (c *City) Kinds() []string { return c.KindsOf(func(client.Event) bool { return true }) }

// KindsOf returns the kinds of the events for which match returns true, in order.
func (c *City) KindsOf(match func(client.Event) bool) []string {
	events, _, _ := c.Log.After(c.T.Context(), 0) // Events never fails
	var out []string
	for _, e := range events {
		if match(e) {
			out = append(out, e.Kind)
		}
	}
	return out
}

// Advance lets d of the test's simulated time (package synctest) pass, and waits until all
// goroutines are idle.
func Advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
