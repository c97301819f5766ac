package agentcmd

import (
	"bytes"

	"gascity/internal/cli/cmdenv"
)

// jsonLines prints an agent's output as JSON: one object with all of it, or, if it is followed, one
// object a line.
type jsonLines struct {
	base   *cmdenv.Base
	agent  string
	follow bool
	begun  []byte
}

// logText is a part of an agent's output, as JSON.
type logText struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
}

// Write implements [io.Writer].
func (l *jsonLines) Write(p []byte) (int, error) {
	l.begun = append(l.begun, p...)
	for l.follow {
		line, rest, ended := bytes.Cut(l.begun, []byte("\n"))
		if !ended {
			break
		}
		l.begun = rest
		if err := l.base.PrintJSONLine(logText{l.agent, string(line)}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// finish prints what is left.
func (l *jsonLines) finish() error {
	switch {
	case !l.follow:
		return l.base.PrintJSON(logText{l.agent, string(l.begun)})
	case len(l.begun) > 0:
		return l.base.PrintJSONLine(logText{l.agent, string(l.begun)})
	}
	return nil
}
