package driver

import (
	"fmt"
	"strings"

	"gascity/internal/textfmt"
)

// LaunchScript describes a shell script that sets an environment and runs an agent, for backends that cannot set an
// environment. No value is visible in an argument of a process, and the script deletes itself when it runs.
type LaunchScript struct {
	Dir   string   // the working directory; must exist
	Unset []string // variables to remove from the backend's environment
	Env   []string // "K=V", set after Unset; entries whose names are not valid shell variables are skipped
	Argv  []string // the program that the script runs with exec
}

// Write writes the script with mode 0600 into dir and returns its absolute path. It creates dir with mode 0700 if it is
// missing.
func (s LaunchScript) Write(dir string) (path string, err error) {
	return writeScript(dir, "start-*.sh", s.text())
}

// text returns the content of the script without the line that removes it.
func (s LaunchScript) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cd -- %s || exit 126\n", textfmt.ShellWord(s.Dir))
	for _, name := range s.Unset {
		if isName(name) {
			fmt.Fprintf(&b, "unset %s\n", name)
		}
	}
	for _, entry := range s.Env {
		if name, value, _ := strings.Cut(entry, "="); isName(name) {
			fmt.Fprintf(&b, "export %s=%s\n", name, textfmt.ShellWord(value))
		}
	}
	b.WriteString("exec")
	for _, word := range s.Argv {
		b.WriteString(" " + textfmt.ShellWord(word))
	}
	return b.String()
}

// isName reports whether name is a valid name of a shell variable.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
