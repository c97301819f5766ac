package hookrunner

import (
	"os"
	"path/filepath"
	"syscall"
)

// onlyRootCanWrite reports whether this process is root, root owns every existing directory on the
// path, and no other user can write to any of them. A directory that cannot be read counts as
// writable by others.
func onlyRootCanWrite(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil || os.Geteuid() != 0 {
		return false
	}
	paths := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		paths = append(paths, real)
	}
	for _, dir := range paths {
		for ; ; dir = filepath.Dir(dir) {
			info, err := os.Lstat(dir)
			if err != nil && !os.IsNotExist(err) || err == nil && !ownedByRoot(info) {
				return false
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return true
}

// ownedByRoot reports whether root owns a directory and no other user can write to it. The mode of
// a symbolic link is ignored.
func ownedByRoot(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0 && (info.Mode()&os.ModeSymlink != 0 || info.Mode().Perm()&0o022 == 0)
}
