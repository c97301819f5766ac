package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/internal/stage"
	"gascity/runtime"
)

// filesDir is where files of prompts are put, below the work folder.
const filesDir = ".gc/files"

// promptText returns the text of a message. Files are copied into the work folder
// and referred to by their place there; staged lists them. A file that cannot be
// copied is an error: the agent would look for it in vain.
func promptText(workDir string, content []runtime.ContentBlock) (text string, staged []string, err error) {
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
			return "", staged, fmt.Errorf("cannot hand over a file: %w", err)
		}
		dst := filepath.Join(filesDir, filepath.Base(block.Path))
		if err := stage.CopyTo(workDir, block.Path, dst); err != nil {
			return "", staged, fmt.Errorf("cannot hand over %s: %w", block.Path, err)
		}
		staged = append(staged, dst)
		parts = append(parts, "[File staged: ./"+dst+"]")
	}
	return strings.Join(parts, "\n"), staged, nil
}

// Deliver keeps the contract of runtime.Deliverer.
func (s *Sessions) Deliver(ctx context.Context, name string, d runtime.Delivery) (runtime.Outcome, error) {
	var token *string
	if d.Instance != "" {
		token = &d.Instance
	}
	var out runtime.Outcome
	err := s.Drive(ctx, "nudge", name, token, func(l Live) error {
		text, staged, err := promptText(l.WorkDir, d.Content)
		if err != nil {
			out = runtime.Outcome{State: runtime.OutcomeRefused, Reason: runtime.RefusedContent, Detail: err.Error()}
			return nil //nolint:nilerr // the outcome says it
		}
		out, err = s.deliver(ctx, l, text, d.Confirm)
		out.Staged = staged
		return err
	})
	switch {
	case errors.Is(err, runtime.ErrStaleInstance):
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
