package hooks

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Mark stands in every command of ours: what has it was put there by gc.
const Mark = " hook run --for "

// Command is the shell command of one event. Whatever becomes of the program (it is
// gone, it is killed, it fails), an event that decides ends with status 2: every
// other status lets the tool run.
func (c CLI) Command(program string, e Event) string {
	command := fmt.Sprintf("%s%s%s --within %s %s", quote(program), Mark, c.Name, e.Within(), e.Name)
	if e.Decides() {
		return command + " || exit 2"
	}
	return command + " || exit 0"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

type entry struct {
	Matcher string    `json:"matcher,omitempty"`
	Hooks   []handler `json:"hooks"`
}

type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int64  `json:"timeout"`
}

func (c CLI) entries(program string) map[string][]entry {
	out := map[string][]entry{}
	for _, e := range c.Events {
		out[e.Name] = []entry{{Hooks: []handler{{Type: "command", Command: c.Command(program, e), Timeout: int64(e.Limit() / max(c.Unit, time.Millisecond))}}}}
	}
	return out
}

// Settings is the content of [CLI.File] for a gc at the given path.
func (c CLI) Settings(program string) ([]byte, error) {
	if c.Script != "" {
		return []byte(c.Script), nil
	}
	text, err := json.MarshalIndent(map[string]any{"hooks": c.entries(program)}, "", "  ")
	return append(text, '\n'), err
}

// Launch are the arguments and the variables by which one session uses the file at
// path in dir.
func (c CLI) Launch(program, dir, path string) (args []string, env map[string]string, err error) {
	fill := strings.NewReplacer(MarkFile, path, MarkDir, dir)
	for _, a := range c.Args {
		if a != MarkHooks {
			args = append(args, fill.Replace(a))
			continue
		}
		values, err := c.assignments(program)
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

// assignments are the hooks as one override of the configuration for each event, each
// with the flag before it.
func (c CLI) assignments(program string) ([]string, error) {
	var out []string
	for _, e := range c.Events {
		limit := int64(e.Limit() / c.Unit)
		command, err := json.Marshal(c.Command(program, e)) // such a string is one of TOML, too
		if err != nil {
			return nil, err
		}
		out = append(out, "-c", fmt.Sprintf(`hooks.%s=[{hooks=[{type="command",command=%s,timeout=%d}]}]`, e.Name, command, limit))
	}
	return slices.Clip(out), nil
}
