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

// The metadata keys that the controller writes to a session. With them a later controller knows
// whose session it is and with which configuration it was started. Some keys exchange messages with
// the agent.
const (
	MetaCity      = "GC_CITY_PATH"
	MetaAgent     = "GC_AGENT"
	metaCore      = "GC_CONFIG_HASH"
	metaProvision = "GC_PROVISION_HASH"
	metaLaunch    = "GC_LAUNCH_HASH"
	metaLive      = "GC_LIVE_HASH"
	metaFields    = "GC_CONFIG_FIELDS"
	// metaEpoch is the number of the instance, for a controller that has lost its store. It is in
	// the agent's environment too.
	metaEpoch = "GC_RUNTIME_EPOCH"
	// metaStarted names the instance whose start is complete.
	metaStarted = "GC_STARTED_INSTANCE"
	// MetaDrain asks an agent to finish its work. The value is the deadline in Unix seconds.
	MetaDrain = "GC_DRAIN"
)

// screenLines is the number of lines of a dead agent's screen that are kept.
const screenLines = 40

// Finding is the result of an observation.
type Finding struct {
	Seen     runtime.Observation
	Err      error
	Metadata *Metadata // nil: not read
	Screen   string    // of a dead session
}

// Metadata is the metadata that the controller wrote to a session.
type Metadata struct {
	City, Agent string
	Stored      session.Fingerprints
	Epoch       uint64 // zero: not known
	Started     string // public name of the last instance whose start was complete; empty: not known
}

// Observe observes a session. If its agent has exited, it also reads the last screen.
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

// ReadMetadata returns the metadata of a session; empty metadata if the session no longer exists.
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
			return nil, fmt.Errorf("cannot read its metadata: %w", err)
		}
		*into = value
	}
	if fields != "" && json.Unmarshal([]byte(fields), &n.Stored.Fields) != nil {
		n.Stored.Fields = nil // then gc cannot name the fields that differ
	}
	n.Epoch, _ = strconv.ParseUint(epoch, 10, 64) // a value that is not a number is ignored
	return n, nil
}

// ReadMeta returns one metadata value; empty if it cannot be read.
func ReadMeta(p runtime.Provider, name, key string) string {
	value, err := p.GetMeta(name, key)
	if err != nil {
		return ""
	}
	return value
}

// Shown returns the values of the session's metadata that people see: the city and the agent.
func Shown(p runtime.Provider, name string) map[string]string {
	out := map[string]string{}
	for _, key := range []string{MetaCity, MetaAgent} {
		if value := ReadMeta(p, name, key); value != "" {
			out[key] = value
		}
	}
	return out
}

// Write writes the metadata to the session. An unknown number or name of the instance is not
// written. The name of the started instance is written first, so that a crash in between does not
// lose it; the city is written last, so that a session with a city has all other values too.
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
		{MetaCity, n.City}, // last: if it is there, the others are there too
	} {
		if note[1] == "" && (note[0] == metaStarted || note[0] == metaEpoch) {
			continue
		}
		if err := p.SetMeta(name, note[0], note[1]); err != nil {
			return fmt.Errorf("cannot write the metadata %s: %w", note[0], err)
		}
	}
	return nil
}

// WriteDrain writes the drain deadline to a session in Unix seconds; empty removes it.
func WriteDrain(p runtime.Provider, name, until string) error {
	if until == "" {
		return p.RemoveMeta(name, MetaDrain)
	}
	return p.SetMeta(name, MetaDrain, until)
}

// maxWords is the maximum length of an agent's last output line, in bytes.
const maxWords = 200

// LastOutput returns the line of a screen that most likely explains why the program exited,
// shortened to [maxWords] bytes.
func LastOutput(screen string) string {
	line := textfmt.ErrorLine(screen)
	if len(line) > maxWords {
		line = strings.ToValidUTF8(line[:maxWords], "") + "…"
	}
	return line
}

// peekWithin returns the screen of a session; empty if it cannot be read within limit.
func peekWithin(p runtime.Provider, name string, limit time.Duration) string {
	screens := make(chan string, 1)
	go func() { // only a driver that hangs keeps this goroutine running
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

// ActivityOf returns the activity in a program's status text: "status=WORD", optionally with
// further fields after a semicolon, or only the word. It returns unknown for any other word.
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
