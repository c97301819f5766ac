package mockmodel

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// speech is what a response says.
type speech struct {
	id          string
	delay, slow time.Duration
	text        string
	calls       []Call
	usage       Usage
}

// directives is what a prompt asks of the mock.
type directives struct {
	delay, slow time.Duration
	text        string
	steps       [][]Call // without ids
	usage       Usage
}

var directive = regexp.MustCompile(`\[\[(text|count|tool|tools|steps|call|delay|slow|usage):`)

// joined is the one question that the mock can answer: that of gc doctor --ask.
var joined = regexp.MustCompile(`the words (\w+) and (\w+) joined by a plus sign`)

// fileOf finds the file of a prompt that gc gives by file.
var fileOf = regexp.MustCompile(`^Read the file (/.*) and follow it as if it were my message\.$`)

// plan decides what is answered to a request.
func plan(c conversation, r *Request) speech {
	prompt, made := c.currentTurn()
	o := parseDirectives(prompt, c)
	if file := fileOf.FindStringSubmatch(prompt); file != nil {
		o.steps = [][]Call{{c.read(file[1])}}
	}
	said := speech{id: fmt.Sprintf("mock-%d", r.N), text: o.text, usage: o.usage}
	if made == 0 {
		said.delay = o.delay
	}
	if sum := joined.FindStringSubmatch(prompt); said.text == "" && sum != nil {
		said.text = sum[1] + "+" + sum[2]
	}
	if said.text == "" {
		said.text = fmt.Sprintf("This is answer %d.", r.N)
	}
	if len(c.tools) == 0 {
		o.steps = nil // an aside, as for a title, that repeats the prompt
	}
	for _, step := range o.steps {
		if made < len(step) {
			said.text, said.calls = "", number(step[made:], r.N)
			break
		}
		made -= len(step)
	}
	if len(said.calls) == 0 {
		said.slow = o.slow
	}
	if said.usage == (Usage{}) {
		said.usage = Usage{Input: tokens(len(r.Body)), Output: tokens(len(said.text) + 40*len(said.calls))}
	}
	return said
}

func number(calls []Call, request int) []Call {
	out := make([]Call, len(calls))
	for i, call := range calls {
		call.ID = fmt.Sprintf("call_mock_%d_%d", request, i)
		out[i] = call
	}
	return out
}

// parseDirectives reads the directives of a prompt.
func parseDirectives(prompt string, c conversation) directives {
	var o directives
	for {
		at := directive.FindStringSubmatchIndex(prompt)
		if at == nil {
			return o
		}
		name := prompt[at[2]:at[3]]
		arg, rest := argument(name, prompt[at[1]:])
		prompt = rest
		o.applyDirective(name, arg, c)
	}
}

// argument cuts the directive's argument off the text behind its colon.
func argument(name, text string) (arg, rest string) {
	if name == "call" {
		called, behind, _ := strings.Cut(text, ":")
		decoder := json.NewDecoder(strings.NewReader(behind))
		var raw json.RawMessage
		if decoder.Decode(&raw) == nil {
			end := decoder.InputOffset()
			return called + ":" + string(raw), strings.TrimPrefix(behind[end:], "]]")
		}
	}
	arg, rest, _ = strings.Cut(text, "]]")
	return arg, rest
}

func (o *directives) applyDirective(name, arg string, c conversation) {
	run := func(command string) Call {
		tool, arguments := c.shell(command)
		return Call{Name: tool, Arguments: arguments}
	}
	switch name {
	case "text":
		o.text = arg
	case "count":
		n, _ := strconv.Atoi(arg) // not a number is 0 by rule
		var words strings.Builder
		for i := range n {
			fmt.Fprintf(&words, "word-%d ", i+1)
		}
		o.text = strings.TrimSpace(words.String())
	case "tool":
		o.steps = append(o.steps, []Call{run(arg)})
	case "tools":
		var step []Call
		for command := range strings.SplitSeq(arg, ";;") {
			step = append(step, run(command))
		}
		o.steps = append(o.steps, step)
	case "steps":
		count, command, _ := strings.Cut(arg, ":")
		n, _ := strconv.Atoi(count) // not a number is 0 by rule
		for range n {
			o.steps = append(o.steps, []Call{run(command)})
		}
	case "call":
		tool, arguments, _ := strings.Cut(arg, ":")
		o.steps = append(o.steps, []Call{{Name: tool, Arguments: json.RawMessage(arguments)}})
	case "delay":
		o.delay = seconds(arg)
	case "slow":
		o.slow = seconds(arg)
	case "usage":
		var n [4]int
		for i, word := range strings.SplitN(arg, ",", len(n)) {
			n[i], _ = strconv.Atoi(strings.TrimSpace(word)) // not a number is 0 by rule
		}
		o.usage = Usage{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3]}
	}
}

func seconds(arg string) time.Duration {
	n, _ := strconv.ParseFloat(arg, 64) // not a number is 0 by rule
	return time.Duration(n * float64(time.Second))
}
