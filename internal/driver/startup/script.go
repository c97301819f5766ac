package startup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Script is a program for sh that becomes an agent, for places to which an environment
// cannot be given: nothing of it is in an argument, and it removes itself when it is read.
type Script struct {
	Dir   string   // where the agent runs; it must exist
	Unset []string // taken out of what the place gives
	Env   []string // "K=V", set on top; names that no shell can have are left out
	Argv  []string // the program that it becomes
}

// Write writes the script into a folder, made with mode 0700 when needed, for the user
// alone (0600), and returns its absolute path.
func (s Script) Write(dir string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "start-*.sh") // 0600
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "rm -f -- %s\n%s", quote(f.Name()), s.text())
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func (s Script) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cd -- %s || exit 126\n", quote(s.Dir))
	for _, name := range s.Unset {
		if isName(name) {
			fmt.Fprintf(&b, "unset %s\n", name)
		}
	}
	for _, entry := range s.Env {
		if name, value, _ := strings.Cut(entry, "="); isName(name) {
			fmt.Fprintf(&b, "export %s=%s\n", name, quote(value))
		}
	}
	b.WriteString("exec")
	for _, word := range s.Argv {
		b.WriteString(" " + quote(word))
	}
	b.WriteByte('\n')
	return b.String()
}

// isName reports whether a shell can have a variable of that name.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
