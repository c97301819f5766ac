package cityservice

import (
	"errors"
	"fmt"

	"gascity/internal/domain/session"
	"gascity/internal/service/prompts"
)

// TextFiles implements prompts.TextFiles.
type TextFiles struct {
	prompts.FileStore

	Engines *Engines
}

var errAsksToRead = errors.New("gc does not know that its agent CLI reads files outside of its working directory without asking a person")

// Write writes the text of a prompt to a file for the agent and returns its path. It returns an
// error if the agent CLI would ask a person before it reads the file. It implements
// prompts.TextFiles.
func (t TextFiles) Write(v session.Snapshot, id, text string) (string, error) {
	if cli, known := t.Engines.hooksOf(v); !known || !cli.ReadsFiles {
		return "", errAsksToRead
	}
	path, err := t.FileStore.Write(v.Session, id, text)
	if errors.Is(err, prompts.ErrNoFolder) {
		return "", fmt.Errorf("%w, or it does not run on this machine; to start it again: gc restart %s", err, v.Agent)
	}
	return path, err
}
