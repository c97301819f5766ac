package cityconfig

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

const maxOutput = 1 << 20

// homeVariable is the environment variable with the directory in which gemini writes its files. It writes some even if it only
// prints its version.
const homeVariable = "GEMINI_CLI_HOME"

// programOutput runs a program with one argument, without a terminal, and returns what it prints; empty if it fails. gemini
// writes its files into a temporary directory meanwhile, not into the user's home directory.
func programOutput(ctx context.Context, file, arg string, env []string, path string) string {
	cmd := exec.CommandContext(ctx, file, arg)
	cmd.Env = append(slices.Clone(env), "PATH="+path)
	if dir, err := os.MkdirTemp("", "gc-"); err == nil {
		defer func() { _ = os.RemoveAll(dir) }() // the program may still write
		cmd.Env = append(cmd.Env, homeVariable+"="+dir)
	}
	cmd.Dir = "/"
	out := &boundedOutput{}
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if cmd.Run() != nil {
		return ""
	}
	return out.String()
}

// boundedOutput keeps the first [maxOutput] bytes that are written to it.
type boundedOutput struct{ bytes.Buffer }

// Write stores the part of p that fits and reports that all of it was written. It implements io.Writer.
func (b *boundedOutput) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(0, maxOutput-b.Len()))])
	return len(p), nil
}
