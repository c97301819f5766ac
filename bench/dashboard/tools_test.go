package dashboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/fakeagent/ledger"
	"gascity/test/fakeagent/build"
)

// question is the prompt that makes an agent ask, asked is what the answer to it begins with on the screen, and footer is the last line of an
// agent's screen that shows nothing else.
const (
	question = "[[permit:Bash|make test]]"
	asked    = "Do you want to proceed?"
	footer   = "? for shortcuts"
)

// tool is a program that shows many agents in one terminal.
type tool struct {
	name string
	// start starts the agents.
	start func()
	// command returns what a person enters in a shell.
	command func() *exec.Cmd
	// preview reports whether the program shows the screen of the selected agent beside the list.
	preview bool
	// serving returns the processes that work for the program, besides its own.
	serving func() []int
	// ask makes an agent ask its question; nil: no question is measured.
	ask func(agent int)
	// answer finds the agent that asks, as a person does who sees only the terminal, chooses "Yes", and returns to the list.
	answer func(w *terminal)
	// leave opens the screen of an agent as large as the terminal, and back returns to the list.
	leave, back func(w *terminal)
}

// bench is a folder with the agents of one tool.
type bench struct {
	t      *testing.T
	dir    string
	agent  string // path of the fake agent
	agents int
}

func newBench(t *testing.T, agents int) *bench {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gcd-") //nolint:usetesting // socket paths are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	return &bench{t: t, dir: dir, agent: build.Build(t), agents: agents}
}

func nameOf(agent int) string { return fmt.Sprintf("agent-%02d", agent) }

func (b *bench) ledger(agent int) string { return filepath.Join(b.dir, nameOf(agent)+".ledger") }

// run returns a command with the environment of all programs here.
func (b *bench) run(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/sh", "SCREENDIR=" + filepath.Join(b.dir, "screens")}
	return cmd
}

// do runs a command to its end and returns its output.
func (b *bench) do(argv ...string) string {
	b.t.Helper()
	out, err := b.run(argv...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

// write writes a file.
func (b *bench) write(path, text string) {
	b.t.Helper()
	path = filepath.Join(b.dir, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// await waits until the ledger of an agent has n records of a kind.
func (b *bench) await(agent int, kind string, n int) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); ; <-time.After(5 * time.Millisecond) {
		records, err := ledger.Read(b.ledger(agent))
		if err == nil && len(ledger.Of(records, kind)) >= n {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the ledger of %s never has %d records %q: %v, %v", nameOf(agent), n, kind, records, err)
		}
	}
}

// count returns the number of records of a kind in the ledger of an agent.
func (b *bench) count(agent int, kind string) int {
	b.t.Helper()
	records, err := ledger.Read(b.ledger(agent))
	if err != nil {
		b.t.Fatal(err)
	}
	return len(ledger.Of(records, kind))
}

// ready waits until all agents are ready.
func (b *bench) ready() {
	b.t.Helper()
	for agent := range b.agents {
		b.await(agent, ledger.Ready, 1)
	}
}

// gcTop is gc top with a controller. Its agents run on the default runtime provider.
func gcTop(b *bench) tool {
	b.t.Helper()
	gc := filepath.Join(b.dir, "gc")
	if err := build.Program(gc, "gascity/cmd/gc"); err != nil {
		b.t.Fatal(err)
	}
	var toml strings.Builder
	toml.WriteString("[workspace]\nname = \"town\"\n[daemon]\nshutdown_timeout = \"1s\"\nmax_wakes_per_tick = 8\n")
	for agent := range b.agents {
		fmt.Fprintf(&toml, "[[agents]]\nname = %q\nstart_command = \"exec %s --ledger %s\"\nready_prompt_prefix = \"❯\"\n", nameOf(agent), b.agent, b.ledger(agent))
	}
	b.write(client.CityFile, toml.String())
	city := &client.Client{Root: b.dir, Version: "dev"}
	controller := b.run(gc, "controller", "run", "--city", b.dir)
	return tool{
		name: "gc top", preview: true,
		start: func() {
			if err := controller.Start(); err != nil {
				b.t.Fatal(err)
			}
			b.t.Cleanup(func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), patience)
				defer cancel()
				if _, err := city.StopCity(ctx); err != nil {
					b.t.Error(errors.Join(err, controller.Process.Kill()))
				}
				_ = controller.Wait() // it may have been killed
			})
			b.ready()
		},
		command: func() *exec.Cmd { return b.run(gc, "top") },
		serving: func() []int {
			status, err := city.Status(b.t.Context())
			if err != nil {
				b.t.Fatal(err)
			}
			pids := []int{controller.Process.Pid}
			for _, a := range status.Agents {
				pids = append(pids, parentOf(a.PID)) // the shim
			}
			return pids
		},
		ask: func(agent int) {
			if _, err := city.Nudge(b.t.Context(), nameOf(agent), client.NudgeRequest{Text: question}); err != nil {
				b.t.Fatal(err)
			}
		},
		answer: func(w *terminal) {
			w.shows("1 needs you")
			w.press("n")
			w.shows("1 Yes")
			w.press("a")
			w.shows("choose") // the footer of the question
			w.press("1")
			w.until("no question", func(screen string) bool { return !strings.Contains(screen, "1 needs you") })
		},
		leave: func(w *terminal) { w.press("Enter") },
		back:  func(w *terminal) { w.press("C-q") },
	}
}

// chooseTree is the list of sessions of tmux, as its key s opens it. A person opens it from a shell with
// "tmux attach ';' choose-tree -Zs".
func chooseTree(b *bench) tool {
	b.t.Helper()
	socket := filepath.Join(b.dir, "tmux")
	tmux := func(args ...string) string {
		b.t.Helper()
		return b.do(append([]string{"tmux", "-S", socket, "-f", "/dev/null"}, args...)...)
	}
	return tool{
		name: "tmux choose-tree", preview: true,
		start: func() {
			b.t.Cleanup(func() { tmux("kill-server") })
			for agent := range b.agents {
				tmux("new-session", "-d", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "-s", nameOf(agent), "exec "+b.agent+" --ledger "+b.ledger(agent))
			}
			b.ready()
		},
		command: func() *exec.Cmd {
			return b.run("tmux", "-S", socket, "attach", "-t", nameOf(0), ";", "choose-tree", "-Zs")
		},
		serving: func() []int {
			pid, err := strconv.Atoi(strings.TrimSpace(tmux("display-message", "-p", "#{pid}")))
			if err != nil {
				b.t.Fatal(err)
			}
			return []int{pid}
		},
		ask: func(agent int) { tmux("send-keys", "-t", nameOf(agent), question, "Enter") },
		answer: func(w *terminal) {
			// The list does not say who asks: a person goes down and looks at each preview.
			for range b.agents {
				if strings.Contains(w.text(100*time.Millisecond), asked) {
					break
				}
				w.press("Down")
			}
			w.press("Enter")
			w.until("the agent that asks", func(screen string) bool { return listed(screen) <= 1 && strings.Contains(screen, asked) })
			w.press("1", "C-b", "s")
		},
		leave: func(w *terminal) { w.press("Enter") },
		back:  func(w *terminal) { w.press("C-b", "s") },
	}
}

// windowList is the list of windows of GNU screen.
func windowList(b *bench) tool {
	b.t.Helper()
	return tool{
		name: "screen windowlist",
		start: func() {
			rc := "startup_message off\n"
			for agent := range b.agents {
				rc += fmt.Sprintf("screen -t %s %s --ledger %s\n", nameOf(agent), b.agent, b.ledger(agent))
			}
			b.write("screenrc", rc)
			if err := os.Mkdir(filepath.Join(b.dir, "screens"), 0o700); err != nil {
				b.t.Fatal(err)
			}
			b.t.Cleanup(func() { b.do("screen", "-S", "bench", "-X", "quit") })
			b.do("screen", "-c", "screenrc", "-dmS", "bench")
			b.ready()
		},
		command: func() *exec.Cmd { return b.run("screen", "-S", "bench", "-x", "-p", "=") },
		serving: func() []int {
			sockets, err := filepath.Glob(filepath.Join(b.dir, "screens", "*.bench"))
			if err != nil || len(sockets) != 1 {
				b.t.Fatalf("%v, %v", sockets, err)
			}
			pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(sockets[0]), ".bench"))
			if err != nil {
				b.t.Fatal(err)
			}
			return []int{pid}
		},
		ask: func(agent int) {
			b.do("screen", "-S", "bench", "-p", strconv.Itoa(agent), "-X", "stuff", question+"\r")
		},
		answer: func(w *terminal) {
			// The list shows neither screens nor questions: a person opens one window after the other.
			w.press("g", "Enter")
			for range b.agents {
				if strings.Contains(w.text(100*time.Millisecond), asked) {
					break
				}
				w.press("C-a", "n")
			}
			w.press("1", "C-a", "\"")
		},
		leave: func(w *terminal) { w.press("Enter") },
		back:  func(w *terminal) { w.press("C-a", "\"") },
	}
}

// ccManager is ccmanager (npm): a list of git worktrees with their sessions. The sessions are processes of ccmanager and exit with it, so
// it is measured without agents, and no question is asked.
func ccManager(b *bench) tool {
	b.t.Helper()
	return tool{
		name: "ccmanager (no agents)",
		start: func() {
			b.do("git", "init", "-q", "-b", "main", "repo")
			b.do("git", "-C", "repo", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "begin")
			for agent := range b.agents {
				b.do("git", "-C", "repo", "worktree", "add", "-q", "-b", nameOf(agent), filepath.Join(b.dir, nameOf(agent)))
			}
		},
		command: func() *exec.Cmd {
			cmd := b.run("ccmanager")
			cmd.Dir = filepath.Join(b.dir, "repo")
			return cmd
		},
		serving: func() []int { return nil },
	}
}
