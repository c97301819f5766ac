package tty

import "golang.org/x/sys/unix"

// Foreground returns the process group in the foreground of the terminal of a process; 0
// if that is not known.
func Foreground(pid int) int {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return max(0, int(info.Eproc.Tpgid))
}
