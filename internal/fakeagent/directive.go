package fakeagent

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// directive is an instruction inside a prompt: [[verb]] or [[verb:argument]].
type directive struct{ verb, arg string }

var directivePattern = regexp.MustCompile(`(?s)\[\[([a-z]+)(?::(.*?))?\]\]`)

// verbs are the known directives. Other verbs are ordinary text.
var verbs = map[string]bool{
	"busy": true, "forever": true, "exit": true, "crash": true, "flood": true, "spawn": true,
	"echo": true, "lines": true, "osc": true, "ask": true, "askfor": true, "permit": true, "reply": true, "limit": true,
	"tool": true, "touch": true,
}

// directives returns the directives of a prompt in order.
func directives(text []byte) []directive {
	if !bytes.Contains(text, []byte("[[")) {
		return nil
	}
	var found []directive
	for _, m := range directivePattern.FindAllSubmatch(text, -1) {
		if verb := string(m[1]); verbs[verb] {
			found = append(found, directive{verb, string(m[2])})
		}
	}
	return found
}

// duration parses an argument such as 2s; it returns 0 if the argument is invalid.
func (d directive) duration() time.Duration {
	wait, err := time.ParseDuration(d.arg)
	if err != nil {
		return 0
	}
	return wait
}

// number parses an argument such as 3; it returns 0 if the argument is invalid.
func (d directive) number() int {
	n, err := strconv.Atoi(strings.TrimSpace(d.arg))
	if err != nil {
		return 0
	}
	return n
}

// question parses Question?|A|B. Without options the options are Yes and No.
func (d directive) question() *menu {
	parts := strings.Split(d.arg, "|")
	m := &menu{
		name: parts[0], kind: "question", text: []string{printable(parts[0]), ""}, options: parts[1:],
		numbered: true, footer: "Esc to cancel",
	}
	if len(m.options) == 0 {
		m.options = []string{"Yes", "No"}
	}
	return m
}
