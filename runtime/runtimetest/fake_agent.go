package runtimetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity/runtime"
)

const (
	fakeCommand  = "fake_agent"
	fakeProcess  = "fake-agent"
	fakeQuestion = "[[ask:Proceed?|yes|no]]"
)

// fakeProgram is the argument of a fake agent's command.
type fakeProgram struct {
	Behaviour   Behaviour
	Ledger, Env string
}

// Agent returns a model agent that behaves so, for a [Harness].
func (f *Fake) Agent(t T, dir string, b Behaviour) Agent {
	program := fakeProgram{b, filepath.Join(dir, "ledger"), filepath.Join(dir, "env")}
	text, err := json.Marshal(program)
	if err != nil {
		t.Fatalf("cannot describe the agent: %v", err)
	}
	agent := Agent{Ledger: program.Ledger, Env: program.Env, Process: fakeProcess, Question: fakeQuestion}
	if b.Rename != "" {
		agent.Process = b.Rename
	}
	agent.Config = runtime.Config{Command: fakeCommand + " " + shellQuote(string(text)), ReadyPromptPrefix: readyPrefix}
	return agent
}

// fakeAgent is a running model. Its session's world lock guards it.
type fakeAgent struct {
	s       *fakeSession
	program fakeProgram
	pid     int
	gone    bool

	ready    bool
	dialog   []string // options of the dialog that is up
	cursor   int
	draft    string
	lost     bool // it has lost its first Enter
	turn     int  // number of the present or last turn
	busy     bool
	asking   bool
	question int // number of the last question
	queue    []string
}

// launchLocked starts the agent as a process of the session; prompt is the one
// of its command line.
func (s *fakeSession) launchLocked(program fakeProgram, prompt string) {
	a := &fakeAgent{s: s, program: program}
	a.pid = s.forkLocked()
	s.agent, s.exit = a, nil
	a.record(Entry{Kind: LedgerStart, Dir: s.cfg.WorkDir})
	b := program.Behaviour
	if b.PrintEnv {
		writeAtOnce(program.Env, strings.Join(s.env, "\x00"))
	}
	for _, wanted := range []bool{b.SpawnSetsid, b.SpawnDaemon} {
		if wanted {
			a.record(Entry{Kind: LedgerSpawn, PIDs: []int{s.forkLocked()}})
		}
	}
	if len(b.Say) > 0 {
		s.printLocked(strings.Join(b.Say, "\n"))
	}
	if prompt != "" {
		a.queue = append(a.queue, prompt)
	}
	if b.ExitAfter > 0 {
		a.after(b.ExitAfter, func() { a.exitLocked(b.ExitCode, b.LastWords) })
	}
	switch {
	case b.Hang:
	case b.SlowStart > 0:
		a.after(b.SlowStart, a.beginLocked)
	default:
		a.beginLocked()
	}
}

// after calls do later with the lock held, unless the agent is gone by then.
func (a *fakeAgent) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		a.s.world.mu.Lock()
		defer a.s.world.mu.Unlock()
		if !a.gone {
			do()
		}
	})
}

func (a *fakeAgent) beginLocked() {
	if a.program.Behaviour.Dialog {
		a.dialog = []string{"No, exit", "Yes, I trust this folder"}
		a.s.world.bumpLocked()
		return
	}
	a.readyLocked()
}

func (a *fakeAgent) readyLocked() {
	a.ready = true
	a.record(Entry{Kind: LedgerReady})
	a.s.printLocked("fake agent")
	a.nextLocked()
}

func (a *fakeAgent) exitLocked(code int, words string) {
	if words != "" {
		a.s.printLocked(words)
	}
	a.record(Entry{Kind: LedgerExit, Code: code})
	a.s.killLocked(a.pid, runtime.Exit{Code: code})
}

// enterLocked is the Enter key. It reports whether the agent did something.
func (a *fakeAgent) enterLocked() bool {
	switch {
	case len(a.dialog) > 0:
		choice := a.dialog[a.cursor]
		a.dialog = nil
		a.record(Entry{Kind: LedgerDialog, Choice: choice})
		if !strings.HasPrefix(choice, "Yes") {
			a.exitLocked(1, "not trusted")
			return true
		}
		a.readyLocked()
	case a.draft == "" || !a.ready:
		return false
	case a.program.Behaviour.IgnoreFirstEnter && !a.lost:
		a.lost = true
		return false
	default:
		a.queue = append(a.queue, a.draft)
		a.draft = ""
		a.nextLocked()
	}
	a.s.world.bumpLocked()
	return true
}

// nextLocked consumes the oldest waiting prompt if the agent is free.
func (a *fakeAgent) nextLocked() {
	for !a.busy && len(a.queue) > 0 {
		prompt := a.queue[0]
		a.queue = a.queue[1:]
		a.consumeLocked(prompt)
	}
}

func (a *fakeAgent) consumeLocked(prompt string) {
	e := Entry{Kind: LedgerPrompt, Bytes: len(prompt), SHA256: digest(prompt)}
	if len(prompt) <= 4096 {
		e.Text = prompt
	}
	a.record(e)
	a.turn++
	first, _, _ := strings.Cut(prompt, "\n")
	if prompt == fakeQuestion {
		a.busy, a.asking = true, true
		a.question++
		a.record(Entry{Kind: LedgerAsked})
		a.s.printLocked("Proceed?")
		return
	}
	a.s.printLocked(fmt.Sprintf("You said (%d bytes): %s", len(prompt), first))
	if d := a.program.Behaviour.Turn; d > 0 {
		a.busy = true
		turn := a.turn
		a.after(d, func() {
			if a.busy && a.turn == turn {
				a.endTurnLocked()
			}
		})
	}
}

func (a *fakeAgent) endTurnLocked() {
	a.busy, a.asking = false, false
	a.nextLocked()
	a.s.world.bumpLocked()
}

// interruptLocked is Ctrl-C.
func (a *fakeAgent) interruptLocked() {
	if !a.busy {
		a.draft = ""
		return
	}
	a.record(Entry{Kind: LedgerInterrupted})
	a.s.boundary = time.Now()
	a.s.printLocked("Interrupted")
	a.endTurnLocked()
}

// screenLocked returns the live part of the screen.
func (a *fakeAgent) screenLocked() []string {
	if len(a.dialog) > 0 {
		lines := []string{"Do you trust this folder?"}
		for i, option := range a.dialog {
			lines = append(lines, map[bool]string{true: readyPrefix + " ", false: "  "}[i == a.cursor]+option)
		}
		return lines
	}
	if !a.ready || a.gone {
		return nil
	}
	return []string{strings.TrimRight(readyPrefix+" "+a.draft, " ")}
}

// record appends to the ledger. An agent whose ledger fails is worthless, unless
// the case has ended and its folders are gone.
func (a *fakeAgent) record(e Entry) {
	if a.program.Ledger == "" {
		return
	}
	e.Time, e.Run = time.Now(), a.pid
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	file, err := os.OpenFile(a.program.Ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.Write(append(line, '\n')); err != nil {
		panic(err)
	}
}

func writeAtOnce(path, text string) {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
}
