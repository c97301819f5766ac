package shell

import (
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// runners matches the code in a program of another language that starts a command. The group is
// what follows, the command.
var runners = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:system|popen[234]?|Popen|exec[lv]p?e?|execute|passthru|shell_exec|proc_open|pcntl_exec|getoutput|getstatusoutput|check_output|check_call|subprocess\.(?:run|call)|posix_spawnp?|os\.spawn\w+|execSync|execFile(?:Sync)?|spawn(?:Sync)?|Deno\.Command|Bun\.spawn(?:Sync)?|exec)\s*[( ]\s*(.*)`)
})

// plainExec reports whether a call in the text of a program only looks like one that runs a
// command. In JavaScript, exec may be a method of a regular expression.
func plainExec(language, text, call string) bool {
	switch language {
	case "node", "nodejs", "deno", "bun":
		return strings.HasPrefix(call, "exec") && !strings.HasPrefix(call, "execS") && !strings.HasPrefix(call, "execF") && !strings.Contains(text, "child_process")
	}
	return false
}

// opened matches a call of open in perl that runs a command, given as a list.
var opened = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bopen\s*\(?[^,;]*,\s*["'](?:-\||\|-)["']\s*,\s*(.*)`)
})

// pipes matches a pipe to or from a command in awk.
var pipes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\|&?\s*"((?:[^"\\]|\\.)*)"|("(?:[^"\\]|\\.)*"|[\w$)\]]+)\s*\|&?\s*getline`)
})

// backticks matches a command between backticks or after qx in perl, ruby and php.
var backticks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("`([^`]*)`|\\bqx\\s*[({\\[<|!/]([^)}\\]>|!/]*)")
})

// perlQuotes matches a text in perl's quotes q, qq, qw or qx with a delimiter that quoted knows.
var perlQuotes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^q[qwx]?\s*[({\[<|!]`)
})

// callers contains the languages, by program name without version, in which gc looks for calls of
// commands.
var callers = sync.OnceValue(set("awk gawk mawk nawk perl python pypy ruby node nodejs deno bun php lua luajit tclsh rscript osascript"))

// calls collects the commands that a program text in another language, such as python, starts. If a
// command is not a plain text in the program, the guard cannot see it, and c is marked as hidden.
func (r *reader) calls(c Command, program, text string, depth int) {
	language := strings.ToLower(strings.TrimRight(program, "0123456789."))
	if !callers()[language] {
		return
	}
	for _, m := range runners().FindAllStringSubmatch(text, maxLiterals) {
		if !plainExec(language, text, m[0]) {
			r.call(c, language, m[1], depth)
		}
	}
	for _, m := range opened().FindAllStringSubmatch(text, maxLiterals) {
		r.call(c, language, m[1], depth)
	}
	switch language {
	case "perl", "ruby", "php":
		for _, m := range backticks().FindAllStringSubmatch(text, maxLiterals) {
			r.mentionStrictly(c, unescaped(m[1]+m[2]), depth)
		}
	}
	if !strings.HasSuffix(language, "awk") {
		return
	}
	for _, m := range pipes().FindAllStringSubmatch(text, maxLiterals) {
		switch {
		case strings.HasPrefix(m[2], `"`):
			r.mentionStrictly(c, unescaped(m[2][1:len(m[2])-1]), depth)
		case m[2] != "":
			r.hide(c, "a program of "+program+" runs a command that does not stand in it as a plain text")
		default:
			r.nested(c, unescaped(m[1]), input{redirected: true, piped: true}, depth)
		}
	}
}

// call collects the command that one call in a program text starts. arguments is the text of its
// arguments. If the first argument is not a plain text, c is marked as hidden. A call without
// arguments, or with a text in perl's q quotes, is ignored.
func (r *reader) call(c Command, language, arguments string, depth int) {
	if words := literals(arguments); len(words) > 1 {
		at := len(r.found)
		c.Words = words
		r.command(c, input{redirected: true}, depth+1)
		for i := at; i < len(r.found); i++ {
			r.found[i].Mentioned = true
		}
		return
	}
	literal, ok := literalOf(arguments)
	if !ok {
		inQuotes := language == "perl" && perlQuotes().MatchString(arguments) // mentions handles this text
		if inQuotes || strings.HasPrefix(arguments, ")") {
			return
		}
		r.hide(c, "a program of "+language+" runs a command that does not stand in it as a plain text")
		return
	}
	r.mentionStrictly(c, literal, depth)
}

// literals returns the texts in quotes at the beginning of a list of arguments. If other values
// follow, the last word is unknown.
func literals(arguments string) []Word {
	list := strings.TrimLeft(arguments, "[( \t\n")
	var words []Word
	for list != "" && strings.IndexByte("\"'`", list[0]) >= 0 {
		end := 1
		for end < len(list) && list[end] != list[0] {
			if list[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(list) {
			return nil
		}
		words = append(words, wordOf(strings.ReplaceAll(unescaped(list[1:end]), "$unknown", string(Unknown))))
		list = strings.TrimLeft(list[end+1:], " \t\n")
		rest, ok := strings.CutPrefix(list, ",")
		if !ok {
			if list != "" && strings.IndexByte(")];}", list[0]) < 0 {
				words = append(words, Word{Text: string(Unknown), Split: true})
			}
			return words
		}
		list = strings.TrimLeft(rest, " \t\n[")
		if list != "" && strings.IndexByte("\"'`)]", list[0]) < 0 && arguments[0] == '[' {
			return append(words, Word{Text: string(Unknown), Split: true})
		}
	}
	return words
}

// literalOf returns the text in quotes at the beginning of the arguments. whole is false if
// it is only a part of the argument, which continues behind it.
func literalOf(arguments string) (text string, whole bool) {
	if arguments == "" || strings.IndexByte("\"'`", arguments[0]) < 0 {
		return "", false
	}
	for i := 1; i < len(arguments); i++ {
		switch arguments[i] {
		case '\\':
			i++
		case arguments[0]:
			rest := strings.TrimLeft(arguments[i+1:], " \t\n")
			return unescaped(arguments[1:i]), rest == "" || strings.IndexByte("),;]}'", rest[0]) >= 0 || arguments[0] == '"' && rest[0] == '"'
		}
	}
	return "", false
}

// unescaped returns a string literal with its escapes replaced.
func unescaped(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 >= len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		base, digits := 0, 0
		switch c := text[i]; {
		case c == 'n':
			out.WriteByte('\n')
		case c == 't':
			out.WriteByte('\t')
		case c == 'x' || c == 'u':
			base, digits = 16, 2
			if c == 'u' {
				digits = 4
			}
			i++
		case c >= '0' && c <= '7':
			base, digits = 8, 3
		default:
			out.WriteByte(c)
		}
		if base == 0 {
			continue
		}
		end := i
		for end < len(text) && end < i+digits && isDigit(text[end], base) {
			end++
		}
		if n, err := strconv.ParseUint(text[i:end], base, 16); err == nil {
			out.WriteRune(rune(n))
		}
		i = end - 1
	}
	return out.String()
}

// isDigit reports whether c is a digit in the base.
func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}

// shellEscapes returns the scripts that an editor, a debugger or a database client would run by its
// command for the shell, such as "!" in ed. text is what the program gets as input.
func shellEscapes(program, text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			line = strings.TrimLeft(line, " \t:+")
			script, ok := "", false
			switch program {
			case "ed", "red", "dc":
				line = strings.TrimLeft(line, "0123456789.,$;%/' ")
				script, ok = strings.CutPrefix(strings.TrimLeft(line, "rweEW "), "!")
			case "vi", "vim", "nvim", "view", "ex":
				script, ok = strings.CutPrefix(strings.TrimLeft(line, "%rw "), "!")
				script = strings.NewReplacer(`\!`, "!", `\%`, "%", `\#`, "#").Replace(script)
			case "gdb", "lldb":
				if script, ok = strings.CutPrefix(line, "!"); !ok {
					script, ok = strings.CutPrefix(line, "shell ")
				}
			case "sqlite3":
				for _, mark := range []string{".shell ", ".system "} {
					if rest, found := strings.CutPrefix(line, mark); found {
						script, ok = strings.TrimSpace(rest), true
						if whole, quoted := literalOf(script); quoted && !yield(whole) {
							return
						}
					}
				}
			default:
				return
			}
			if ok && strings.TrimSpace(script) != "" && !yield(script) {
				return
			}
		}
	}
}
