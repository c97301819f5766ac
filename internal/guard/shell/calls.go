package shell

import (
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// runners matches the code in a program of another language that starts a command, up to the command.
var runners = sync.OnceValue(pattern(`\b(?:system|popen[234]?|Popen|exec[lv]p?e?|execute|passthru|shell_exec|proc_open|pcntl_exec|getoutput|getstatusoutput|check_output|check_call|subprocess\.(?:run|call)|posix_spawnp?|os\.spawn\w+|execSync|execFile(?:Sync)?|spawn(?:Sync)?|Deno\.Command|Bun\.spawn(?:Sync)?|exec)\s*[( ]\s*`))

// plainExec reports whether a call in the text of a program only looks like one that runs a
// command. In JavaScript, exec may be a method of a regular expression.
func plainExec(language, text, call string) bool {
	switch language {
	case "node", "nodejs", "deno", "bun":
		return strings.HasPrefix(call, "exec") && !strings.HasPrefix(call, "execS") && !strings.HasPrefix(call, "execF") && !strings.Contains(text, "child_process")
	}
	return false
}

// opened matches a call of open in perl that runs a command, given as a list, up to that list.
var opened = sync.OnceValue(pattern(`\bopen\s*\(?[^,;]*,\s*["'](?:-\||\|-)["']\s*,\s*`))

// plainQuotes matches a text in quotes, but not in perl's quotes such as q.
var plainQuotes = sync.OnceValue(pattern("\"(?:[^\"\\\\]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|`[^`]*`"))

// pipes matches a pipe to or from a command in awk.
var pipes = sync.OnceValue(pattern(`\|&?\s*"((?:[^"\\]|\\.)*)"|("(?:[^"\\]|\\.)*"|[\w$)\]]+)\s*\|&?\s*getline`))

// backticks matches a command between backticks or after qx in perl, ruby and php.
var backticks = sync.OnceValue(pattern("`([^`]*)`|\\bqx\\s*[({\\[<|!/]([^)}\\]>|!/]*)"))

// perlQuotes matches the beginning of a text in perl's quotes q, qq or qw, up to the delimiter.
var perlQuotes = sync.OnceValue(pattern(`^(q[qw]?)\s*[({\[<|!]`))

// argumentsEnd matches what may follow the last argument of a call in perl.
var argumentsEnd = sync.OnceValue(pattern(`^\s*(?:$|[);}]|(?:or|and|xor|if|unless|while|until|for|foreach)\b)`))

// concatenation returns the mark that joins two texts in a language, or "" for languages in which the
// guard does not look for one.
func concatenation(language string) string {
	switch language {
	case "perl", "php":
		return "."
	case "lua", "luajit":
		return ".."
	}
	return ""
}

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
	found := slices.DeleteFunc(callsIn(text, runners()), func(m []int) bool { return plainExec(language, text, text[m[0]:m[1]]) })
	found = append(found, callsIn(text, opened())...)
	if len(found) > maxLiterals {
		r.hide(c, "a program of "+language+" runs too many commands to be checked")
		found = found[:maxLiterals]
	}
	for _, m := range found {
		r.call(c, language, argumentsAt(language, text, m[1]), depth)
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

// callsIn returns the start and the end of each match of a pattern in a program text; what the pattern matches ends where the
// arguments of a call begin. After the first call on a line, it leaves out matches in quotes, such as "exec" in system("docker exec
// web ls"). It keeps those in quotes with a brace, because code may stand between braces.
func callsIn(text string, call *regexp.Regexp) (found [][]int) {
	first, end := 0, 0 // where the arguments of the first call on a line begin, and where that line ends
	var inert [][]int  // the texts in quotes after first that run no code
	for _, m := range call.FindAllStringIndex(text, -1) {
		if m[0] >= end {
			first, end = m[1], lineEnd(text, m[1])
			inert = slices.DeleteFunc(plainQuotes().FindAllStringIndex(text[first:end], maxLiterals), func(q []int) bool {
				return strings.Contains(text[first+q[0]:first+q[1]], "{")
			})
		} else if slices.ContainsFunc(inert, func(q []int) bool { return first+q[0] < m[0] && m[0] < first+q[1] }) {
			continue
		}
		found = append(found, m)
	}
	return found
}

// lineEnd returns where the line ends that contains the index at of a text.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(text)
}

// argumentsAt returns the rest of a line of a program text, from the index at. In perl, where an expression may continue on the next
// line, it returns all of the text from there on.
func argumentsAt(language, text string, at int) string {
	if language == "perl" {
		return text[at:]
	}
	return text[at:lineEnd(text, at)]
}

// call collects the command that one call in a program text starts. arguments is the text of its
// arguments. If the first argument is not a plain text, c is marked as hidden. A call without
// arguments is ignored.
func (r *reader) call(c Command, language, arguments string, depth int) {
	if words := literals(language, arguments); len(words) > 1 {
		r.list(c, words, depth)
		return
	}
	literal, ok := literalOf(arguments)
	if !ok && language == "perl" {
		var quote string
		if quote, literal, ok = perlLiteral(arguments); quote == "qw" && ok {
			var words []Word
			for one := range strings.FieldsSeq(literal) {
				words = append(words, wordOf(strings.ReplaceAll(one, "$unknown", string(Unknown))))
			}
			if len(words) > 1 {
				r.list(c, words, depth)
				return
			}
		}
	}
	switch {
	case ok:
		r.mentionStrictly(c, literal, depth)
	case !strings.HasPrefix(arguments, ")"):
		r.hide(c, "a program of "+language+" runs a command that does not stand in it as a plain text")
	}
}

// list collects the command that a call starts with a list of words. It is marked as mentioned.
func (r *reader) list(c Command, words []Word, depth int) {
	at := len(r.found)
	c.Words = words
	r.command(c, input{redirected: true}, depth+1)
	r.markMentioned(at)
}

// perlLiteral returns the text at the beginning of the arguments that stands in perl's quotes q, qq
// or qw, and the name of these quotes. whole is false if the text contains a variable, or if the
// arguments continue behind it.
func perlLiteral(arguments string) (quote, text string, whole bool) {
	m := perlQuotes().FindStringSubmatchIndex(arguments)
	if m == nil {
		return "", "", false
	}
	quote = arguments[:m[3]]
	first, last := arguments[m[1]-1], arguments[m[1]-1]
	if i := strings.IndexByte("({[<", first); i >= 0 {
		last = ")}]>"[i]
	}
	var plain strings.Builder
	inside := 1
	for i := m[1]; i < len(arguments); i++ {
		one := arguments[i]
		switch {
		case one == '\\' && i+1 < len(arguments):
			i++
			if next := arguments[i]; quote == "qq" || next != '\\' && next != first && next != last {
				plain.WriteByte(one)
			}
			plain.WriteByte(arguments[i])
			continue
		case one == last:
			inside--
		case one == first:
			inside++
		case quote == "qq" && (one == '$' || one == '@'):
			return quote, "", false
		}
		if inside == 0 {
			text = plain.String()
			if quote == "qq" {
				text = unescaped(text)
			}
			return quote, text, argumentsEnd().MatchString(arguments[i+1:])
		}
		plain.WriteByte(one)
	}
	return quote, "", false
}

// literals returns the texts in quotes at the beginning of a list of arguments. If a value that is
// not in quotes follows directly, or in perl as the next argument, the last word is unknown. If the
// first text is only a part of an argument, which concatenates it with others, there are none.
func literals(language, arguments string) []Word {
	mark := concatenation(language)
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
		if mark != "" && strings.HasPrefix(list, mark) {
			if len(words) == 1 {
				return nil
			}
			words[len(words)-1] = Word{Text: string(Unknown), Split: true}
			return words
		}
		rest, ok := strings.CutPrefix(list, ",")
		if !ok {
			if list != "" && strings.IndexByte(")];}", list[0]) < 0 {
				words = append(words, Word{Text: string(Unknown), Split: true})
			}
			return words
		}
		list = strings.TrimLeft(rest, " \t\n[")
		if list != "" && strings.IndexByte("\"'`)]", list[0]) < 0 && (arguments[0] == '[' || language == "perl") {
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
