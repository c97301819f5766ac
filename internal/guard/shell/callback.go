package shell

import "strings"

// callbackOptions contains the options of shell builtins whose value is a script that the shell
// evaluates, such as -C of mapfile.
var callbackOptions = map[string]textOptions{
	"mapfile": {short: "C", values: "cdnOsu"}, "readarray": {short: "C", values: "cdnOsu"},
	"complete": {short: "C", values: "oAGFPSWX"}, "compgen": {short: "C", values: "oAGFPSWX"},
	"fc": {short: "e"},
}

// callbacks collects the commands in scripts that a builtin evaluates later, such as those bound to
// keys by bind. The caller adds the builtin itself.
func (r *reader) callbacks(c *Command, program string, depth int) {
	options, ok := callbackOptions[program]
	if !ok && program != "bind" && program != "jobs" {
		return
	}
	inner := behind(*c, program)
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	words := c.Words[1:]
	switch program {
	case "bind":
		for _, w := range words {
			if _, script, ok := strings.Cut(w.Text, ":"); ok && len(words) > 1 { // with an option, such as -x: a script
				r.text(inner, Word{Text: script, Known: w.Known}, input{}, depth)
			} else if ok { // without an option: text that is typed into the shell
				r.mention(inner, strings.Trim(strings.ReplaceAll(strings.TrimSpace(script), `\n`, "\n"), `"'`), depth)
			}
		}
		return
	case "jobs":
		if len(words) > 1 && words[0].Known && strings.HasPrefix(words[0].Text, "-") && strings.Contains(words[0].Text, "x") {
			inner.Words = words[1:]
			r.command(inner, input{}, depth+1)
		}
		return
	}
	options.each(words, func(_ byte, _ int, w Word) {
		if w.Known { // the shell appends arguments that the guard does not know
			w.Text += ` "$added"`
		}
		r.text(inner, w, input{}, depth)
	})
}
