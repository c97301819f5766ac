package tmux

import "golang.org/x/sys/unix"

// foregroundOf returns the process group in the foreground of the terminal of a process; 0
// if that is not known.
func foregroundOf(pid int) int {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return max(0, int(info.Eproc.Tpgid))
}
