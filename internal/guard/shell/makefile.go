package shell

import (
	"slices"
	"strings"
)

// makeOptions describes the options of make that pass recipes to it.
var makeOptions = textOptions{
	short: "fE", values: "CIoW", attached: "jlO",
	long: map[string]byte{"--eval": 'E', "--file": 'f', "--makefile": 'f', "--directory": 'C', "--include-dir": 'C'},
}

// isMake reports whether a program is a version of make.
func isMake(program string) bool {
	return slices.Contains([]string{"make", "gmake", "bmake", "remake", "nmake"}, program)
}

// recipes handles recipes that make gets from its arguments or its input. What they run depends on
// variables of make, so the command is marked as hidden. Commands that are visible in them are
// collected as mentioned, which means that it is uncertain.
func (r *reader) recipes(c *Command, in input, depth int) {
	inner := behind(*c, "make")
	inner.Words, inner.Reads, inner.Writes, inner.More = nil, nil, nil, false
	makeOptions.each(c.Words[1:], func(letter byte, _ int, w Word) {
		switch {
		case letter == 'E':
			c.Hidden = "it runs recipes that stand on its command line"
			r.recipe(inner, w.Text, depth)
		case w.Text == "-" || stream(w):
			c.Hidden = "it runs recipes that come from its input or from another program"
			if in.known {
				r.recipe(inner, in.text, depth)
			}
		}
	})
}

// recipe collects what may be commands in the text of recipes of make, marked as mentioned.
func (r *reader) recipe(c Command, text string, depth int) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\ `, " "), string(Unknown), "$unknown")
	for line := range strings.SplitSeq(text, "\n") {
		for part := range strings.SplitSeq(line, ";") {
			r.mention(c, strings.TrimLeft(part, " \t@+-"), depth)
			for _, mark := range []string{":", "=", "$(shell", "${shell"} {
				if _, rest, ok := strings.Cut(part, mark); ok {
					r.mention(c, strings.TrimRight(strings.TrimLeft(rest, " \t@+-="), ")}"), depth)
				}
			}
		}
	}
}

// makeFlags handles an environment variable with options of make, such as MAKEFLAGS, by which make
// runs recipes.
func (r *reader) makeFlags(c Command, name string, value Word, depth int) {
	switch {
	case name == "MAKEFILES":
		if !value.Known || stream(value) || value.Text == "-" {
			r.hide(c, "it sets MAKEFILES, whose recipes make runs")
		}
	case value.Text == string(Unknown), strings.Contains(value.Text, "eval"), strings.Contains(value.Text, "-E"), strings.Contains(value.Text, "-f"), strings.Contains(value.Text, "file"), strings.Contains(value.Text, "SHELL"):
		r.recipe(c, value.Text, depth)
		r.hide(c, "it sets "+name+", by which make runs recipes")
	}
}
