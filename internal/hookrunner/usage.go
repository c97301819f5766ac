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
)

const (
	// maxPiece is how much of a transcript is read at a time, maxBatch how many
	// responses are reported at once.
	maxPiece = 16 << 20
	maxBatch = 500
	// readFile has how far each transcript was read, in the hooks' own folder, and
	// begunFile how far when this run began: what an earlier run has reported is not
	// reported again if the other file is lost.
	readFile  = "read.json"
	begunFile = "begun.json"
)

// reportUsage reports what the agent's model used, from its transcript. It is read by the
// hook and not by the city: the hook stands where the file is, also in a pod. What is
// reported twice counts once.
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

// reportUsageLater has the turn's usage reported by a process of its own. The end of the turn
// was reported, and what this misses is reported with the next one.
func (h *hook) reportUsageLater(ctx context.Context) error {
	if h.cli.Usage == "" || h.in.TranscriptPath == "" {
		return nil
	}
	if h.Later != nil && h.Later([]string{"--for", h.cli.Name, afterwards, h.event.Name}, h.raw) == nil {
		return nil
	}
	return h.reportAfterTurn(ctx)
}

// reportAfterTurn is what is left of a turn's end, once its transcript is written.
func (h *hook) reportAfterTurn(ctx context.Context) error {
	err := h.reportUsage(ctx)
	return errors.Join(err, h.ackContext(ctx))
}

const (
	// writtenWithin bounds the wait for the end of a turn to be in its transcript, and
	// writtenLater where no caller waits for this process: what comes later is reported
	// with the next turn.
	writtenWithin = time.Second
	writtenLater  = 5 * time.Second
	pollInterval  = 15 * time.Millisecond
)

// await waits until the transcript has the turn's last words: agent CLIs write it
// beside their work.
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
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		if text, err := tail(path, from); err == nil && h.cli.Usage.Has(text, words) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// tail returns what a file has behind from, at most a piece.
func tail(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, from, maxPiece))
}

// transcripts returns the conversation's and those of its sub-agents, which stand in a
// folder of its name.
func transcripts(path string) []string {
	beside, err := filepath.Glob(strings.TrimSuffix(path, filepath.Ext(path)) + "/subagents/*.jsonl")
	if err != nil {
		beside = nil // the path is no pattern, and there are none
	}
	return append([]string{path}, beside...)
}

// reportUsageIn reports what is new in one transcript after from, and returns the offset up
// to which it was reported.
func (h *hook) reportUsageIn(ctx context.Context, path string, from int64) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil // nothing was said yet
		}
		return from, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < from {
		from = 0 // it was written again
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

// skipPast leaves out what a conversation that is taken up again took before: it was
// reported at that time. What this session itself has read of it goes on.
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

func loadReadOffsets(dir string) map[string]int64 {
	for _, name := range []string{readFile, begunFile} {
		var read map[string]int64
		text, err := os.ReadFile(filepath.Join(dir, name))
		if dir != "" && err == nil && json.Unmarshal(text, &read) == nil && read != nil {
			return read
		}
	}
	return map[string]int64{} // all of it is reported again
}

// saveStartOffsets records how far the transcripts were read when a run began.
func (h *hook) saveStartOffsets() error {
	dir := h.Getenv(VariableFolder)
	if dir == "" || h.cli.Usage == "" {
		return nil
	}
	return h.saveFile(begunFile, loadReadOffsets(dir))
}

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
