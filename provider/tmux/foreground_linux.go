package tmux

import (
	"bytes"
	"os"
	"strconv"
)

// foregroundOf returns the process group in the foreground of the terminal of a process; 0
// if that is not known.
func foregroundOf(pid int) int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const tpgid = 5 // after the name: state, ppid, pgrp, session, tty
	if len(fields) <= tpgid {
		return 0
	}
	group, err := strconv.Atoi(string(fields[tpgid]))
	if err != nil {
		return 0
	}
	return max(0, group)
}
