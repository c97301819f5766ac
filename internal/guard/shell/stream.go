package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// captured returns the output of a command substitution such as $(echo x), as far as it is known
// without running it.
func (s *scope) captured(p *syntax.CmdSubst) input {
	if len(p.Stmts) != 1 || p.TempFile || p.ReplyVar {
		return input{}
	}
	return s.output(p.Stmts[0])
}

// output returns the output of a command, as far as it is known without running it.
func (s *scope) output(st *syntax.Stmt) input {
	program, words := s.plainCall(st)
	in := input{redirected: true, listed: s.lists(st, program, words)}
	args := make([]string, len(words))
	for i, w := range words {
		if !w.Known || w.Glob {
			return in
		}
		args[i] = w.Text
	}
	if program == "cat" && len(args) == 0 && len(st.Redirs) == 1 {
		return s.redirectText(st.Redirs[0], in)
	}
	if len(st.Redirs) > 0 {
		return in
	}
	switch {
	case program == "echo" && len(args) > 0 && (args[0] == "-n" || args[0] == "-e" || args[0] == "-ne" || args[0] == "-en"):
		text := strings.Join(args[1:], " ")
		if strings.Contains(args[0], "e") {
			return formatted(strings.ReplaceAll(text, "%", "%%"), nil, in)
		} else if strings.Contains(text, `\`) {
			return in
		}
		return input{redirected: true, known: true, text: text}
	case program == "echo" && (len(args) == 0 || !strings.HasPrefix(args[0], "-") && !strings.Contains(strings.Join(args, ""), `\`)):
		return input{redirected: true, known: true, text: strings.Join(args, " ")}
	case program == "printf" && len(args) > 0 && !strings.HasPrefix(args[0], "-"):
		return formatted(args[0], args[1:], in)
	}
	return in
}

// formatted returns the output of printf with this format and arguments; otherwise if that is not
// known without running it.
func formatted(format string, args []string, otherwise input) input {
	if strings.Contains(format, `\c`) || !onlyStrings(format) {
		return otherwise
	}
	var out strings.Builder
	for {
		text, used, err := expand.Format(nil, format, args)
		if err != nil {
			return otherwise
		}
		out.WriteString(text)
		if args = args[min(used, len(args)):]; used == 0 || len(args) == 0 || out.Len() > maxValue {
			break
		}
	}
	if out.Len() > maxValue || strings.ContainsRune(out.String(), Unknown) {
		return otherwise
	}
	return input{redirected: true, known: true, text: strings.TrimRight(out.String(), "\n")}
}

// onlyStrings reports whether a format of printf has no other verbs than %s, %d and %%.
func onlyStrings(format string) bool {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i >= len(format) || strings.IndexByte("sd%", format[i]) < 0 {
			return false
		}
	}
	return true
}

// redirectText returns the text of a here-document as input; for any other redirection it returns
// otherwise.
func (s *scope) redirectText(r *syntax.Redirect, otherwise input) input {
	var w Word
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w = s.document(r)
	case syntax.WordHdoc:
		w = s.word(r.Word)
	default:
		return otherwise
	}
	return input{redirected: true, known: w.Known, text: w.Text}
}

// listers contains the programs that print names of files, and the words without which they print
// something else. withers contains the options that make them print something else. sieves contains
// the programs that only filter or sort such names.
var (
	listers = map[string][]string{
		"ls": nil, "find": nil, "fd": nil, "fdfind": nil, "rg": {"-l", "--files", "--files-with-matches", "-il", "-rl"},
		"grep": {"-l", "-rl", "-lr", "-ril", "-rli", "-lri", "-rln", "--files-with-matches"}, "git": {"ls-files", "--name-only"},
	}
	withers = []string{"-printf", "-fprintf", "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch", "--format", "--pretty", "-c", "--replace"}
	sieves  = []string{"grep", "sort", "uniq", "head", "tail"}
)

// lists reports whether a command prints only names of files that it finds below the working
// directory of the script. program and words are what plainCall returns for it.
func (s *scope) lists(st *syntax.Stmt, program string, words []Word) bool {
	if pipe, ok := st.Cmd.(*syntax.BinaryCmd); ok && pipe.Op == syntax.Pipe {
		last, _ := s.plainCall(pipe.Y)
		program, words = s.plainCall(pipe.X)
		return slices.Contains(sieves, last) && s.lists(pipe.X, program, words)
	}
	needs, ok := listers[program]
	if !ok {
		return false
	}
	for _, w := range words {
		option, _, _ := strings.Cut(w.Text, "=")
		if elsewhere(w) || slices.Contains(withers, option) {
			return false
		}
	}
	return len(needs) == 0 || slices.ContainsFunc(words, func(w Word) bool { return slices.Contains(needs, w.Text) })
}

// plainCall returns the program and the arguments of a simple command. It returns "" if the command
// sets variables, is of another kind, or has an unknown program.
func (s *scope) plainCall(st *syntax.Stmt) (string, []Word) {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return "", nil
	}
	words := s.words(call.Args)
	if len(words) == 0 || !words[0].Known {
		return "", nil
	}
	return words[0].Text, words[1:]
}
