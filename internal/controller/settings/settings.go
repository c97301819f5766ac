// Package settings has the controller's own parameters and what follows from them. It
// is pure.
package settings

import (
	"cmp"
	"time"

	"gascity/internal/domain/plan"
)

// Settings are the controller's own parameters. A zero value means the default
// that stands beside it.
type Settings struct {
	Patrol        time.Duration // between two looks at everything; 30 s
	Shutdown      time.Duration // between interrupt and stop when the city ends; 5 s
	MaxRestarts   int           // failures within RestartWindow before quarantine; no limit
	RestartWindow time.Duration // 1 h
	Starts        int           // at a time; 5
	Looks         int           // at a time; 8
	Disruptions   int           // sessions down for a changed configuration at a time; 3
	Quiet         time.Duration // silence before a changed configuration restarts an agent; 30 s
	DriftWait     time.Duration // how long that silence is waited for; for ever
	AskAfter      time.Duration // how long a stop waits for an agent of unknown activity before a person is asked; 10 min
}

// Defaulted returns the settings with the defaults in the place of zero values.
func (s Settings) Defaulted() Settings {
	s.Patrol = cmp.Or(s.Patrol, 30*time.Second)
	s.Shutdown = cmp.Or(s.Shutdown, 5*time.Second)
	s.RestartWindow = cmp.Or(s.RestartWindow, time.Hour)
	s.Starts = cmp.Or(s.Starts, 5)
	s.Looks = cmp.Or(s.Looks, 8)
	s.Disruptions = cmp.Or(s.Disruptions, 3)
	s.Quiet = cmp.Or(s.Quiet, 30*time.Second)
	return s
}

// Policy turns the settings into the rules of a diff.
func (s Settings) Policy() plan.Policy {
	return plan.Policy{
		MaxRestarts: s.MaxRestarts, RestartWindow: s.RestartWindow, Patrol: s.Patrol,
		Disruptions: s.Disruptions, Quiet: s.Quiet, DriftWait: s.DriftWait, AskAfter: s.AskAfter,
	}
}
