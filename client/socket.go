package client

import (
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

// MaxSocketPath is the length in bytes up to which a socket is put beside the
// city. Systems end at 104 or 108, with a terminating zero.
const MaxSocketPath = 100

// publicFolder is where short paths begin: the same for every process of the
// machine, whatever its environment, and short.
const publicFolder = "/tmp"

// lockFile is the file that the city's controller keeps locked; its process id is in it.
const lockFile = ".gc/controller.lock"

// holder returns the process that holds the lock of the city, 0 if none does or it is unknown.
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
	n, _ := file.ReadAt(text, 0) // an empty file names no process
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// PublicPlace reports whether everybody can make folders beside dir, so that a
// user of it has to check its owner.
func PublicPlace(dir string) bool { return filepath.Dir(dir) == publicFolder }

// cityIDBytes is how much of the hash of a root names it in a short path.
const cityIDBytes = 6

// SocketPath returns the path of the control socket of the city at root, which
// is absolute and free of symbolic links as [FindCity] returns it:
// "<root>/.runtime/control.sock", or where that is too long a short path below
// "/tmp/gc-<uid>" that depends on root and user alone. Both ends of the socket
// use this function, so they always agree; nothing is created.
func SocketPath(root string) string {
	path := filepath.Join(root, ".runtime", "control.sock")
	if len(path) <= MaxSocketPath {
		return path
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(publicFolder, "gc-"+strconv.Itoa(os.Getuid()), hex.EncodeToString(sum[:cityIDBytes]), "control.sock")
}

// dial connects to the controller. Whatever shows that none is there is a
// [NoControllerError].
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx)
	}
	path := c.Socket
	if path == "" {
		path = SocketPath(c.Root)
	}
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

func checkFolders(dir string) error {
	if above := filepath.Dir(dir); PublicPlace(above) {
		if err := checkOwner(above); err != nil {
			return err
		}
	}
	return checkOwner(dir)
}

// checkOwner refuses a folder of another user: in a public place such as /tmp
// anybody could have made it, and would then answer in our controller's place.
// Root may speak to everybody's controller.
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

func (c *Client) dialError(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTDIR):
		return &NoControllerError{City: c.city(), Err: err, Holder: c.holder()}
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: the controller at %s belongs to another user", ErrForbidden, path)
	}
	return err
}

func (c *Client) city() string {
	if c.Root != "" {
		return c.Root
	}
	return c.Socket
}
