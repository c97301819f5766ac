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
)

// HookMark is a part of every hook command of gc. It identifies the commands that gc installed.
const HookMark = " hook run --for "

// HookDecides is the first word in the output of a hook that decides, before the answer to the agent
// CLI. An output without it does not come from gc.
const HookDecides = "gc decides:"

// HookGuardFile is the name of the script that runs the hooks that decide, in the directory of the
// hooks.
const HookGuardFile = "guard.sh"

//go:embed hookscripts/guard.sh
var guardScript string

// HookGuardScript returns the content of [HookGuardFile].
func HookGuardScript() []byte { return []byte(guardScript) }

// guardLimit is the time after which the script stops a program that exceeds its own deadline.
const guardLimit = decideWithin + 15*time.Second

// Command returns the shell command of one event, for hooks in the directory dir. For an event that
// decides, the command exits with status 2 if the program is missing, fails, hangs, is killed or is
// not gc: every other status lets the tool run.
func (c Hooks) Command(program, dir string, e HookEvent) string {
	command := fmt.Sprintf("%s%s%s --within %s %s", quoteWord(program), HookMark, c.Name, e.Within(), e.Name)
	if e.Decides() {
		return fmt.Sprintf("/bin/sh %s %d %s || exit 2", quoteWord(filepath.Join(dir, HookGuardFile)), int(guardLimit.Seconds()), command)
	}
	return command + " || exit 0"
}

func quoteWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

type hookEntry struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookHandler `json:"hooks"`
}

type hookHandler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

// entries returns the hook settings of each event.
func (c Hooks) entries(program, dir string) map[string][]hookEntry {
	out := map[string][]hookEntry{}
	for _, e := range c.Events {
		out[e.Name] = []hookEntry{{Hooks: []hookHandler{{Type: "command", Command: c.Command(program, dir, e), Timeout: int64(e.Limit() / max(c.Unit, time.Millisecond))}}}}
	}
	return out
}

// Settings returns the content of [Hooks.File] for hooks in the directory dir and a gc at the path
// program. texts is the directory with files that the agent CLI reads without asking, see
// [Hooks.ReadsFiles]; empty: none.
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

// Launch returns the arguments and environment variables with which one session uses the file at
// path in dir.
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

// assignments returns one configuration override per event, each after its flag.
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
