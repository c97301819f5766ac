package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
)

// WithBuffer stores the text in a new paste buffer, and in the same line runs the command that use returns for the buffer's
// name. It returns the output of that command. The command must delete the buffer, as paste-buffer -d does. The text goes
// through a file with mode 0600 beside the socket, which is removed at once, and never through arguments. The error is
// errWord if the text is empty or contains a NUL byte. Other errors are those of Do.
func (c *controlClient) WithBuffer(ctx context.Context, text []byte, use func(buffer string) tmuxCommand) ([]byte, error) {
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%w: the text of %d bytes is empty or contains a NUL byte", errWord, len(text))
	}
	if _, err := c.ready(ctx); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(filepath.Dir(c.options.Socket), ".paste-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }() // if this fails, the file remains in a private directory
	_, err = file.Write(text)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	name := "gc-" + rand.Text()
	return c.Output(ctx, sequence(cmd("load-buffer", "-b", name, "--", file.Name()), use(name)))
}
