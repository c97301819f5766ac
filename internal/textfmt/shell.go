package textfmt

import "strings"

// ShellWord returns text as one word of a command line for a POSIX shell. The text must not contain NUL.
func ShellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
