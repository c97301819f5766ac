package fakeagent

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// conversation is a stored conversation: a file that is named by its ID and has one line for each prompt. The file is locked
// while an agent has it open.
type conversation struct {
	id    string
	turns int // number of prompts of previous runs
	file  *os.File
}

// openConversation opens the conversation that the flags name. Its errors have the text of a real agent.
func openConversation(m *modes) (*conversation, error) {
	if m.conversations == "" {
		return nil, nil //nolint:nilnil // no conversations are stored
	}
	c, flags := &conversation{id: m.sessionID}, os.O_CREATE|os.O_EXCL
	switch {
	case m.resume != "":
		c.id, flags = m.resume, 0
	case c.id == "":
		c.id = rand.Text()
	}
	inUse := fmt.Errorf("Error: Session ID %s is already in use.", c.id) //nolint:staticcheck,revive // the model provider's words
	file, err := os.OpenFile(filepath.Join(m.conversations, filepath.Base(c.id)), os.O_RDWR|os.O_APPEND|flags, 0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.resume != "":
		return nil, fmt.Errorf("No conversation found with session ID: %s", c.id) //nolint:staticcheck // the model provider's words
	case errors.Is(err, fs.ErrExist):
		return nil, inUse
	case err != nil:
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(inUse, file.Close())
	}
	former, err := io.ReadAll(file)
	c.file, c.turns = file, bytes.Count(former, []byte("\n"))
	return c, err
}

// add stores a prompt. A write error is ignored; the file then lacks the prompt.
func (c *conversation) add(text []byte) {
	if c != nil {
		_, _ = fmt.Fprintf(c.file, "%q\n", text)
	}
}

// useConversation sets the opened conversation and prints a message if it is resumed. If err is not nil, it makes the agent
// exit and returns false.
func (a *agent) useConversation(c *conversation, err error) bool {
	if err != nil {
		a.stderr = err.Error()
		a.leave(1, "conversation")
		return false
	}
	a.conversation = c
	if c != nil && c.turns > 0 {
		a.display.print(fmt.Sprintf("  resumed %s with %d prompts", c.id, c.turns))
	}
	return true
}
