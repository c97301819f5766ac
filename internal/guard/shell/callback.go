package shell

import "strings"

// callbackOptions returns the options of a shell builtin whose value is a script that the shell
// evaluates, such as -C of mapfile. It returns false if the builtin has none.
func callbackOptions(program string) (textOptions, bool) {
	switch program {
	case "mapfile", "readarray":
		return textOptions{short: "C", values: "cdnOsu"}, true
	case "complete", "compgen":
		return textOptions{short: "C", values: "oAGFPSWX"}, true
	case "fc":
		return textOptions{short: "e"}, true
	}
	return textOptions{}, false
}

// callbacks collects the commands in scripts that a builtin evaluates later, such as those bound to
// keys by bind. The caller adds the builtin itself.
func (r *reader) callbacks(c *Command, program string, depth int) {
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
	options, ok := callbackOptions(program)
	if !ok {
		return
	}
	options.each(words, func(_ byte, _ int, w Word) {
		if w.Known { // the shell appends arguments that the guard does not know
			w.Text += ` "$added"`
		}
		r.text(inner, w, input{}, depth)
	})
}
