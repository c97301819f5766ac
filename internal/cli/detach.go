package cli

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"gascity/runtime"
)

// defaultDetachKeys are the detach keys of the runtime providers. spareDetachKey is used if the person's own tmux uses both.
var defaultDetachKeys = []string{`C-\`, "C-b d"}

const (
	spareDetachKey = "C-]"
	tmuxLimit      = 500 * time.Millisecond // for a query of the person's tmux
)

// outerTmux are the keys that the tmux around this terminal uses itself.
type outerTmux struct {
	prefixes []string
	direct   []string // keys of the root table, which need no prefix
}

// outerTmux asks the tmux around this terminal for its keys. Without one it returns no keys. If tmux does not answer, it returns its
// default keys.
func (a *app) outerTmux(parent context.Context) outerTmux {
	if a.Getenv("TMUX") == "" {
		return outerTmux{}
	}
	ctx, cancel := context.WithTimeout(parent, tmuxLimit)
	defer cancel()
	ask := func(args ...string) []string {
		out, err := exec.CommandContext(ctx, "tmux", args...).Output()
		if err != nil {
			return nil
		}
		return strings.Split(strings.TrimSpace(string(out)), "\n")
	}
	o := outerTmux{prefixes: slices.Concat(ask("show-options", "-gv", "prefix"), ask("show-options", "-gv", "prefix2"))}
	if len(o.prefixes) == 0 {
		return outerTmux{prefixes: []string{"C-b"}}
	}
	for _, line := range ask("list-keys", "-T", "root") { // bind-key [-r] -T root KEY COMMAND
		fields := strings.Fields(line)
		if at := slices.Index(fields, "root"); at >= 0 && at+1 < len(fields) {
			o.direct = append(o.direct, strings.ReplaceAll(fields[at+1], `\\`, `\`))
		}
	}
	return o
}

// takes reports whether keys do not reach the agent's terminal, because the outer tmux uses the first of them.
func (o outerTmux) takes(keys string) bool {
	first, _, _ := strings.Cut(keys, " ")
	return slices.Contains(o.prefixes, first) || slices.Contains(o.direct, first)
}

// defaults returns the default detach keys that the outer tmux does not use.
func (o outerTmux) defaults() []string {
	return slices.DeleteFunc(slices.Clone(defaultDetachKeys), o.takes)
}

// usable returns the default detach keys that the outer tmux does not use, or the spare key.
func (o outerTmux) usable() []string {
	if keys := o.defaults(); len(keys) > 0 {
		return keys
	}
	return []string{spareDetachKey}
}

// throughOuter returns the names of the default keys for a person, for a provider whose keys cannot be changed. To send its own prefix
// to the inside, tmux needs it twice.
func (o outerTmux) throughOuter() string {
	if slices.Contains(o.prefixes, "C-b") && o.takes(`C-\`) {
		return "Ctrl-b Ctrl-b d"
	}
	return runtime.KeyNames(o.defaults())
}
