package app

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	goruntime "runtime"
	"slices"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/cli"
	"gascity/internal/config"
	"gascity/internal/doctor/supportbundle"
	"gascity/internal/redact"
	"gascity/internal/service/credentials"
)

// Bundle keeps the contract of cli.Daemon.
func (d *Daemon) Bundle(ctx context.Context, root string, to io.Writer) (cli.Bundled, error) {
	c := &client.Client{Root: root, Version: d.opts.Version}
	defer c.Close()
	state := filepath.Join(root, citydir.StateFolder)
	about := map[string]string{"version": d.opts.Version, "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH, "city": root}
	pages := []supportbundle.Page{
		supportbundle.JSON("about.json", func(context.Context) (map[string]string, error) { return about, nil }),
		supportbundle.Tail("controller.log", filepath.Join(state, citydir.LogFolder, citydir.LogFile)),
		supportbundle.Events("events.jsonl", c, filepath.Join(state, citydir.StoreFile)),
		supportbundle.JSON("config.json", func(ctx context.Context) (client.Config, error) { return d.ShowConfig(ctx, root) }),
	}
	pages = append(pages, supportbundle.FromController(ctx, c)...)
	pages = append(pages, supportbundle.FromLogs(filepath.Join(state, citydir.LogFolder), citydir.LogFile)...)
	pages = append(pages, supportbundle.JSON("doctor.json", func(ctx context.Context) (found []cli.Finding, err error) {
		err = d.Doctor(ctx, root, func(f cli.Finding) { found = append(found, f) })
		return found, err
	}))
	writer := supportbundle.Writer{Folder: "gc-" + filepath.Base(root), Now: d.opts.Now(), Hide: d.collectSecrets(ctx, root).Text}
	made, err := writer.Write(ctx, to, pages)
	out := cli.Bundled{Pages: made.Pages, Missing: make([]cli.Missing, len(made.Missing))}
	for i, m := range made.Missing {
		out.Missing[i] = cli.Missing(m)
	}
	return out, err
}

// collectSecrets are the credentials of a city that can be known without a controller: what
// stands in the environment, in files and in baseCity.toml. No command is run.
func (d *Daemon) collectSecrets(ctx context.Context, root string) *redact.Redactor {
	known := &redact.Redactor{}
	known.HideEnvironment(d.env)
	r, err := d.read(ctx, root)
	if err != nil {
		return known
	}
	source := d.secrets(root, known.Hide)
	for _, name := range slices.Sorted(maps.Keys(r.city.Credentials)) {
		c := r.city.Credentials[name]
		if c.Command != "" {
			continue
		}
		from := credentials.Source{Env: c.Env, File: r.city.Abs(c.File)}
		if v, err := from.Read(ctx, credentials.Environment{Lookup: source.Env, Now: d.opts.Now}); err == nil {
			known.Hide(string(v.Secret))
		}
	}
	hideUpstreams(ctx, known, &r.desired, source, config.SecretLiteral, config.SecretEnv, config.SecretFile)
	return known
}
