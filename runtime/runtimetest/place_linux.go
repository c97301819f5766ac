package runtimetest

import (
	"bytes"
	"fmt"
	"os"
)

// isZombie reports whether the process is a zombie. The state letter is after the last ")" of the
// command name.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // it exited between the two checks
	}
	_, rest, found := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
	return found && len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}
