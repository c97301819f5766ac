package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// text is prose of a file: a comment, a message or a page.
type text struct {
	words string
	at    []int  // offset in the file of each byte of words
	name  string // the declared name that a doc comment begins with
}

type fileKind int

const (
	kindNone fileKind = iota
	kindGo
	kindPage    // prose as a whole
	kindScript  // # begins a comment
	kindConfig  // TOML: keys are names
	kindProgram // JavaScript and TypeScript: only comments are prose
	kindTable   // SQL: only comments are prose
)

// kindOf returns how a file is read, by its name and for scripts by its first line. Recorded
// screens, output of other programs and generated JSON are not read.
func kindOf(tree fs.FS, name string) fileKind {
	switch path.Ext(name) {
	case ".go":
		return kindGo
	case ".md", ".txtar":
		return kindPage
	case ".toml":
		return kindConfig
	case ".sh", ".py", ".yml", ".yaml":
		return kindScript
	case ".js", ".ts":
		return kindProgram
	case ".sql":
		return kindTable
	case "":
		if path.Base(name) == "Makefile" || beginsScript(tree, name) {
			return kindScript
		}
	}
	return kindNone
}

func beginsScript(tree fs.FS, name string) bool {
	file, err := tree.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	first := make([]byte, 2)
	n, _ := file.Read(first) // what cannot be read is no script
	return string(first[:n]) == "#!"
}

var (
	scriptMargin = regexp.MustCompile(`\n[ \t]*#+`)
	programCode  = regexp.MustCompile(`(?m)^(.*?(^|[ \t])//|.*$)`)
	configNames  = regexp.MustCompile(`(?m)^[ \t]*(\[.*\]|[\w.-]+[ \t]*=)`)
	tableCode    = regexp.MustCompile(`(?m)^.*?(--|$)`)
	statement    = regexp.MustCompile(`(?is)\b(select\s.*\sfrom|insert\s+(or\s+\w+\s+)?into|update\s+\w+\s+set|create\s+(table|index)|delete\s+from|alter\s+table)\b`)
	tagNames     = regexp.MustCompile(`\b(json|toml|yaml|default):"[^"]*"`)
)

// textsOf returns the prose of a file.
func textsOf(kind fileKind, source []byte) []text {
	switch kind {
	case kindGo:
		return goTexts(source)
	case kindScript:
		return []text{whole(blank(source, scriptMargin))}
	case kindProgram:
		return []text{whole(blank(source, programCode))}
	case kindConfig:
		return []text{whole(blank(blank(source, scriptMargin), configNames))}
	case kindTable:
		return []text{whole(blank(source, tableCode))}
	default:
		return []text{whole(source)}
	}
}

// blank replaces what the pattern matches by spaces of the same length.
func blank(source []byte, pattern *regexp.Regexp) []byte {
	return pattern.ReplaceAllFunc(source, func(match []byte) []byte { return bytes.Repeat([]byte(" "), len(match)) })
}

func whole(source []byte) text {
	t := text{words: string(source), at: make([]int, len(source))}
	for i := range t.at {
		t.at[i] = i
	}
	return t
}

// goReader collects the comments and messages of one Go file.
type goReader struct {
	texts   []text
	code    int // line of the last token that is no comment
	comment text
	beside  bool     // comment stands behind code on its line
	line    int      // of the end of comment
	names   []string // identifiers in the code line behind comment
	behind  int      // line of names; 0 before it
}

// goTexts returns the comments and messages of a Go file. Adjacent line comments are one text. A
// string without white space is a name and no message, and so is SQL.
func goTexts(source []byte) []text {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var lexer scanner.Scanner
	lexer.Init(file, source, func(token.Position, string) {}, scanner.ScanComments)
	r := &goReader{}
	for {
		pos, kind, literal := lexer.Scan()
		offset, line := file.Offset(pos), file.Line(pos)
		if kind == token.EOF {
			r.flush()
			return r.texts
		}
		if kind == token.COMMENT {
			r.addComment(literal, offset, line)
			continue
		}
		if kind == token.STRING {
			r.addString(literal, offset)
		}
		if kind == token.IDENT && len(r.comment.words) > 0 && (r.behind == 0 || r.behind == line) {
			r.names, r.behind = append(r.names, literal), line
		}
		r.code = line
	}
}

// addComment adds a comment, to the one before it if they are adjacent line comments.
func (r *goReader) addComment(literal string, offset, line int) {
	if len(r.comment.words) == 0 || r.beside || line != r.line+1 || r.behind != 0 || !strings.HasPrefix(literal, "//") {
		r.flush()
		r.beside = r.code == line
	} else {
		r.comment.words += "\n"
		r.comment.at = append(r.comment.at, offset)
	}
	body := literal[2:]
	skip := 2
	for strings.HasPrefix(body, " ") || strings.HasPrefix(body, "\t") {
		body, skip = body[1:], skip+1
	}
	r.comment.words += body
	for i := range len(body) {
		r.comment.at = append(r.comment.at, offset+skip+i)
	}
	if body == "" { // a blank line
		r.comment.words, r.comment.at = r.comment.words+" ", append(r.comment.at, offset)
	}
	r.line = line + strings.Count(literal, "\n")
}

// flush ends the current comment and begins an empty one.
func (r *goReader) flush() {
	if t := r.comment; t.words != "" {
		if first := firstWord(t.words); slices.Contains(r.names, first) {
			t.name = first
		}
		r.texts = append(r.texts, t)
	}
	r.comment, r.names, r.behind = text{}, nil, 0
}

// addString adds the inside of a string literal, with escapes as white space.
func (r *goReader) addString(literal string, offset int) {
	inside := []byte(literal[1 : len(literal)-1])
	if literal[0] == '"' {
		for i := 0; i+1 < len(inside); i++ {
			if inside[i] == '\\' {
				inside[i] = ' '
				if inside[i+1] != '"' {
					inside[i+1] = ' '
				}
				i++
			}
		}
	} else {
		inside = blank(inside, tagNames)
	}
	if !bytes.ContainsAny(inside, " \t\n") || statement.Match(inside) {
		return
	}
	t := whole(inside)
	for i := range t.at {
		t.at[i] += offset + 1
	}
	r.texts = append(r.texts, t)
}
