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
	"slices"
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

// reportUsage reports to the city how many tokens the agent's model has used, from the transcripts
// of the conversation and its sub-agents. The hook does this, not the city, because it runs on the
// machine with the transcripts, for example in a pod. The city counts a response that is reported
// twice only once.
func (h *hook) reportUsage(ctx context.Context) error {
	if h.cli.Usage == "" || h.in.TranscriptPath == "" {
		return nil
	}
	read := h.loadReadOffsets()
	h.await(ctx, h.in.TranscriptPath, read[h.in.TranscriptPath])
	var failed []error
	for _, path := range transcripts(h.in.TranscriptPath) {
		to, err := h.reportUsageIn(ctx, path, read[path])
		failed = append(failed, err)
		read[path] = to
	}
	return errors.Join(append(failed, h.saveReadOffsets(read))...)
}

// reportUsageLater starts a separate process that reports the usage of the turn, so that the agent
// does not wait for it. If no process can be started, it reports the usage itself.
func (h *hook) reportUsageLater(ctx context.Context) error {
	if h.cli.Usage == "" || h.in.TranscriptPath == "" {
		return nil
	}
	if h.Later != nil && h.Later([]string{"--for", h.cli.Name, afterwards, h.event.Name}, h.raw) == nil {
		return nil
	}
	return h.reportAfterTurn(ctx)
}

// reportAfterTurn does the work after the end of a turn for which the agent need not wait: it
// reports the token usage and acknowledges the context.
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

// await waits until the transcript contains the last message of the turn, because agent CLIs write
// their transcript later than they call the hook. It gives up after writtenWithin or writtenLater.
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

// tail returns the bytes of a file from an offset on, at most maxPiece.
func tail(path string, from int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, from, maxPiece))
}

// transcripts returns the paths of the conversation's transcript and of those of its sub-agents,
// which are in a directory named after it.
func transcripts(path string) []string {
	beside, err := filepath.Glob(strings.TrimSuffix(path, filepath.Ext(path)) + "/subagents/*.jsonl")
	if err != nil {
		beside = nil // the path is not a valid pattern, so there are none
	}
	return append([]string{path}, beside...)
}

// reportUsageIn reports the token usage in one transcript from an offset on, and returns the offset
// up to which it has reported.
func (h *hook) reportUsageIn(ctx context.Context, path string, from int64) (int64, error) {
	return parse(path, from, func(text []byte) (used int, err error) {
		events, used := h.cli.Usage.Usage(text)
		for i := range events {
			events[i].Usage.Model = cmp.Or(events[i].Usage.Model, h.in.Model)
		}
		for batch := range slices.Chunk(events, maxBatch) {
			if _, err := h.client.Telemetry(ctx, batch...); err != nil {
				return 0, err
			}
		}
		return used, nil
	})
}

// parse calls do with the text of a transcript from an offset on, in pieces of at most maxPiece, until do has used nothing of a
// piece. do returns the number of bytes that it has used. parse returns the offset after them. If the transcript is shorter than
// the offset, it was rewritten and is parsed from its beginning. One that does not exist yet is empty.
func parse(path string, from int64, do func(text []byte) (used int, err error)) (to int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return from, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < from {
		from = 0
	}
	for {
		text, err := io.ReadAll(io.NewSectionReader(f, from, maxPiece))
		if err != nil {
			return from, err
		}
		used, err := do(text)
		if err != nil || used == 0 {
			return from, err
		}
		from += int64(used)
	}
}

// skipPast marks the usage in the transcripts of a resumed conversation as reported: earlier runs
// have reported it. A transcript whose offset is known keeps that offset.
func (h *hook) skipPast() error {
	read := h.loadReadOffsets()
	for _, path := range transcripts(h.in.TranscriptPath) {
		if _, known := read[path]; known {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			read[path] = info.Size()
		}
	}
	return h.saveReadOffsets(read)
}

// loadReadOffsets returns, for each path of a transcript, the offset up to which its usage was
// reported. Without a saved file the result is empty, and everything is reported again.
func (h *hook) loadReadOffsets() map[string]int64 {
	for _, name := range []string{readFile, begunFile} {
		var read map[string]int64
		text, err := os.ReadFile(filepath.Join(h.dir, name))
		if h.dir != "" && err == nil && json.Unmarshal(text, &read) == nil && read != nil {
			return read
		}
	}
	return map[string]int64{} // everything is reported again
}

// saveStartOffsets saves the offsets that are valid at the start of a run, as a copy for the case
// that the file with the newest offsets is lost.
func (h *hook) saveStartOffsets() error {
	if h.dir == "" || h.cli.Usage == "" {
		return nil
	}
	return h.saveFile(begunFile, h.loadReadOffsets())
}

// saveReadOffsets saves the offsets of the transcripts that still exist.
func (h *hook) saveReadOffsets(read map[string]int64) error {
	if h.dir == "" {
		return nil
	}
	maps.DeleteFunc(read, func(path string, _ int64) bool {
		_, err := os.Stat(path)
		return errors.Is(err, os.ErrNotExist)
	})
	return h.saveFile(readFile, read)
}
