package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"os/exec"
	"path/filepath"
	goruntime "runtime"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/fsutil"
	"gascity/internal/service/notify/answers"
	"gascity/internal/service/terminals"
	"gascity/internal/web"
	"gascity/internal/web/ui"
)

var _ cli.Links = (*Daemon)(nil)

// linkFile, in the state directory, opens the last link of the web console.
const linkFile = "web-link.html"

// linkPage redirects to a link.
const linkPage = `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={{.}}">
<title>gc web</title>
<p>The link works once, within 60 seconds: <a href="{{.}}">open the web console</a>.</p>
`

// SaveWebLink saves a page that opens the given link of the web console, and returns its path. It
// implements cli.Links.
func (*Daemon) SaveWebLink(root, link string) (string, error) {
	path := filepath.Join(root, citydir.StateFolder, linkFile)
	return path, saveLink(path, link)
}

// saveLink writes a page that redirects to a link. Only the user can read it.
func saveLink(path, link string) error {
	page, err := template.New("link").Parse(linkPage)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := page.Execute(&text, link); err != nil {
		return err
	}
	if err := fsutil.ReplaceFile(path, text.Bytes()); err != nil {
		return fmt.Errorf("cannot write the page that takes the browser to the link: %w", err)
	}
	return nil
}

// OpenFile opens a file with the default program of the desktop. It implements cli.Links.
func (*Daemon) OpenFile(ctx context.Context, path string) error {
	program := "xdg-open"
	if goruntime.GOOS == "darwin" {
		program = "open"
	}
	out, err := exec.CommandContext(ctx, program, path).CombinedOutput()
	if text := bytes.TrimSpace(out); err != nil && len(text) > 0 {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// webFile, in the state directory, stores the devices of the web console and its address.
const webFile = "web.json"

// pushKeyFile, in the state directory, has the key with which the city identifies itself at push services.
const pushKeyFile = "web-push.key"

// openWeb returns the web console of the city. It starts nothing.
func (k *controllerProcess) openWeb(version string) *web.Server {
	id := sha256.Sum256([]byte(k.root))
	return web.New(web.Options{
		File: filepath.Join(k.root, citydir.StateFolder, webFile), ID: hex.EncodeToString(id[:6]), Version: version,
		Events: k.store, Log: k.logger, Secrets: k.secrets, Now: k.daemon.opts.Now, Files: ui.Files(), Sources: ui.Sources, Push: k.webPush(),
		Terminal: web.NewTerminals(web.TerminalOptions{Log: k.logger, Secrets: k.secrets, Open: func(ctx context.Context, target, name string) (*terminals.Viewer, error) {
			return k.openViewer(ctx, target, name)
		}}),
		Answer: func(ctx context.Context, token string) (client.Pending, error) {
			return k.answers.Answer(ctx, answers.Press{Token: token})
		},
	})
}

// webSettings returns the section [web] of a configuration.
func webSettings(city *config.City) web.Settings {
	w := city.Web
	return web.Settings{Enabled: w.Enabled, Listen: w.Listen, Hosts: w.Hosts, CertFile: city.Abs(w.CertFile), KeyFile: city.Abs(w.KeyFile)}
}
