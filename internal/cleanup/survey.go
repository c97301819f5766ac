// Package cleanup is what a city has left outside of its own files: processes, sockets,
// state. It finds all of it, ends what runs, removes the rest, and looks again.
//
// What it removes is named here and in package citydir, is a folder or file of this user,
// and is reached without a symbolic link. Working directories are none of it.
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

// markKey is in the environment of all that a city starts.
const markKey = "GC_CITY_PATH"

// generatedNames are the names that gc makes in the folder for state, and in that for sockets. Others are
// somebody else's, also if they resemble them.
var generatedNames = []string{
	citydir.StoreFile, citydir.StoreFile + "-wal", citydir.StoreFile + "-shm", citydir.StoreFile + "-journal",
	citydir.StoreFile + ".bak-v*", citydir.StoreFile + ".damaged-*", citydir.LockFile, citydir.LogFolder, citydir.HooksFolder, citydir.ProviderFolder,
	citydir.ChoiceFile + "*", "worker.token", "worker.port*", "outpost", "visit.lock",
}

var generatedRuntimeNames = []string{"control.sock*", "worker.sock*", "worker-*.port", ".worker-*.port*"}

// Site is where one city is looked for.
type Site struct {
	Root string // the city directory
	// Bases are the folders of the user in which the sockets may be.
	Bases []string
	// Elsewhere are the selections of places beyond the folders of this machine.
	Elsewhere []string
}

// files finds what gc has made on the disk.
func (s Site) files() client.Remains {
	r := client.Remains{City: s.Root, Folders: []client.Folder{}, Places: append([]string{}, s.Elsewhere...), Processes: []client.Process{}}
	s.classify(&r, filepath.Join(s.Root, citydir.StateFolder), generatedNames)
	s.classify(&r, filepath.Join(s.Root, citydir.RuntimeFolder), generatedRuntimeNames)
	for _, dir := range s.sockets(&r) {
		r.Folders = append(r.Folders, diskUsage(dir))
	}
	return r
}

// classify finds in a folder what gc has made, and what somebody else has.
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

// Survey finds what there is. It changes nothing.
func (s Site) Survey() (client.Remains, error) {
	r := s.files()
	living, err := s.findProcesses()
	for _, info := range living {
		r.Processes = append(r.Processes, client.Process{PID: info.PID, PPID: info.PPID, Command: info.Comm, State: info.State.String()})
	}
	return r, err
}

// isOwned reports whether a folder of ours is at path. Something else there is an obstacle.
func (s Site) isOwned(r *client.Remains, path string) bool {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err == nil && citydir.IsOwned(path):
		return true
	case err == nil && info.Mode().Type() == fs.ModeSymlink:
		err = errors.New("it is a symbolic link, which gc has not made: remove it, and what it leads to, by hand")
	case err == nil:
		err = errors.New("it is not a folder of this user: gc has not made it")
	}
	r.Foreign = append(r.Foreign, client.Obstacle{What: path, Why: err.Error()})
	return false
}

// sockets returns the folders for sockets that are there. One that is not ours is an
// obstacle if the city has chosen it, and else somebody else's.
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

// diskUsage adds up what is at path. Links are not followed.
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

// findProcesses returns the processes of the city except this one: those with its mark, and leaders of
// sessions with a folder for its sockets in their arguments, which are shims, servers of
// terminals and shared connections.
func (s Site) findProcesses() ([]proc.Info, error) {
	marked, err := proc.FindByEnv(markKey, s.Root)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("cannot look for the processes of the city: %w", err)
	}
	found := map[proc.ID]proc.Info{}
	for _, m := range marked {
		found[m.ID] = m.Info
	}
	all, err := proc.List()
	if err != nil {
		return nil, fmt.Errorf("cannot look for the processes of the city: %w", err)
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

// others is findProcesses without the children of this process: an open backend uses them and
// ends them when it is closed. One that was killed would be started again.
func (s Site) others() ([]proc.Info, error) {
	living, err := s.findProcesses()
	self := os.Getpid()
	return slices.DeleteFunc(living, func(info proc.Info) bool { return info.PPID == self }), err
}

// isServing reports whether an argument of a process is below one of the folders, or the title that
// it has given itself names something there.
func isServing(pid int, dirs []string) bool {
	argv, err := proc.Argv(pid)
	return err == nil && slices.ContainsFunc(dirs, func(dir string) bool {
		within := func(arg string) bool { return strings.HasPrefix(arg, dir+"/") }
		return slices.ContainsFunc(argv, within) || len(argv) == 1 && strings.Contains(argv[0], dir+"/")
	})
}
