package app

import (
	"cmp"
	"path/filepath"

	"gascity/internal/citydir"
	"gascity/internal/proc"
	"gascity/internal/service/changes"
)

// gitFolder is the directory with temporary git directories, in the city's runtime directory.
const gitFolder = "git"

// newChanges returns the service that reads changed files. sockets is the city's runtime directory.
func (k *controllerProcess) newChanges(sockets string) *changes.Service {
	environ := k.daemon.Environ
	config := environ.Get("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(cmp.Or(environ.Get("HOME"), "/"), ".config")
	}
	return changes.New(changes.Options{
		Program: func() (string, error) { return proc.FindProgram("git", "/", environ.Get("PATH")) },
		Dir:     filepath.Join(sockets, gitFolder),
		Ignore:  filepath.Join(config, "git", "ignore"),
		Hidden:  []string{filepath.Join(k.root, citydir.StateFolder), filepath.Join(k.root, citydir.RuntimeFolder), sockets},
	})
}
