package proc

import (
	"errors"
	"fmt"
	"net"
)

// PeerUID returns the user ID and process ID at the other end of a Unix connection. The kernel recorded them when the
// connection was made; the pid may have been reused since. The pid is 0 if the kernel does not report it.
func PeerUID(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err == nil {
		var peerErr error
		err = raw.Control(func(fd uintptr) { uid, pid, peerErr = peerOf(int(fd)) })
		err = errors.Join(err, peerErr)
	}
	if err != nil {
		return -1, 0, fmt.Errorf("read peer credentials: %w", err)
	}
	return uid, pid, nil
}
