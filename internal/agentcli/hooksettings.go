package agentcli

import (
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/internal/textfmt"
)

// HookMark is a part of every command that gc installs as a hook. gc recognizes its own hooks by
// it.
const HookMark = " hook run --for "

// HookDecides is how the output of a hook that decides about a tool begins. The answer for the
// agent CLI follows it. The script that runs gc accepts no other output, because it would not be
// from gc.
const HookDecides = "gc decides:"

// HookGuardFile is the file name of the shell script that runs gc for hooks that decide about a
// tool.
const HookGuardFile = "guard.sh"

//go:embed hookscripts/guard.sh
var guardScript string

// HookGuardScript returns the content of the file [HookGuardFile].
func HookGuardScript() []byte { return []byte(guardScript) }

// guardLimit is how long the script waits for gc before it stops gc and denies the tool.
const guardLimit = decideWithin + 15*time.Second

// Command returns the shell command for the hook of an event. program is the path of gc and dir the
// directory of the hooks. If the event decides about a tool, the command exits with status 2, which
// denies the tool, also if gc is missing, fails, hangs, is killed, or is another program: with
// every other status the agent CLI would run the tool.
func (c Hooks) Command(program, dir string, e HookEvent) string {
	command := fmt.Sprintf("%s%s%s --within %s %s", textfmt.ShellWord(program), HookMark, c.Name, e.Within(), e.Name)
	if e.Decides() {
		return fmt.Sprintf("/bin/sh %s %d %s || exit 2", textfmt.ShellWord(filepath.Join(dir, HookGuardFile)), int(guardLimit.Seconds()), command)
	}
	return command + " || exit 0"
}

type hookEntry struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookHandler `json:"hooks"`
}

type hookHandler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// entries returns the settings of the agent CLI with the hook of each event.
func (c Hooks) entries(program, dir string) map[string][]hookEntry {
	out := map[string][]hookEntry{}
	for _, e := range c.Events {
		out[e.Name] = []hookEntry{{Hooks: []hookHandler{{Type: "command", Command: c.Command(program, dir, e), Timeout: int64(e.Limit() / max(c.Unit, time.Millisecond))}}}}
	}
	return out
}

// Settings returns the content of the file [Hooks.File], for a gc at the path program and hooks in
// the directory dir. texts is the directory with prompts that the agent CLI may read without
// asking, see [Hooks.ReadsFiles]; empty if there is none.
func (c Hooks) Settings(program, dir, texts string) ([]byte, error) {
	if c.Script != "" {
		return []byte(c.Script), nil
	}
	settings := map[string]any{"hooks": c.entries(program, dir)}
	maps.Copy(settings, c.Also)
	if texts != "" && c.Reads != nil {
		maps.Copy(settings, c.Reads(texts))
	}
	text, err := json.MarshalIndent(settings, "", "  ")
	return append(text, '\n'), err
}

// Launch returns the arguments and the environment variables with which an agent CLI uses the hooks
// in the file path in one session, without a change of the user's settings.
func (c Hooks) Launch(program, dir, path string) (args []string, env map[string]string, err error) {
	fill := strings.NewReplacer(HookMarkFile, path, HookMarkDir, dir)
	for _, a := range c.Args {
		if a != HookMarkHooks {
			args = append(args, fill.Replace(a))
			continue
		}
		values, err := c.assignments(program, dir)
		if err != nil {
			return nil, nil, err
		}
		args = append(args[:len(args)-1], values...)
	}
	env = map[string]string{}
	for name, value := range c.Env {
		env[name] = fill.Replace(value)
	}
	return args, env, nil
}

// assignments returns the hooks as arguments: for each event a flag and a setting in TOML.
func (c Hooks) assignments(program, dir string) ([]string, error) {
	var out []string
	for _, e := range c.Events {
		limit := int64(e.Limit() / c.Unit)
		command, err := json.Marshal(c.Command(program, dir, e)) // a JSON string is also a TOML string
		if err != nil {
			return nil, err
		}
		out = append(out, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, e.Name, command, limit))
	}
	return slices.Clip(out), nil
}
