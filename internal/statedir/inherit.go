package statedir

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// lockFD is the file descriptor of the folder's lock that the starter passes to the shim.
const lockFD = 3

// Inherit returns the lock that the starter passed to this process and closes all other inherited file descriptors. Else an
// agent that runs for weeks could keep open a pipe of the shell that started it.
func Inherit(dir Folder) (*os.File, error) {
	syscall.CloseOnExec(lockFD)
	lock := os.NewFile(lockFD, dir.Lock())
	if !SameFile(lock, dir.Lock()) {
		return nil, fmt.Errorf("the directory %s was not locked by gc; the command shim is only for gc itself, do not run it by hand", dir)
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
		// Files that this process opened have the close-on-exec flag; inherited files do not.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd) // the file is not used
		}
	}
	return lock, nil
}
