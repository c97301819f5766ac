package fakeagent

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modes are the values of the flags; doc.go describes them.
type modes struct {
	ledger, name, printEnv, draft string
	ledgerEnv                     []string
	ledgerKeys                    bool

	altScreen, noPaste, osc7501, osc9, osc133 bool
	readyPrefix, ui                           string
	conversations, sessionID, resume, limit   string

	think, slowStart, slowRead, newlineWithin time.Duration
	hang, ignoreInput, ignoreFirst            bool

	exitAfter, maxLife    time.Duration
	exitCode              int
	stderr                string
	ignoreTerm, ignoreHup bool

	rename       string
	doubleFork   bool
	spawnSetsid  int
	spawnDaemon  bool
	redrawFlood  int64
	dialogs      []string
	plain, frame bool
	faults       []string
	protocol     bool
	worker       bool
	prompt       string

	report *os.File // pipe to the waiting first process; nil if there is none
}

// parseModes parses the flags and checks that they can be combined.
func parseModes(args []string, stderr io.Writer) (*modes, error) {
	m := &modes{}
	f := flag.NewFlagSet("fakeagent", flag.ContinueOnError)
	f.SetOutput(stderr)
	m.observation(f)
	m.behaviour(f)
	m.processes(f)
	dialogs := f.String("dialog", "", "comma-separated dialogs at start: "+strings.Join(dialogNames(), ", "))
	env := f.String("ledger-env", "", "comma-separated names of environment variables to record")
	fault := f.String("acp-fault", "", "comma-separated faults of --acp: "+strings.Join(faults, ", "))
	flood := f.String("redraw-flood", "", "emit redraws of this size (such as 100MB) before ready")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if rest := strings.Join(f.Args(), " "); rest != "" {
		m.prompt = rest
	}
	m.ledgerEnv, m.dialogs, m.faults = split(*env), split(*dialogs), split(*fault)
	for _, name := range m.faults {
		if !slices.Contains(faults, name) {
			return nil, fmt.Errorf("unknown --acp-fault %q: want one of %s", name, strings.Join(faults, ", "))
		}
	}
	m.plain = m.plain || m.protocol || m.worker
	if m.worker && m.protocol {
		return nil, errors.New("--worker does not go with --acp")
	}
	if _, ok := uiVariants()[m.ui]; !ok {
		return nil, fmt.Errorf("unknown --ui %q: want new-spinner, new-box or bare", m.ui)
	}
	for _, name := range m.dialogs {
		if _, _, err := findDialog(name); err != nil {
			return nil, err
		}
	}
	if *flood != "" {
		size, err := parseSize(*flood)
		if err != nil {
			return nil, err
		}
		m.redrawFlood = size
	}
	if m.frame && !m.plain {
		return nil, errors.New("--framed needs --plain")
	}
	return m, nil
}

// observation defines the flags about the ledger and the reported status.
func (m *modes) observation(f *flag.FlagSet) {
	f.StringVar(&m.ledger, "ledger", "", "append what happens to this file")
	f.StringVar(&m.name, "name", "fakeagent", "name in the ledger")
	f.BoolVar(&m.ledgerKeys, "ledger-keys", false, "record every chunk of raw input")
	f.StringVar(&m.printEnv, "print-env-to", "", "write the environment to this file, entries ended by NUL")
	f.BoolVar(&m.osc7501, "osc7501", false, "announce the status by OSC 7501")
	f.BoolVar(&m.osc9, "osc9", false, "announce progress by OSC 9;4")
	f.BoolVar(&m.osc133, "osc133", false, "mark prompt and turn by OSC 133")
}

// behaviour defines the flags about the screen, the input and the protocol.
func (m *modes) behaviour(f *flag.FlagSet) {
	f.BoolVar(&m.altScreen, "alt-screen", false, "draw on the alternate screen")
	f.BoolVar(&m.noPaste, "no-bracketed-paste", false, "do not ask for bracketed paste")
	f.StringVar(&m.readyPrefix, "ready-prefix", "❯ ", "what the prompt line begins with")
	f.StringVar(&m.draft, "draft", "", "text in the input box at start")
	f.StringVar(&m.prompt, "prompt", "", "first prompt, as the arguments are")
	f.StringVar(&m.ui, "ui", "", "version of the user interface: new-spinner, new-box, bare")
	f.StringVar(&m.conversations, "conversations", "", "keep conversations in this folder")
	f.StringVar(&m.sessionID, "session-id", "", "id of a new conversation")
	f.StringVar(&m.resume, "resume", "", "id of the conversation to resume")
	f.StringVar(&m.limit, "limit", "", "end at start with a usage limit that resets then; \"never\" says no time")
	f.DurationVar(&m.think, "think", 20*time.Millisecond, "time to answer a prompt")
	f.DurationVar(&m.slowStart, "slow-start", 0, "time between banner and input box")
	f.DurationVar(&m.slowRead, "slow-read", 0, "wait so long before each read from the terminal")
	f.DurationVar(&m.newlineWithin, "newline-within", 0, "Enter this soon after text is a newline")
	f.BoolVar(&m.hang, "hang", false, "never become ready")
	f.BoolVar(&m.ignoreInput, "ignore-input-until-ready", false, "drop input that arrives before the agent is ready")
	f.BoolVar(&m.ignoreFirst, "ignore-first-enter", false, "swallow the first Enter that would submit")
	f.BoolVar(&m.plain, "plain", false, "no terminal: prompts are lines of the standard input")
	f.BoolVar(&m.protocol, "acp", false, "no terminal: speak the Agent Client Protocol")
	f.BoolVar(&m.worker, "worker", false, "no terminal: speak the worker API with the city that started it")
	f.BoolVar(&m.frame, "framed", false, "with --plain: prompts are LENGTH, newline, bytes")
}

// processes defines the flags about exits, signals and other processes.
func (m *modes) processes(f *flag.FlagSet) {
	f.DurationVar(&m.exitAfter, "exit-after", 0, "exit after this time")
	f.DurationVar(&m.maxLife, "max-life", time.Hour, "the agent and the processes that it started exit after this time in every case")
	f.IntVar(&m.exitCode, "exit-code", 0, "exit code of --exit-after")
	f.StringVar(&m.stderr, "stderr", "", "what --exit-after prints on standard error")
	f.BoolVar(&m.ignoreTerm, "ignore-sigterm", false, "only record SIGTERM")
	f.BoolVar(&m.ignoreHup, "ignore-sighup", false, "only record SIGHUP, and outlive the terminal")
	f.StringVar(&m.rename, "rename", "", "take this name as argv[0] and as the kernel's name")
	f.BoolVar(&m.doubleFork, "double-fork", false, "run the agent as an orphaned grandchild; the first process waits")
	f.IntVar(&m.spawnSetsid, "spawn-setsid", 0, "start this many deaf children in own sessions")
	f.BoolVar(&m.spawnDaemon, "spawn-daemon", false, "start a deaf process without a living parent")
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// parseSize parses a number with an optional unit kB, MB, GB (1000) or KiB, MiB, GiB (1024).
func parseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGikm")
	factor, known := map[string]int64{
		"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "k": 1e3, "M": 1e6, "MB": 1e6, "GB": 1e9,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
	}[text[len(number):]]
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || !known || n < 0 {
		return 0, fmt.Errorf("cannot parse size %q: want a number and kB, MB or GB", text)
	}
	return n * factor, nil
}
