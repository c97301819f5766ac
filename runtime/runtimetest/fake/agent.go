package fake

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
	"gascity/runtime/runtimetest"
)

const (
	commandWord  = "fake_agent"
	processName  = "fake-agent"
	questionText = "[[ask:Proceed?|yes|no]]"
	readyPrefix  = "❯"
)

// Program is the name of the program that [Script.Command] runs. A caller that checks for the
// program before a start can use it.
const Program = commandWord

// Script configures a simulated agent in addition to its [runtimetest.Behaviour]. It is the argument of
// the agent's command, as JSON.
type Script struct {
	Behaviour runtimetest.Behaviour `json:"behaviour,omitzero"`
	// Ledger and Env are paths of files, see [runtimetest.Agent]; empty means that the agent writes none.
	Ledger string `json:"ledger,omitempty"`
	Env    string `json:"env,omitempty"`

	// Busy makes the agent begin in a turn, which an interrupt ends.
	Busy bool `json:"busy,omitempty"`
	// Ask is a question that the agent asks when it is ready. Without a RequestID it gets one.
	Ask *runtime.PendingInteraction `json:"ask,omitempty"`
	// Source is the source that reports the agent's activity; empty means its own status.
	Source runtime.Source `json:"source,omitempty"`
	// Silent makes the agent give no signal that it has accepted a prompt.
	Silent bool `json:"silent,omitempty"`
	// Immortal makes every attempt to stop it fail.
	Immortal bool `json:"immortal,omitempty"`
}

// Command returns the command that starts the agent.
func (s Script) Command() string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it has no field that cannot be encoded
	}
	return commandWord + " " + quote(string(text))
}

// Agent returns a simulated agent with the given behavior, for a [Harness].
func (f *Provider) Agent(t runtimetest.T, dir string, b runtimetest.Behaviour) runtimetest.Agent {
	t.Helper()
	program := Script{Behaviour: b, Ledger: filepath.Join(dir, "ledger"), Env: filepath.Join(dir, "env")}
	agent := runtimetest.Agent{Ledger: program.Ledger, Env: program.Env, Process: processName, Question: questionText}
	if b.Rename != "" {
		agent.Process = b.Rename
	}
	agent.Config = runtime.Config{Command: program.Command(), ReadyPromptPrefix: readyPrefix}
	return agent
}

// agent is a running simulated agent. The lock of its session's world guards it.
type agent struct {
	s       *session
	program Script
	pid     int
	gone    bool

	ready    bool
	dialog   []string // options of the dialog that is up
	cursor   int
	draft    string
	lost     bool // it has lost its first Enter
	turn     int  // number of the present or last turn
	busy     bool
	asked    *runtime.PendingInteraction // what it asks now
	question int                         // number of the last question
	queue    []string
}

// launchLocked starts the agent as a process of the session. prompt is the prompt of its command
// line.
func (s *session) launchLocked(program Script, prompt string) {
	a := &agent{s: s, program: program}
	a.pid = s.forkLocked()
	s.agent, s.exit = a, nil
	a.record(runtimetest.Entry{Kind: runtimetest.LedgerStart, Dir: s.cfg.WorkDir})
	b := program.Behaviour
	if b.PrintEnv {
		writeAtOnce(program.Env, strings.Join(s.env, "\x00"))
	}
	for _, wanted := range []bool{b.SpawnSetsid, b.SpawnDaemon} {
		if wanted {
			a.record(runtimetest.Entry{Kind: runtimetest.LedgerSpawn, PIDs: []int{s.forkLocked()}})
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

// after calls do after the delay d, with the lock held, unless the agent has exited.
func (a *agent) after(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		a.s.world.mu.Lock()
		defer a.s.world.mu.Unlock()
		if !a.gone {
			do()
		}
	})
}

// beginLocked shows the trust dialog if the behavior asks for it; otherwise it makes the agent ready.
func (a *agent) beginLocked() {
	if a.program.Behaviour.Dialog {
		a.dialog = []string{"No, exit", "Yes, I trust this folder"}
		a.s.world.bumpLocked()
		return
	}
	a.readyLocked()
}

// readyLocked makes the agent ready: it becomes busy or asks a question if the program says so. Then
// it handles the next input.
func (a *agent) readyLocked() {
	a.ready = true
	a.record(runtimetest.Entry{Kind: runtimetest.LedgerReady})
	a.s.printLocked("fake agent")
	if a.busy = a.program.Busy; a.program.Ask != nil {
		a.askLocked(*a.program.Ask)
	}
	a.nextLocked()
}

// askLocked begins a turn that lasts until the question is answered.
func (a *agent) askLocked(q runtime.PendingInteraction) {
	a.question++
	q.RequestID = cmp.Or(q.RequestID, "question-"+strconv.Itoa(a.question))
	a.busy, a.asked = true, &q
	a.s.printLocked(q.Prompt)
}

// exitLocked prints words, records the exit in the ledger, and ends the agent's process with the code.
func (a *agent) exitLocked(code int, words string) {
	if words != "" {
		a.s.printLocked(words)
	}
	a.record(runtimetest.Entry{Kind: runtimetest.LedgerExit, Code: code})
	a.s.killLocked(a.pid, runtime.Exit{Code: code})
}

// enterLocked handles the Enter key. It reports whether the agent reacted.
func (a *agent) enterLocked() bool {
	switch {
	case len(a.dialog) > 0:
		choice := a.dialog[a.cursor]
		a.dialog = nil
		a.record(runtimetest.Entry{Kind: runtimetest.LedgerDialog, Choice: choice})
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

// nextLocked consumes the oldest waiting prompt if the agent is not busy.
func (a *agent) nextLocked() {
	for !a.busy && len(a.queue) > 0 {
		prompt := a.queue[0]
		a.queue = a.queue[1:]
		a.consumeLocked(prompt)
	}
}

// consumeLocked records a prompt in the ledger and begins its turn: it asks a question, or answers.
func (a *agent) consumeLocked(prompt string) {
	sum := sha256.Sum256([]byte(prompt))
	e := runtimetest.Entry{Kind: runtimetest.LedgerPrompt, Bytes: len(prompt), SHA256: hex.EncodeToString(sum[:])}
	if len(prompt) <= 4096 {
		e.Text = prompt
	}
	a.record(e)
	a.turn++
	first, _, _ := strings.Cut(prompt, "\n")
	if prompt == questionText {
		a.record(runtimetest.Entry{Kind: runtimetest.LedgerAsked})
		a.askLocked(runtime.PendingInteraction{Kind: runtime.WaitQuestion, Prompt: "Proceed?", Options: []string{"yes", "no"}})
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

// endTurnLocked ends the agent's turn, closes its question and begins the next queued prompt.
func (a *agent) endTurnLocked() {
	a.busy, a.asked = false, nil
	a.nextLocked()
	a.s.world.bumpLocked()
}

// interruptLocked handles Ctrl-C.
func (a *agent) interruptLocked() {
	if !a.busy {
		a.draft = ""
		return
	}
	a.record(runtimetest.Entry{Kind: runtimetest.LedgerInterrupted})
	a.s.boundary = time.Now()
	a.s.printLocked("Interrupted")
	a.endTurnLocked()
}

// screenLocked returns the rows that the agent redraws.
func (a *agent) screenLocked() []string {
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

// record appends an entry to the ledger. A failure panics, unless the case has ended and its
// directories are gone.
func (a *agent) record(e runtimetest.Entry) {
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

// writeAtOnce writes a file atomically. It panics on an error.
func writeAtOnce(path, text string) {
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		panic(err)
	}
}
