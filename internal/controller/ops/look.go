package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gascity/internal/domain/session"
	"gascity/internal/textfmt"
	"gascity/runtime"
)

// The notes that the controller keeps with a session, so that a later one knows
// whose it is and what it was started with, and those by which it and others
// exchange messages.
const (
	MetaCity      = "GC_CITY_PATH"
	MetaAgent     = "GC_AGENT"
	metaCore      = "GC_CONFIG_HASH"
	metaProvision = "GC_PROVISION_HASH"
	metaLaunch    = "GC_LAUNCH_HASH"
	metaLive      = "GC_LIVE_HASH"
	metaFields    = "GC_CONFIG_FIELDS"
	// metaEpoch counts the instances, also for a controller that has lost its
	// store; it is in the agent's environment too.
	metaEpoch = "GC_RUNTIME_EPOCH"
	// metaStarted names the instance whose start is complete.
	metaStarted = "GC_STARTED_INSTANCE"
	// MetaDrain asks an agent to wind down: by when, in Unix seconds.
	MetaDrain = "GC_DRAIN"
)

// screenLines is how much of a dead agent's screen is kept.
const screenLines = 40

// Finding is what a look found.
type Finding struct {
	Seen     runtime.Observation
	Err      error
	Metadata *Metadata // nil if they were not read
	Screen   string    // of a dead session
}

// Metadata are what a session says of itself.
type Metadata struct {
	City, Agent string
	Stored      session.Fingerprints
	Epoch       uint64 // zero: not known
	Started     string // public name of the last instance whose start was complete; empty: not known
}

// Observe looks at a session; of a dead one it takes the last screen too.
func Observe(ctx context.Context, p runtime.Provider, name string) Finding {
	var f Finding
	f.Seen, f.Err = runtime.Observe(ctx, p, name)
	if f.Err == nil && f.Seen.Session == runtime.Alive && f.Seen.Agent == runtime.Dead {
		if text, err := p.Peek(name, screenLines); err == nil {
			f.Screen = text
		}
	}
	return f
}

// ReadMetadata reads the notes of a session. A session that vanished meanwhile has
// none.
func ReadMetadata(p runtime.Provider, name string) (*Metadata, error) {
	n := &Metadata{}
	var fields, epoch string
	for key, into := range map[string]*string{
		MetaCity: &n.City, MetaAgent: &n.Agent, metaFields: &fields,
		metaEpoch: &epoch, metaStarted: &n.Started,
		metaCore: &n.Stored.Core, metaProvision: &n.Stored.Provision, metaLaunch: &n.Stored.Launch, metaLive: &n.Stored.Live,
	} {
		value, err := p.GetMeta(name, key)
		if runtime.IsSessionGone(err) {
			return &Metadata{}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read its notes: %w", err)
		}
		*into = value
	}
	if fields != "" && json.Unmarshal([]byte(fields), &n.Stored.Fields) != nil {
		n.Stored.Fields = nil // only hides which fields drifted
	}
	n.Epoch, _ = strconv.ParseUint(epoch, 10, 64) // a value that is not a number is ignored
	return n, nil
}

// ReadMeta returns one note, empty if it cannot be read.
func ReadMeta(p runtime.Provider, name, key string) string {
	value, err := p.GetMeta(name, key)
	if err != nil {
		return ""
	}
	return value
}

// Shown returns the notes of a session that are for people too.
func Shown(p runtime.Provider, name string) map[string]string {
	out := map[string]string{}
	for _, key := range []string{MetaCity, MetaAgent} {
		if value := ReadMeta(p, name, key); value != "" {
			out[key] = value
		}
	}
	return out
}

// Write records with the session what the notes say; what is not known stays. That the
// start is complete comes first: the sooner, the less can come between.
func (n Metadata) Write(p runtime.Provider, name string) error {
	fields, err := json.Marshal(n.Stored.Fields)
	if err != nil {
		return err
	}
	epoch := ""
	if n.Epoch != 0 {
		epoch = strconv.FormatUint(n.Epoch, 10)
	}
	for _, note := range [][2]string{
		{metaStarted, n.Started},
		{metaEpoch, epoch},
		{MetaAgent, n.Agent},
		{metaFields, string(fields)},
		{metaProvision, n.Stored.Provision},
		{metaLaunch, n.Stored.Launch},
		{metaLive, n.Stored.Live},
		{metaCore, n.Stored.Core},
		{MetaCity, n.City}, // last: who finds it finds the others
	} {
		if note[1] == "" && (note[0] == metaStarted || note[0] == metaEpoch) {
			continue
		}
		if err := p.SetMeta(name, note[0], note[1]); err != nil {
			return fmt.Errorf("cannot write the note %s: %w", note[0], err)
		}
	}
	return nil
}

// WriteDrain records with a session until when it is to wind down; empty: it is not.
func WriteDrain(p runtime.Provider, name, until string) error {
	if until == "" {
		return p.RemoveMeta(name, MetaDrain)
	}
	return p.SetMeta(name, MetaDrain, until)
}

// maxWords bounds the last words of an agent, in bytes.
const maxWords = 200

// LastOutput returns what a program that gives up says of it: the line of its screen that explains it.
func LastOutput(screen string) string {
	line := textfmt.ErrorLine(screen)
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "") + "…"
	}
	return line
}

// peekWithin returns what stands on a screen, empty if it cannot be had in time.
func peekWithin(p runtime.Provider, name string, limit time.Duration) string {
	screens := make(chan string, 1)
	go func() { // a driver that hangs keeps it; nothing else does
		text, err := p.Peek(name, screenLines)
		if err != nil {
			text = ""
		}
		screens <- text
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case text := <-screens:
		return text
	case <-timer.C:
		return ""
	}
}

// ActivityOf reads a program's own words: "status=WORD" with or without further
// fields, or the word alone. A word that is not known says nothing.
func ActivityOf(words string) runtime.Activity {
	first, _, _ := strings.Cut(words, ";")
	switch word := runtime.Activity(strings.TrimPrefix(first, "status=")); word {
	case runtime.ActivityReady, runtime.ActivityBusy, runtime.ActivityIdle, runtime.ActivityWaiting,
		runtime.ActivityLimited, runtime.ActivityBackground:
		return word
	case "working":
		return runtime.ActivityBusy
	case "blocked":
		return runtime.ActivityWaiting
	case "done":
		return runtime.ActivityIdle
	default:
		return runtime.ActivityUnknown
	}
}
