package runtimetest

import (
	"path/filepath"
	"strconv"
	"strings"

	"gascity/runtime"
)

// Program creates agents of the binary test/fakeagent. Its method Agent can be used as
// Harness.Agent.
type Program struct {
	// Path is the path of the binary.
	Path string
	// Flags are added to each command line, such as "--plain" for a driver
	// without a terminal.
	Flags []string
	// Edit changes a configuration at the end: it sets which dialogs are known, or how prompts are
	// read. Nil changes nothing.
	Edit func(cfg *runtime.Config, b Behaviour)
}

// readyPrefix is the beginning of the fake agent's input box.
const readyPrefix = "❯"

// Agent returns an agent with the given behavior and its files in dir.
func (p Program) Agent(_ T, dir string, b Behaviour) Agent {
	agent := Agent{
		Ledger:   filepath.Join(dir, "ledger"),
		Env:      filepath.Join(dir, "env"),
		Process:  filepath.Base(p.Path),
		Question: "[[ask:Proceed?|yes|no]]",
	}
	words := []string{p.Path, "--ledger", agent.Ledger}
	command := "exec" + quoteAll(append(append(words, b.flags(agent)...), p.Flags...))
	if len(b.Say) > 0 {
		command = `printf '%s\n'` + quoteAll(b.Say) + "; " + command
	}
	agent.Config = runtime.Config{Command: command, ReadyPromptPrefix: readyPrefix}
	if b.Rename != "" {
		agent.Process = b.Rename
	}
	if p.Edit != nil {
		p.Edit(&agent.Config, b)
	}
	return agent
}

// flags returns the fake agent's flags for this behavior.
func (b Behaviour) flags(agent Agent) []string {
	var flags []string
	add := func(wanted bool, words ...string) {
		if wanted {
			flags = append(flags, words...)
		}
	}
	add(b.ExitAfter > 0, "--exit-after", b.ExitAfter.String(), "--exit-code", strconv.Itoa(b.ExitCode), "--stderr", b.LastWords)
	add(b.Hang, "--hang")
	add(b.SlowStart > 0, "--slow-start", b.SlowStart.String())
	add(b.Turn > 0, "--think", b.Turn.String())
	add(b.IgnoreTerm, "--ignore-sigterm", "--ignore-sighup")
	add(b.SpawnSetsid, "--spawn-setsid", "1")
	add(b.SpawnDaemon, "--spawn-daemon")
	add(b.PrintEnv, "--print-env-to", agent.Env)
	add(b.Dialog, "--dialog", "trust-no-first")
	add(b.IgnoreFirstEnter, "--ignore-first-enter")
	add(b.Rename != "", "--rename", b.Rename)
	return flags
}

// quoteAll returns the words quoted for a shell, each with a space before it.
func quoteAll(words []string) string {
	var b strings.Builder
	for _, word := range words {
		b.WriteString(" " + shellQuote(word))
	}
	return b.String()
}

// shellQuote returns word, which must not contain NUL, as one word of an sh command.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
