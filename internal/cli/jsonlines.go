package cli

import (
	"bytes"

	"gascity/internal/cli/cmdenv"
)

// jsonLines prints an agent's output as JSON: one object with the whole output, or with follow one
// object for each line.
type jsonLines struct {
	base   *cmdenv.Base
	agent  string
	follow bool
	buffer []byte // output that is not printed yet
}

// logText is a part of an agent's output, as JSON.
type logText struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
}

// Write implements [io.Writer].
func (l *jsonLines) Write(p []byte) (int, error) {
	l.buffer = append(l.buffer, p...)
	for l.follow {
		line, rest, ended := bytes.Cut(l.buffer, []byte("\n"))
		if !ended {
			break
		}
		l.buffer = rest
		if err := l.base.PrintJSONLine(logText{l.agent, string(line)}); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// finish prints the rest of the output.
func (l *jsonLines) finish() error {
	switch {
	case !l.follow:
		return l.base.PrintJSON(logText{l.agent, string(l.buffer)})
	case len(l.buffer) > 0:
		return l.base.PrintJSONLine(logText{l.agent, string(l.buffer)})
	}
	return nil
}
