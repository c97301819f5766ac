package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// MaxSocketPath is the maximum length, in bytes, of the path of a socket in the city directory.
// Systems allow 104 or 108 bytes with a terminating zero.
const MaxSocketPath = 100

// publicFolder is the parent directory of short socket paths. It is the same for every process of
// the machine, independent of its environment.
const publicFolder = "/tmp"

// lockFile is the file that the city's controller locks. It contains the controller's process id.
const lockFile = ".gc/controller.lock"

// holder returns the id of the process that holds the lock of the city, or 0 if there is none or it
// is unknown.
func (c *Client) holder() int {
	if c.Root == "" {
		return 0
	}
	file, err := os.Open(filepath.Join(c.Root, lockFile))
	if err != nil {
		return 0
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0
	}
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0) // an empty file has no process id
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// PublicPlace reports whether every user can create directories next to dir. A user of dir must
// then check its owner.
func PublicPlace(dir string) bool { return filepath.Dir(dir) == publicFolder }

// cityIDBytes is how many bytes of the hash of a city's root are in a short path.
const cityIDBytes = 6

// SocketPath returns the path of the control socket of the city at root, which must be absolute and
// free of symbolic links, as [FindCity] returns it. The path is "<root>/.runtime/control.sock". If
// that is too long, it is a short path below "/tmp/gc-<uid>" that depends only on root and user.
// Client and server both use this function. It creates nothing.
func SocketPath(root string) string {
	path := filepath.Join(root, ".runtime", "control.sock")
	if len(path) <= MaxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(publicFolder, "gc-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:cityIDBytes]), "control.sock")
}

// dial connects to the controller. If no controller listens, the error is a [NoControllerError].
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx)
	}
	path := cmp.Or(c.Socket, SocketPath(c.Root))
	if err := checkFolders(filepath.Dir(path)); err != nil {
		return nil, c.dialError(path, err)
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, c.dialError(path, err)
	}
	return conn, nil
}

// checkFolders returns an error if the directory of the socket does not belong to this user. If the directory above it is in
// a place where other users can make directories, such as /tmp, that one must belong to this user too.
func checkFolders(dir string) error {
	if above := filepath.Dir(dir); PublicPlace(above) {
		if err := checkOwner(above); err != nil {
			return err
		}
	}
	return checkOwner(dir)
}

// checkOwner returns an error if dir belongs to another user. In a public directory such as /tmp
// another user could have created it, to answer instead of the controller. Root may use the
// controllers of all users.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if uid := os.Getuid(); ok && uid != 0 && int(owner.Uid) != uid {
		return fmt.Errorf("%w: %s belongs to user %d", ErrForbidden, dir, owner.Uid)
	}
	return nil
}

// dialError explains why the control socket cannot be opened: no controller listens there, or it belongs to another
// user. Another error is returned unchanged.
func (c *Client) dialError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return &NoControllerError{City: c.city(), Err: err, Holder: c.holder()}
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the controller at %s belongs to another user", ErrForbidden, path)
	}
	return err
}

// city returns the name of the city for errors: its directory, or the socket if the directory is not known.
func (c *Client) city() string {
	return cmp.Or(c.Root, c.Socket)
}
