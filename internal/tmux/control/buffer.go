package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
)

// LoadBuffer puts the text into a new paste buffer and returns its name. The text goes
// through a file of mode 0600 beside the socket that is removed at once, never through
// arguments. Paste it with Cmd("paste-buffer", "-p", "-d", "-b", name, "-t", pane), or
// give it up with Cmd("delete-buffer", "-b", name). An empty text and a NUL byte are
// ErrWord. Errors as for Do.
func (c *Client) LoadBuffer(ctx context.Context, text []byte) (name string, err error) {
	_, err = c.WithBuffer(ctx, text, func(buffer string) Command {
		name = buffer
		return Command{}
	})
	if err != nil {
		return "", err
	}
	return name, nil
}

// WithBuffer is LoadBuffer and, in the same line, the command that use makes for the buffer; it
// returns what that command printed. The command must do away with the buffer, as paste-buffer -d does.
func (c *Client) WithBuffer(ctx context.Context, text []byte, use func(buffer string) Command) ([]byte, error) {
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%w: a buffer of %d bytes that is empty or holds a NUL byte", ErrWord, len(text))
	}
	if _, err := c.ready(ctx); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(c.options.Socket), ".paste-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // what is left lies in a private folder
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	name := "gc-" + rand.Text()
	return c.Output(ctx, Sequence(Cmd("load-buffer", "-b", name, "--", file.Name()), use(name)))
}
