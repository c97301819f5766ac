package web

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"gascity/client"
	"gascity/internal/server/controlapi"
)

// StartPage is what a person without a city needs to make one. All fields are required.
type StartPage struct {
	Home   string // the user's home directory: only directories below it are listed
	Folder string // the proposed folder
	// AgentCLIs returns the agent CLIs that gc supports.
	AgentCLIs func(ctx context.Context) ([]StartCLI, error)
	// Create makes a city and starts it.
	Create func(ctx context.Context, req StartRequest) (Started, error)
	// Created is called after the answer with the new city was written.
	Created func()
}

// StartCLI is an agent CLI that a first agent can run.
type StartCLI struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // as the program reports it
	Tested  string `json:"tested,omitempty"`  // the versions with which gc was tested
	State   string `json:"state"`             // not installed, found, untested
}

// StartRequest describes a city to make.
type StartRequest struct {
	Folder   string `json:"folder"`             // absolute, or relative to the home directory; it may be missing
	Provider string `json:"provider,omitempty"` // an agent CLI; empty: a shell
	Prompt   string `json:"prompt,omitempty"`   // the first prompt; empty: none
}

// Started is a city that runs.
type Started struct {
	Root  string `json:"root"`
	Agent string `json:"agent"`
	Link  string `json:"link"` // signs this browser in to the web console of the city
}

// startState is what the page shows first.
type startState struct {
	Home   string     `json:"home"`
	Folder string     `json:"folder"`
	CLIs   []StartCLI `json:"clis"`
}

// startFolder is a directory that completes a path.
type startFolder struct {
	Path string `json:"path"`
	City bool   `json:"city,omitempty"` // it has a city.toml already
}

// StartRoutes returns the routes of the start page, for [Server.Begin].
func (s *Server) StartRoutes(p StartPage) []controlapi.Mounted {
	list := func(r *http.Request) (startState, error) {
		clis, err := p.AgentCLIs(r.Context())
		return startState{p.Home, p.Folder, clis}, err
	}
	folders := func(r *http.Request) ([]startFolder, error) { return p.folders(r.FormValue("path")), nil }
	create := func(r *http.Request) (Started, error) {
		req, err := decode[StartRequest](r)
		if err != nil {
			return Started{}, err
		}
		if req.Folder, err = p.absolute(req.Folder); err != nil {
			return Started{}, err
		}
		return p.Create(context.WithoutCancel(r.Context()), req)
	}
	return []controlapi.Mounted{
		{ID: "start-page", Method: http.MethodGet, Path: "/v1/start", Scope: client.ScopeManage, Handler: startHandler(s, list, nil)},
		{ID: "start-folders", Method: http.MethodGet, Path: "/v1/start/folders", Scope: client.ScopeManage, Handler: startHandler(s, folders, nil)},
		{ID: "start-city", Method: http.MethodPost, Path: "/v1/start", Scope: client.ScopeManage, MaxBody: bigBody, Changes: true, Handler: startHandler(s, create, p.Created)},
	}
}

// startHandler answers with a result as JSON, and then calls done; nil does nothing.
func startHandler[T any](s *Server, serve func(r *http.Request) (T, error), done func()) http.Handler {
	api := s.api()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out, err := serve(r)
		if err == nil {
			err = write(w, out)
		}
		if err != nil {
			api.Refuse(w, r, err)
		} else if done != nil {
			done()
		}
	})
}

// absolute returns the path that a person typed as an absolute one.
func (p StartPage) absolute(typed string) (string, error) {
	typed = strings.TrimSpace(typed)
	switch {
	case typed == "":
		return "", fmt.Errorf("%w: the folder is missing", client.ErrInvalid)
	case strings.ContainsRune(typed, 0):
		return "", fmt.Errorf("%w: the folder has a zero byte", client.ErrInvalid)
	case typed == "~" || strings.HasPrefix(typed, "~/"):
		typed = p.Home + typed[1:]
	case !filepath.IsAbs(typed):
		typed = filepath.Join(p.Home, typed)
	}
	return filepath.Clean(typed), nil
}

// The limits of a completion.
const (
	maxFolders      = 50
	maxFolderSearch = 4000 // entries of a directory that are read
)

// folders returns the directories that complete a typed path. Only directories below the home directory
// are listed, and none that is hidden or that the user cannot read. Symbolic links do not lead out.
func (p StartPage) folders(typed string) []startFolder {
	out := []startFolder{}
	whole := strings.HasSuffix(typed, "/") || typed == "" || typed == "~" // the path is a directory, not the beginning of a name
	path, err := p.absolute(typed)
	if typed == "" {
		path, err = p.Home, nil
	}
	if err != nil {
		return out
	}
	dir, prefix := path, ""
	if !whole {
		dir, prefix = filepath.Split(path)
	}
	if dir = filepath.Clean(dir); !p.isListed(dir) {
		return out
	}
	for _, name := range subfolders(dir, prefix) {
		if len(out) == maxFolders {
			break
		}
		full := filepath.Join(dir, name)
		if !p.isListed(full) || unix.Access(full, unix.R_OK|unix.X_OK) != nil {
			continue
		}
		_, err := os.Stat(filepath.Join(full, client.CityFile))
		out = append(out, startFolder{full, err == nil})
	}
	return out
}

// isListed reports whether a directory may be listed: after all symbolic links it is the home directory
// or below it, and no part of its path there is hidden.
func (p StartPage) isListed(dir string) bool {
	home, err := filepath.EvalSymlinks(p.Home)
	if err != nil {
		return false
	}
	for base, path := range map[string]string{p.Home: dir, home: resolved(dir)} {
		inside, err := filepath.Rel(base, path)
		if err != nil || !filepath.IsLocal(inside) {
			return false
		}
		if inside != "." && slices.ContainsFunc(strings.Split(inside, "/"), func(part string) bool { return strings.HasPrefix(part, ".") }) {
			return false
		}
	}
	return true
}

// resolved returns a path without symbolic links; the root, if it cannot be resolved.
func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "/"
	}
	return real
}

// subfolders returns the names of directories in dir that begin with a prefix, in order.
func subfolders(dir, prefix string) []string {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	entries, _ := file.ReadDir(maxFolderSearch) // what was read before an error is enough
	var names []string
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && isDir(filepath.Join(dir, e.Name())) {
			if strings.HasPrefix(strings.ToLower(e.Name()), strings.ToLower(prefix)) {
				names = append(names, e.Name())
			}
		}
	}
	slices.Sort(names)
	return names
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
