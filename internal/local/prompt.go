package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/internal/journal"
	"gascity/internal/stage"
	"gascity/runtime"
)

// filesDir is where files of prompts are put, below the work folder.
const filesDir = ".gc/files"

// PromptText returns the text of a message as the agent gets it: text keeps its bytes, a
// file is referred to by its place in the work folder. It stages nothing. A file that is
// not there is an error: the agent would look for it in vain.
func PromptText(content []runtime.ContentBlock) (string, error) {
	text, _, err := promptText(content)
	return text, err
}

// staged is a file of a prompt and its place below the work folder.
type staged struct{ src, dst string }

func promptText(content []runtime.ContentBlock) (text string, files []staged, err error) {
	var parts []string
	for _, block := range content {
		if block.Type != runtime.ContentFilePath {
			if block.Text != "" {
				parts = append(parts, block.Text)
			}
			continue
		}
		if block.Path == "" {
			continue
		}
		if _, err := os.Stat(block.Path); err != nil {
			return "", nil, fmt.Errorf("cannot hand over a file: %w", err)
		}
		dst := placeFor(block.Path, files)
		files = append(files, staged{block.Path, dst})
		parts = append(parts, "[File staged: ./"+dst+"]")
	}
	return strings.Join(parts, "\n"), files, nil
}

// placeFor returns where a file goes: under its own name, with a number if another file of
// the prompt has that.
func placeFor(src string, files []staged) string {
	ext := filepath.Ext(src)
	name := strings.TrimSuffix(filepath.Base(src), ext)
	for n := 1; ; n++ {
		dst := filepath.Join(filesDir, name+ext)
		if n > 1 {
			dst = filepath.Join(filesDir, fmt.Sprintf("%s-%d%s", name, n, ext))
		}
		if !slices.ContainsFunc(files, func(f staged) bool { return f.dst == dst && f.src != src }) {
			return dst
		}
	}
}

// stageAll copies the files into the work folder and returns their places.
func stageAll(workDir string, files []staged) (places []string, err error) {
	for _, f := range files {
		if err := stage.CopyTo(workDir, f.src, f.dst); err != nil {
			return places, fmt.Errorf("cannot hand over %s: %w", f.src, err)
		}
		places = append(places, f.dst)
	}
	return places, nil
}

// Deliver keeps the contract of runtime.Deliverer.
func (s *Sessions) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	var out runtime.Outcome
	err := s.Drive(ctx, "nudge", name, token, func(l Live) error {
		text, files, err := promptText(d.Content)
		var places []string
		if err == nil {
			places, err = stageAll(l.WorkDir, files)
		}
		if err != nil {
			out = runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}
			return nil //nolint:nilerr // the outcome says it
		}
		l.Delivery = journal.ID(d.ID, text)
		out, err = s.deliver(ctx, l, text, d.Confirm)
		out.Staged = places
		return err
	})
	switch {
	case errors.Is(err, runtime.ErrStaleInstance) && out.State == "":
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: err.Error()}, err
	case errors.Is(err, runtime.ErrSessionNotFound) && out.State == "":
		return runtime.Outcome{State: runtime.OutcomeAbsent, Detail: "no such session runs"}, nil
	case err != nil && out.State == "":
		out = runtime.Outcome{State: runtime.OutcomeUnconfirmed, Detail: err.Error()}
	}
	return out, err
}

// nudgeTime bounds a nudge, whose signature has no context. A megabyte takes as
// long as the agent takes to read it.
const nudgeTime = 5 * time.Minute

// Nudge keeps the contract of runtime.Input.
func (s *Sessions) Nudge(name string, content []runtime.ContentBlock) error {
	ctx, cancel := context.WithTimeout(context.Background(), nudgeTime) //nolint:forbidigo // the contract's method has no ctx
	defer cancel()
	out, err := s.Deliver(ctx, name, runtime.Delivery{Content: content})
	if err == nil {
		err = runtime.NudgeError(out)
	}
	return ErrorOf("nudge", name, err)
}
