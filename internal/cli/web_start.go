package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/fsutil"
)

// webStartPage is what gc web --start --json prints when the page can be opened.
type webStartPage struct {
	Link string `json:"link"`
	File string `json:"file"` // opens the link in a browser
}

// askForStartPage returns nil if a person wants the page that makes a city; missing is why there is no
// city.
func (a *app) askForStartPage(missing error) error {
	if !a.IsTerminal(a.Stdin) || a.JSON || !a.confirms("There is no city in "+a.Dir+". Make one in a browser?") {
		return fmt.Errorf("%w; to make one in a browser: gc web --start", missing)
	}
	return nil
}

// webStart serves the page on which a person makes a city, until the city runs.
func (a *app) webStart(cmd *cobra.Command, start client.WebRequest, open bool) error {
	maker := &cityMaker{app: a, dev: start.Dev}
	return a.daemon.ServeStartPage(cmd.Context(), StartPage{
		Folder: a.Path(a.City), Listen: start.Listen, Dev: start.Dev, Create: maker.create,
		Ready: func(link, file string) error {
			if open {
				if err := a.daemon.OpenFile(cmd.Context(), file); err != nil {
					return fmt.Errorf("cannot open a browser: %w; run gc web --start without --open, and open the link by hand", err)
				}
			}
			err := a.Show(webStartPage{link, file}, nil, func(render.Formatter) string { return link + "\n" })
			a.Messagef("Open the link within 60 seconds, and make a city there. To open it with a file instead: %s. This command ends when the city runs; Ctrl-C ends it now.", file)
			return err
		},
	})
}

// cityMaker makes the city that the start page asks for.
type cityMaker struct {
	*app
	dev string // see client.WebRequest

	mu       sync.Mutex
	made     string // the folder whose city.toml was written; guarded by mu
	provider string // for which agent CLI; guarded by mu
	text     []byte // what was written; guarded by mu
}

// create does what gc init, gc start, gc web and gc send do. If a step fails, the same request can be
// made again.
func (m *cityMaker) create(parent context.Context, req StartRequest) (StartedCity, error) {
	if !m.mu.TryLock() {
		return StartedCity{}, fmt.Errorf("%w: a city is being made; wait for it", client.ErrRefused)
	}
	defer m.mu.Unlock()
	ctx, cancel := context.WithTimeout(parent, defaultStartTimeout)
	defer cancel()
	changed, err := m.writeChosen(ctx, req)
	if err != nil {
		return StartedCity{}, pathError(err)
	}
	root, err := client.FindCity(req.Folder)
	if err != nil {
		return StartedCity{}, err
	}
	c := m.ClientOf(root)
	defer c.Close()
	status, err := m.startNew(ctx, root, c)
	if err == nil && changed { // the controller may run since an earlier request
		if _, err = c.Reload(ctx); err == nil {
			status, err = c.Status(ctx)
		}
	}
	if err != nil {
		return StartedCity{}, err
	}
	out := StartedCity{Root: root}
	if len(status.Agents) > 0 {
		out.Agent = status.Agents[0].Name
	}
	if req.Prompt != "" && out.Agent != "" {
		if _, err := c.Nudge(ctx, out.Agent, client.NudgeRequest{Text: req.Prompt, Key: "start-page", Source: "start page"}); err != nil {
			return out, err
		}
	}
	if _, err := c.StartWeb(ctx, client.WebRequest{Dev: m.dev}); err != nil {
		return out, err
	}
	code, err := c.NewWebCode(ctx, client.WebCodeRequest{Scope: client.ScopeManage})
	if err != nil {
		return out, err
	}
	out.Link = code.Link
	m.Messagef("The city %s runs. Its web console is open in the browser; to sign in another one: gc web --city %s", root, root)
	return out, nil
}

// writeChosen writes the city.toml of a request. If an earlier request has written one for another agent CLI, it is replaced, unless somebody
// has changed it meanwhile; changed is then true.
func (m *cityMaker) writeChosen(ctx context.Context, req StartRequest) (changed bool, err error) {
	var providers []string
	if req.Provider != "" {
		providers = []string{req.Provider}
	}
	path := filepath.Join(req.Folder, client.CityFile)
	switch {
	case m.made == "" || m.made != req.Folder:
		if err := m.writeCity(ctx, req.Folder, providers); err != nil {
			return false, err
		}
	case m.provider == req.Provider:
		return false, nil
	default:
		if changed, err = true, m.replaceCity(ctx, path, providers); err != nil {
			return false, err
		}
	}
	m.made, m.provider = req.Folder, req.Provider
	m.text, err = os.ReadFile(path)
	return changed, err
}

// replaceCity replaces the city.toml of an earlier request.
func (m *cityMaker) replaceCity(ctx context.Context, path string, providers []string) error {
	text, err := m.daemon.StarterConfig(ctx, filepath.Base(filepath.Dir(path)), providers)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, m.text) {
		return fmt.Errorf("%w: %s was changed meanwhile; choose the agent CLI there", client.ErrRefused, path)
	}
	return fsutil.ReplaceFile(path, text)
}

// startNew starts the controller of a city, unless an earlier request did.
func (m *cityMaker) startNew(ctx context.Context, root string, c *client.Client) (client.Status, error) {
	status, err := c.Status(ctx)
	if !errors.Is(err, client.ErrNoController) {
		return status, err
	}
	status, err = m.launch(ctx, root, c)
	if cmdenv.IsSilent(err) {
		err = fmt.Errorf("%w: %s has mistakes; see the terminal of gc web", client.ErrInvalid, filepath.Join(root, client.CityFile))
	}
	return status, err
}

// pathError returns an error about a folder as one that the page can show.
func pathError(err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%w: %w; choose another folder", client.ErrRefused, err)
	}
	return err
}
