package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gascity/client"
	"gascity/internal/proc"
)

// stage runs gc and shows what it prints.
type stage struct {
	gc, dir string
	running bool
}

// printStep prints what is about to happen.
func printStep(format string, args ...any) { fmt.Printf("\n== "+format+"\n", args...) }

// show runs a gc command with its output on the terminal.
func (s *stage) show(ctx context.Context, args ...string) error {
	fmt.Println("$ gc " + strings.Join(quoted(args), " "))
	cmd := exec.CommandContext(ctx, s.gc, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("gc %s: %w", args[0], err)
	}
	return nil
}

func quoted(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if strings.ContainsAny(a, " $*()") {
			out[i] = "'" + a + "'"
		}
	}
	return out
}

// output runs a gc command and returns its output.
func (s *stage) output(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.gc, args...)
	cmd.Dir = s.dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("gc %s: %w: %s", args[0], err, stderr.Bytes())
	}
	return out, nil
}

// await asks until the answer is right.
func (s *stage) await(ctx context.Context, what string, right func([]byte) bool, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		out, err := s.output(ctx, args...)
		if err == nil && right(out) {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waited 20 s for %s; last seen:\n%s", what, out)
		}
	}
}

func (s *stage) start(ctx context.Context, agents []agent) error {
	printStep("A city of %d agents, each a real interactive program in a terminal of its own", len(agents))
	for _, a := range agents {
		fmt.Printf("   %-7s %s\n", a.name, a.what)
	}
	s.running = true
	if err := s.show(ctx, "start"); err != nil {
		return err
	}
	return s.show(ctx, "status")
}

func (s *stage) prompt(ctx context.Context, agents []agent) error {
	printStep("Prompts and their delivery status")
	for _, a := range agents {
		if err := s.show(ctx, "send", a.name, a.prompt); err != nil {
			return err
		}
		shows := func(out []byte) bool { return strings.Contains(string(out), a.answer) }
		if err := s.await(ctx, a.name+" to answer", shows, "peek", a.name); err != nil {
			return err
		}
		out, err := s.output(ctx, "peek", a.name)
		if err != nil {
			return err
		}
		fmt.Printf("   %s: %s\n", a.name, answerLine(string(out), a.answer))
	}
	return nil
}

// answerLine returns the last line that has the end of the answer.
func answerLine(screen, answer string) string {
	end, found := answer[strings.LastIndexByte(answer, '\n')+1:], ""
	for line := range strings.Lines(screen) {
		if strings.Contains(line, end) {
			found = strings.TrimSpace(line)
		}
	}
	return found
}

// kill ends one agent as a crash would and waits for it to come back.
func (s *stage) kill(ctx context.Context, agents []agent) error {
	name := agents[0].name
	before, err := s.agent(ctx, name)
	if err != nil {
		return err
	}
	printStep("kill -9 %d: the %s dies, and comes back", before.PID, name)
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		return err
	}
	back := func(out []byte) bool {
		a, err := find(out, name)
		return err == nil && a.State == client.StateRunning && a.PID != before.PID && a.PID != 0
	}
	if err := s.await(ctx, name+" to come back", back, "status", "--json"); err != nil {
		return err
	}
	return s.show(ctx, "status")
}

func (s *stage) agent(ctx context.Context, name string) (client.Agent, error) {
	out, err := s.output(ctx, "status", "--json")
	if err != nil {
		return client.Agent{}, err
	}
	return find(out, name)
}

func find(out []byte, name string) (client.Agent, error) {
	var status client.Status
	if err := json.Unmarshal(out, &status); err != nil {
		return client.Agent{}, err
	}
	for _, a := range status.Agents {
		if a.Name == name {
			return a, nil
		}
	}
	return client.Agent{}, fmt.Errorf("status knows no agent %q", name)
}

func (s *stage) stop(ctx context.Context, _ []agent) error {
	printStep("The end: every process of the city is stopped and counted")
	sockets, err := os.ReadFile(filepath.Join(s.dir, ".gc", "runtime-dir"))
	if err != nil {
		return err
	}
	err = s.show(ctx, "stop")
	s.running = err != nil
	if _, there := os.Lstat(strings.TrimSpace(string(sockets))); err == nil && !errors.Is(there, fs.ErrNotExist) {
		return fmt.Errorf("the folder of sockets is left over: %s", sockets)
	}
	return err
}

// clean stops what a failed act left and proves that nothing is left at all.
func (s *stage) clean(ctx context.Context) error {
	if s.running {
		_, err := s.output(ctx, "stop")
		if err != nil {
			fmt.Fprintln(os.Stderr, "demo: cleaning up:", err)
		}
	}
	left, err := proc.FindByEnv("GC_CITY_PATH", s.dir)
	if len(left) > 0 {
		return fmt.Errorf("processes are left over: %v", left)
	}
	if _, ok := errors.AsType[*proc.UnreadableError](err); ok { // other programs of the user, such as a key agent
		return nil
	}
	return err
}
