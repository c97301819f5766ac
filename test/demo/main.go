// Demo shows a city at work: it makes one in a temporary folder with three
// interactive programs, prompts them, kills one, watches it come back, and stops
// everything. It uses the gc binary only, as a person would; make demo builds it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// limit bounds the whole show.
const limit = 2 * time.Minute

func main() {
	gc := flag.String("gc", "bin/gc", "the gc binary")
	flag.Parse()
	if err := run(*gc); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(gc string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	gc, err = filepath.Abs(gc)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "gc-demo-")
	if err != nil {
		return err
	}
	s := &stage{gc: gc, dir: dir}
	defer func() { err = errors.Join(err, s.clean(context.WithoutCancel(ctx)), os.RemoveAll(dir)) }()
	agents, err := s.build(ctx)
	if err != nil {
		return err
	}
	for _, act := range []func(context.Context, []agent) error{s.start, s.prompt, s.kill, s.stop} {
		if err := act(ctx, agents); err != nil {
			return err
		}
	}
	fmt.Printf("\nThat was a city of %d agents, in %.1f s. A first one of your own: see README.md.\n", len(agents), time.Since(began).Seconds())
	return nil
}

// agent is one program of the city.
type agent struct {
	name, what string
	toml       string
	prompt     string // what it is asked
	answer     string // what it must show then
}

// build compiles the fake agent and writes the city.
func (s *stage) build(ctx context.Context) ([]agent, error) {
	fake := filepath.Join(s.dir, "fakeagent")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", fake, "./test/fakeagent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does, which has compiled most of it
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the fake agent: %w\n%s", err, out)
	}
	agents := []agent{
		{
			name: "writer", what: "a stand-in for a coding agent, with a real terminal interface",
			toml:   fmt.Sprintf("start_command = %q\nready_prompt_prefix = \"❯\"\nprocess_names = [\"fakeagent\"]", fake+" --name writer --ledger "+filepath.Join(s.dir, "ledger")),
			prompt: "Greet the reader of this demo.", answer: "You said (30 bytes",
		},
		{
			name: "shell", what: "a real interactive bash",
			toml:   "start_command = \"bash --norc --noprofile -i\"\nready_prompt_prefix = \"shell$ \"\nenv = { PS1 = \"shell$ \" }",
			prompt: "echo the answer is $((6*7))", answer: "the answer is 42",
		},
		python(ctx),
	}
	var city bytes.Buffer
	city.WriteString("# Written by make demo.\n\n[workspace]\nname = \"demo\"\n\n[daemon]\npatrol_interval = \"5s\"\n")
	for _, a := range agents {
		fmt.Fprintf(&city, "\n# %s\n[[agents]]\nname = %q\n%s\n", a.what, a.name, a.toml)
	}
	return agents, os.WriteFile(filepath.Join(s.dir, "city.toml"), city.Bytes(), 0o600)
}

// python returns an interactive Python, or cat where there is none.
func python(ctx context.Context) agent {
	if path, err := exec.LookPath("python3"); err == nil && exec.CommandContext(ctx, path, "-c", "").Run() == nil {
		return agent{
			name: "calc", what: "a real interactive Python",
			toml:   "start_command = \"python3 -q\"\nready_prompt_prefix = \">>> \"",
			prompt: "sum(n * n for n in range(10))", answer: "285",
		}
	}
	return agent{
		name: "echo", what: "cat, which prints its input",
		toml: "start_command = \"cat\"", prompt: "hello, cat", answer: "hello, cat\nhello, cat",
	}
}
