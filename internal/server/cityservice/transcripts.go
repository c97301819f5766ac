package cityservice

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/agentcli/transcript"
	"gascity/internal/cityconfig"
	"gascity/internal/citydir"
	"gascity/internal/domain/plan"
	"gascity/internal/domain/session"
)

const (
	// maxReaders is how many transcripts are held in memory.
	maxReaders = 8
	// readerAge is how long a transcript stays in memory after the last request.
	readerAge = 5 * time.Minute
)

// Transcripts finds and reads the transcripts of agents. It reads nothing by itself, and holds only what was read in the
// last minutes. It is safe for concurrent use.
type Transcripts struct {
	root    string
	environ cityconfig.Environ
	mask    func(text string) string

	mu      sync.Mutex
	readers map[string]*heldReader // by session
	timer   *time.Timer            // removes old readers; nil if there are none
}

// heldReader is the reader of one session's transcript.
type heldReader struct {
	mu   sync.Mutex
	path string
	used time.Time // guarded by Transcripts.mu
	*transcript.Reader
}

// NewTranscripts returns the transcripts of the city at root. environ is the base environment of its agents. mask removes
// secrets from a text.
func NewTranscripts(root string, environ []string, mask func(text string) string) *Transcripts {
	return &Transcripts{root: root, environ: environ, mask: mask, readers: map[string]*heldReader{}}
}

// transcriptPlace is where the transcript of a session is.
type transcriptPlace struct {
	path    string // empty: there is none
	format  agentcli.TranscriptFormat
	source  string // of client.Conversation
	prompt  func(text string) string
	missing string    // why there is no transcript, for people
	since   time.Time // if there is none: when the conversation began; zero means unknown
}

// find returns where the transcript of a session's conversation is, or why there is none.
func (t *Transcripts) find(v *session.Snapshot, s plan.Session) transcriptPlace {
	if s.Protocol {
		path := filepath.Join(t.root, citydir.StateFolder, citydir.LogFolder, v.Session+transcript.RecordSuffix)
		if _, err := os.Lstat(path); err != nil {
			return transcriptPlace{missing: "nothing is recorded of this agent yet: it had no turn, or an earlier gc started its session"}
		}
		return transcriptPlace{path: path, format: agentcli.TranscriptRecord, source: client.FromRecord}
	}
	known, ok := agentcli.LookupTranscript(s.Family)
	switch {
	case s.Agent == "":
		return transcriptPlace{missing: "the agent is not in the configuration any more"}
	case !ok:
		return transcriptPlace{missing: "gc knows no transcript of its program"}
	case v.Conversation.ID == "":
		return transcriptPlace{missing: "the agent has not reported its conversation yet"}
	}
	place := transcriptPlace{format: known.Format, source: client.FromTranscript}
	pattern, ok := known.Files(v.Conversation.ID, func(name string) string {
		if value, set := s.Config.Env[name]; set {
			return value
		}
		return t.environ.Get(name)
	})
	var found []string
	if ok {
		found, _ = filepath.Glob(pattern) // the pattern is valid
	}
	if place.path = newestFile(found); place.path == "" {
		place.since = v.Conversation.At
		place.missing = "there is no transcript of the conversation " + v.Conversation.ID + " on the controller's machine: it had no turn yet, or the agent runs on another machine"
	}
	if hooks, ok := agentcli.LookupHooks(s.Family); ok {
		place.prompt = func(text string) string { return hooks.PromptText(agentcli.HookInput{Prompt: text}) }
	}
	return place
}

// newestFile returns the file that was changed last; empty if there is none.
func newestFile(paths []string) string {
	var newest string
	var at time.Time
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && (newest == "" || info.ModTime().After(at)) {
			newest, at = path, info.ModTime()
		}
	}
	return newest
}

// read adds the entries of a transcript to a conversation.
func (t *Transcripts) read(ctx context.Context, name string, place transcriptPlace, c *client.Conversation) error {
	r := t.reader(name, place)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.Read(ctx); err != nil {
		return err
	}
	c.Entries = slices.Clone(r.Entries())
	c.Turns, c.Skipped = r.Turns(), r.Skipped()
	if r.Cut() {
		c.Note = "the conversation is longer than gc keeps in memory: its beginning is not shown"
	}
	return nil
}

// reader returns the reader of a session's transcript.
func (t *Transcripts) reader(name string, place transcriptPlace) *heldReader {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.readers[name]
	if r == nil || r.path != place.path {
		r = &heldReader{path: place.path, Reader: transcript.NewReader(place.path, place.format, transcript.Options{Mask: t.mask, Prompt: place.prompt})}
		t.readers[name] = r
	}
	r.used = time.Now()
	for len(t.readers) > maxReaders {
		t.removeOldestLocked()
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(readerAge, t.removeOld)
	}
	return r
}

// removeOldestLocked removes from memory the transcript that was used least recently. The caller holds mu.
func (t *Transcripts) removeOldestLocked() {
	oldest := ""
	for name, r := range t.readers {
		if oldest == "" || r.used.Before(t.readers[oldest].used) {
			oldest = name
		}
	}
	delete(t.readers, oldest)
}

// removeOld removes from memory the transcripts that were not used for [readerAge].
func (t *Transcripts) removeOld() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, r := range t.readers {
		if time.Since(r.used) >= readerAge {
			delete(t.readers, name)
		}
	}
	t.timer = nil
	if len(t.readers) > 0 {
		t.timer = time.AfterFunc(readerAge, t.removeOld)
	}
}

// Close removes everything from memory.
func (t *Transcripts) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer != nil {
		t.timer.Stop()
	}
	clear(t.readers)
}
