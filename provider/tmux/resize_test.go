package tmux

import (
	"testing"

	"github.com/creack/pty"
)

func TestResizeTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if err := resizeTerminal(slave.Name(), 33, 20); err != nil {
		t.Fatal(err)
	}
	if rows, cols, err := pty.Getsize(master); err != nil || cols != 33 || rows != 20 {
		t.Errorf("the terminal has %dx%d, %v", cols, rows, err)
	}
	if err := resizeTerminal(t.TempDir(), 33, 20); err == nil {
		t.Error("a folder was resized")
	}
}
