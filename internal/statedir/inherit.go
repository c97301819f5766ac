package statedir

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFD is where the starter leaves the folder's lock.
const lockFD = 3

// Inherit takes the lock from the starter and closes every other descriptor that
// came with it: an agent that runs for weeks must not hold a pipe of the shell
// that ran the command.
func Inherit(dir Folder) (*os.File, error) {
	syscall.CloseOnExec(lockFD)
	lock := os.NewFile(lockFD, dir.Lock())
	if !SameFile(lock, dir.Lock()) {
		return nil, fmt.Errorf("%s is not locked by the starter; a shim is started by gc, not by hand", dir)
	}
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= lockFD {
			continue
		}
		// Our own all close on exec; what came through one does not.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // it was nothing of ours
		}
	}
	return lock, nil
}
