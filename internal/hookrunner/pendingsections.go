package hookrunner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"gascity/internal/agentcli"
	"gascity/worker"
)

// Files in the directory of the session's hooks, for an agent CLI that accepts context only with a
// prompt.
const (
	pendingFile   = "held.json"      // sections to send with the next prompt
	compactedFile = "compacted.json" // the last [compactions], as JSON
)

// compactions says up to which offset a transcript was searched for compactions, and which
// compaction was the last one found. In a compaction, the agent CLI replaces the conversation by a
// summary, and the context is lost.
type compactions struct {
	Path string `json:"path"`
	Read int64  `json:"read"`
	Last string `json:"last"`
}

// hasPendingSections reports whether sections of context wait for the next prompt.
func (h *hook) hasPendingSections() bool {
	_, err := os.Stat(filepath.Join(h.dir, pendingFile))
	return err == nil && h.cli.WithPrompt
}

// injectPending sends the agent the sections of context that wait for a prompt, together with the
// prompt of this event. If the transcript shows a compaction, it first fetches the context again:
// this agent CLI calls no hook for a compaction.
func (h *hook) injectPending(ctx context.Context) error {
	if !h.cli.WithPrompt || h.dir == "" {
		return nil
	}
	compacted, err := h.recordCompactions()
	if compacted {
		err = errors.Join(err, h.injectContext(ctx, agentcli.HookSourceCompact), h.compacted(ctx))
	}
	path := filepath.Join(h.dir, pendingFile)
	text, readErr := os.ReadFile(path)
	if readErr != nil {
		if !errors.Is(readErr, os.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		return err
	}
	var sections []worker.Section
	if removeErr := os.Remove(path); removeErr != nil { // otherwise it would be sent again
		return errors.Join(err, removeErr)
	}
	if json.Unmarshal(text, &sections) != nil || len(sections) == 0 {
		return err
	}
	return errors.Join(err, h.writeContext(sections))
}

// skipCompactions records the compactions that are already in the transcript at the start of a
// conversation, so that [hook.injectPending] does not act on them: the start itself gives the agent
// its context.
func (h *hook) skipCompactions() error {
	if !h.cli.WithPrompt || h.dir == "" {
		return nil
	}
	_, err := h.recordCompactions()
	return err
}

// recordCompactions searches the part of the transcript that earlier calls did not search. It saves
// up to which offset it searched, and the last compaction. found is true if that part has a new
// compaction.
func (h *hook) recordCompactions() (found bool, err error) {
	if h.in.TranscriptPath == "" {
		return false, nil
	}
	var seen compactions
	if text, err := os.ReadFile(filepath.Join(h.dir, compactedFile)); err != nil || json.Unmarshal(text, &seen) != nil || seen.Path != h.in.TranscriptPath {
		seen = compactions{Path: h.in.TranscriptPath, Last: seen.Last}
	}
	last, to, err := h.compactionIn(seen.Path, seen.Read)
	if err != nil {
		return false, err
	}
	found = last != "" && last != seen.Last
	if found {
		seen.Last = last
	}
	seen.Read = to
	return found, h.saveFile(compactedFile, seen)
}

// compactionIn searches a transcript from an offset on. It returns the last compaction, empty if
// there is none, and the offset up to which it searched.
func (h *hook) compactionIn(path string, from int64) (last string, to int64, err error) {
	to, err = parse(path, from, func(text []byte) (used int, err error) {
		id, used := h.cli.Usage.Compaction(text)
		last = cmp.Or(id, last)
		return used, nil
	})
	return last, to, err
}
