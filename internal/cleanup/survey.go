// Package cleanup finds and removes what a city has left outside its own files: processes, sockets
// and state. It stops the processes, removes the files, and checks the result.
//
// It removes only names that are listed here and in package citydir, only directories and files of
// this user, and follows no symbolic link. It never removes a working directory.
package cleanup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/proc"
)

// generatedNames are the names that gc creates in the state directory, generatedRuntimeNames those
// in the runtime directory. Files with other names belong to the user.
var generatedNames = []string{
	citydir.StoreFile, citydir.StoreFile + "-wal", citydir.StoreFile + "-shm", citydir.StoreFile + "-journal",
	citydir.StoreFile + ".bak-v*", citydir.StoreFile + ".damaged-*", citydir.LockFile, citydir.LogFolder, citydir.HooksFolder, citydir.ProviderFolder,
	citydir.ChoiceFile + "*", "worker.token", "worker.port*", "web.json", "web-link.html", "answers.json", "web-push.key", ".tmp-*", "outpost", "visit.lock",
}

var generatedRuntimeNames = []string{"control.sock*", "worker.sock*", "worker-*.port", ".worker-*.port*", ".tmp-*"}

// Site is the set of places where one city may have left something.
type Site struct {
	Root string // the city directory
	// Bases are the user's directories that may contain the sockets.
	Bases []string
	// Elsewhere are the selections of providers on other hosts.
	Elsewhere []string
}

// files returns the files and directories that gc has created.
func (s Site) files() client.Remains {
	r := client.Remains{City: s.Root, Folders: []client.Folder{}, Places: append([]string{}, s.Elsewhere...), Processes: []client.Process{}}
	s.classify(&r, filepath.Join(s.Root, citydir.StateFolder), generatedNames)
	s.classify(&r, filepath.Join(s.Root, citydir.RuntimeFolder), generatedRuntimeNames)
	for _, dir := range s.sockets(&r) {
		r.Folders = append(r.Folders, diskUsage(dir))
	}
	return r
}

// classify adds the entries of a directory to r. Entries whose names are in made were created by gc and will be removed;
// all others are listed as kept.
func (s Site) classify(r *client.Remains, dir string, made []string) {
	if !s.isOwned(r, dir) {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.Foreign = append(r.Foreign, client.Obstacle{What: dir, Why: "it cannot be read: chmod 700 it"})
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !slices.ContainsFunc(made, func(p string) bool { ok, err := filepath.Match(p, e.Name()); return ok && err == nil }) {
			r.Kept = append(r.Kept, path)
			continue
		}
		f := diskUsage(path)
		if strings.HasPrefix(e.Name(), citydir.StoreFile) {
			r.History += f.Bytes
		}
		r.Folders = append(r.Folders, f)
	}
	if len(entries) == 0 {
		r.Folders = append(r.Folders, diskUsage(dir))
	}
}

// Survey returns the files and processes of the city. It changes nothing.
func (s Site) Survey() (client.Remains, error) {
	r := s.files()
	living, err := s.findProcesses()
	for _, info := range living {
		r.Processes = append(r.Processes, client.Process{PID: info.PID, PPID: info.PPID, Command: info.Comm, State: info.State.String()})
	}
	return r, err
}

// isOwned reports whether path is a directory of this user. It records anything else at path as an
// obstacle.
func (s Site) isOwned(r *client.Remains, path string) bool {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err == nil && citydir.IsOwned(path):
		return true
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		err = errors.New("it is a symbolic link that gc did not create: remove it and its target by hand")
	case err == nil:
		err = errors.New("it is not a folder of this user, so gc did not create it")
	}
	r.Foreign = append(r.Foreign, client.Obstacle{What: path, Why: err.Error()})
	return false
}

// sockets returns the existing directories for sockets. If the chosen directory is not owned by
// this user, it is recorded as an obstacle; other such directories are ignored.
func (s Site) sockets(r *client.Remains) (dirs []string) {
	chosen, all := citydir.Sockets(s.Root, s.Bases...)
	for _, dir := range all {
		above := filepath.Dir(dir)
		if citydir.IsOwned(above) && (dir == chosen && s.isOwned(r, dir) || citydir.IsOwned(dir)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// diskUsage returns the number and the total size of the files below path. It follows no links.
func diskUsage(path string) client.Folder {
	f := client.Folder{Path: path}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is a figure for people
		}
		if info, err := e.Info(); err == nil && !e.IsDir() {
			f.Files++
			f.Bytes += info.Size()
		}
		return nil
	})
	return f
}

// findProcesses returns the processes of the city except this one: those with its mark, and session
// leaders with a path in one of its directories for sockets in their arguments. The latter are
// shims, terminal servers and shared connections.
func (s Site) findProcesses() ([]proc.Info, error) {
	marked, err := proc.FindByEnv(proc.CityKey, s.Root)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot list the processes of the city: %w", err)
	}
	found := map[proc.ID]proc.Info{}
	for _, m := range marked {
		found[m.ID] = m.Info
	}
	all, err := proc.List()
	if err != nil {
		return nil, fmt.Errorf("cannot list the processes of the city: %w", err)
	}
	_, dirs := citydir.Sockets(s.Root, s.Bases...)
	for _, info := range all {
		if info.UID == os.Geteuid() && info.SID == info.PID && !info.Ended() && isServing(info.PID, dirs) {
			found[info.ID] = info
		}
	}
	var out []proc.Info
	for _, info := range found {
		if info.PID != os.Getpid() {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b proc.Info) int { return a.PID - b.PID })
	return out, nil
}

// others returns the same as findProcesses, but without the child processes of this process. An open runtime provider uses
// these children and stops them when it is closed; if gc killed one, the provider would start it again.
func (s Site) others() ([]proc.Info, error) {
	living, err := s.findProcesses()
	self := os.Getpid()
	return slices.DeleteFunc(living, func(info proc.Info) bool { return info.PPID == self }), err
}

// isServing reports whether a process serves a session of the city: one of its arguments, or the title that it has set,
// contains a path below one of the directories for sockets.
func isServing(pid int, dirs []string) bool {
	argv, err := proc.Argv(pid)
	return err == nil && slices.ContainsFunc(dirs, func(dir string) bool {
		within := func(arg string) bool { return strings.HasPrefix(arg, dir+"/") }
		return slices.ContainsFunc(argv, within) || len(argv) == 1 && strings.Contains(argv[0], dir+"/")
	})
}
