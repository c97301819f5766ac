package hookrunner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/internal/retry"
)

const (
	// maxPiece is the number of bytes of a transcript that are read at a time, maxBatch the number
	// of responses that are reported at a time.
	maxPiece = 16 << 20
	maxBatch = 500
	// readFile holds the offset up to which each transcript was read, in the hooks' own directory.
	// begunFile holds these offsets from the start of the run. If readFile is lost, begunFile
	// prevents a second report of an earlier run.
	readFile  = "read.json"
	begunFile = "begun.json"
)

// reportUsage reports the token usage of the agent's model from its transcript. The hook reads the
// transcript because it runs where the file is, also in a pod. The city counts a second report only
// once.
func (h *hook) reportUsage(ctx context.Context) error {
	if h.cli.Usage == "" || h.in.TranscriptPath == "" {
		return nil
	}
	dir := h.Getenv(VariableFolder)
	read := loadReadOffsets(dir)
	h.await(ctx, h.in.TranscriptPath, read[h.in.TranscriptPath])
	var failed []error
	for _, path := range transcripts(h.in.TranscriptPath) {
		to, err := h.reportUsageIn(ctx, path, read[path])
		failed = append(failed, err)
		read[path] = to
	}
	return errors.Join(append(failed, saveReadOffsets(dir, read))...)
}

// reportUsageLater reports the turn's usage from a separate process. The end of the turn is already
// reported. Usage that is missed here is reported after the next turn.
func (h *hook) reportUsageLater(ctx context.Context) error {
	if h.cli.Usage == "" || h.in.TranscriptPath == "" {
		return nil
	}
	if h.Later != nil && h.Later([]string{"--for", h.cli.Name, afterwards, h.event.Name}, h.raw) == nil {
		return nil
	}
	return h.reportAfterTurn(ctx)
}

// reportAfterTurn does the remaining work of a turn's end after its transcript is written: it
// reports usage and acknowledges context.
func (h *hook) reportAfterTurn(ctx context.Context) error {
	err := h.reportUsage(ctx)
	return errors.Join(err, h.ackContext(ctx))
}

const (
	// writtenWithin is the maximum wait for the end of a turn to appear in its transcript;
	// writtenLater is the same in a process for which no agent waits. What appears later is
	// reported after the next turn.
	writtenWithin = time.Second
	writtenLater  = 5 * time.Second
	pollInterval  = 15 * time.Millisecond
)

// await waits until the transcript contains the turn's last words, because agent CLIs write it
// asynchronously.
func (h *hook) await(ctx context.Context, path string, from int64) {
	words, err := json.Marshal(h.in.LastMessage)
	if err != nil || h.in.LastMessage == "" {
		return
	}
	words = words[1:min(len(words)-1, 100)]
	within := writtenWithin
	if h.reported {
		within = writtenLater
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		if text, err := tail(path, from); err == nil && h.cli.Usage.Has(text, words) {
			return
		}
		if !retry.Sleep(ctx, pollInterval) {
			return
		}
	}
}

// tail returns up to maxPiece bytes of a file after the offset from.
func tail(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, from, maxPiece))
}

// transcripts returns the transcript of the conversation and those of its sub-agents, which are in
// a directory with the same name.
func transcripts(path string) []string {
	beside, err := filepath.Glob(strings.TrimSuffix(path, filepath.Ext(path)) + "/subagents/*.jsonl")
	if err != nil {
		beside = nil // the path is not a valid pattern, so there are none
	}
	return append([]string{path}, beside...)
}

// reportUsageIn reports the usage in one transcript after the offset from, and returns the offset
// up to which it has reported.
func (h *hook) reportUsageIn(ctx context.Context, path string, from int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil // the conversation is still empty
		}
		return from, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < from {
		from = 0 // the file was rewritten
	}
	for {
		text := make([]byte, maxPiece)
		n, err := f.ReadAt(text, from)
		if err != nil && !errors.Is(err, io.EOF) {
			return from, err
		}
		events, used := h.cli.Usage.Usage(text[:n])
		for i := range events {
			events[i].Usage.Model = cmp.Or(events[i].Usage.Model, h.in.Model)
		}
		for len(events) > 0 {
			batch := events[:min(len(events), maxBatch)]
			if _, err := h.client.Telemetry(ctx, batch...); err != nil {
				return from, err
			}
			events = events[len(batch):]
		}
		if used == 0 {
			return from, nil
		}
		from += int64(used)
	}
}

// skipPast marks the usage of a resumed conversation as reported, because it was reported before. A
// transcript that this session has read before keeps its offset.
func (h *hook) skipPast() error {
	dir := h.Getenv(VariableFolder)
	read := loadReadOffsets(dir)
	for _, path := range transcripts(h.in.TranscriptPath) {
		if _, known := read[path]; known {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			read[path] = info.Size()
		}
	}
	return saveReadOffsets(dir, read)
}

// loadReadOffsets returns the offsets up to which each transcript was reported, by path.
func loadReadOffsets(dir string) map[string]int64 {
	for _, name := range []string{readFile, begunFile} {
		var read map[string]int64
		text, err := os.ReadFile(filepath.Join(dir, name))
		if dir != "" && err == nil && json.Unmarshal(text, &read) == nil && read != nil {
			return read
		}
	}
	return map[string]int64{} // everything is reported again
}

// saveStartOffsets saves the read offsets of the transcripts at the start of a run.
func (h *hook) saveStartOffsets() error {
	dir := h.Getenv(VariableFolder)
	if dir == "" || h.cli.Usage == "" {
		return nil
	}
	return h.saveFile(begunFile, loadReadOffsets(dir))
}

// saveReadOffsets saves the read offsets of the transcripts that still exist.
func saveReadOffsets(dir string, read map[string]int64) error {
	if dir == "" {
		return nil
	}
	maps.DeleteFunc(read, func(path string, _ int64) bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
	text, err := json.Marshal(read)
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, readFile), text)
}
