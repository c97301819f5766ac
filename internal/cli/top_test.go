package cli

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
)

func TestDetachKeysOfTop(t *testing.T) {
	for name, test := range map[string]struct {
		configured string
		outer      outerTmux
		want       []string
		named      map[string]string // by runtime provider
	}{
		"alone":                         {"", outerTmux{}, []string{"C-q", `C-\`, "C-b d"}, map[string]string{"pty": `Ctrl-q or Ctrl-\ or Ctrl-b d`, "tmux": `Ctrl-\ or Ctrl-b d`, "exec:run": ""}},
		"inside tmux":                   {"", outerTmux{prefixes: []string{"C-b"}}, []string{"C-q", `C-\`}, map[string]string{"pty": `Ctrl-q or Ctrl-\`, "tmux": `Ctrl-\`}},
		"the prefix of tmux is C-q":     {"", outerTmux{prefixes: []string{"C-q"}}, []string{`C-\`, "C-b d"}, map[string]string{"tmux": `Ctrl-\ or Ctrl-b d`}},
		`tmux uses C-b, C-\ and C-q`:    {"", outerTmux{prefixes: []string{"C-b"}, direct: []string{`C-\`, "C-q"}}, []string{"C-]"}, map[string]string{"pty": "Ctrl-]", "tmux": "Ctrl-b Ctrl-b d"}},
		"configured, and a tmux of C-b": {"C-a d, C-x", outerTmux{prefixes: []string{"C-b"}}, []string{"C-a d", "C-x"}, map[string]string{"pty": "Ctrl-a d or Ctrl-x", "tmux": `Ctrl-\`}},
	} {
		got := topDetachKeys(detachKeys(test.configured), test.outer)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: the keys are %q, want %q", name, got, test.want)
		}
		for provider, want := range test.named {
			if got := detachNames(client.Agent{Provider: provider}, test.want, test.outer); got != want {
				t.Errorf("%s: the keys of an agent on %s are shown as %q, want %q", name, provider, got, want)
			}
		}
	}
}

// TestTopInADumbTerminal expects that nothing is drawn where control sequences would be shown as text.
func TestTopInADumbTerminal(t *testing.T) {
	tty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }() // nothing was written
	a := &app{}
	a.Base = cmdenv.New(cmdenv.Env{
		Stdin: tty, Stdout: &strings.Builder{}, Stderr: &strings.Builder{},
		Getenv: func(key string) string { return map[string]string{"TERM": "dumb"}[key] }, IsTerminal: func(any) bool { return true },
	})
	if err := a.top(t.Context(), nil); !errors.Is(err, client.ErrRefused) || !strings.Contains(err.Error(), "gc top --plain") {
		t.Errorf("in a terminal without cursors: %v; want a refusal that names gc top --plain", err)
	}
}

func TestTopByDefault(t *testing.T) {
	for name, test := range map[string]struct {
		env      map[string]string
		terminal bool
		want     bool
	}{
		"in a terminal":                 {nil, true, true},
		"without a terminal":            {nil, false, false},
		"turned off":                    {map[string]string{"GC_TOP": "off"}, true, false},
		"in the terminal of an agent":   {map[string]string{"GC_AGENT": "coder"}, true, false},
		"in a terminal without cursors": {map[string]string{"TERM": "dumb"}, true, false},
	} {
		a := &app{}
		a.Base = cmdenv.New(cmdenv.Env{
			Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{},
			Getenv: func(key string) string { return test.env[key] }, IsTerminal: func(any) bool { return test.terminal },
		})
		if got := a.topByDefault(); got != test.want {
			t.Errorf("%s: gc alone shows the dashboard: %v, want %v", name, got, test.want)
		}
	}
}
