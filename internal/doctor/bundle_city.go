package doctor

import (
	"context"
	"io"
	"path/filepath"
	goruntime "runtime"

	"gascity/client"
	"gascity/internal/citydir"
)

// WriteBundle writes the bundle of a city: the state of its controller, its configuration, its logs
// and the findings of the doctor. It works without a controller.
func WriteBundle(ctx context.Context, root string, d *Doctor, to io.Writer) (BundleSummary, error) {
	c := &client.Client{Root: root, Version: d.Version}
	defer c.Close()
	state := filepath.Join(root, citydir.StateFolder)
	about := map[string]string{"version": d.Version, "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH, "city": root}
	pages := []bundlePage{
		newJSONPage("about.json", func(context.Context) (map[string]string, error) { return about, nil }),
		newTailPage("controller.log", filepath.Join(state, citydir.LogFolder, citydir.LogFile)),
		newEventsPage("events.jsonl", c, func(ctx context.Context, limit int) ([]client.Event, error) { return d.StoredEvents(ctx, root, limit) }),
		newJSONPage("config.json", func(ctx context.Context) (client.Config, error) { return d.Loader.ShowConfig(ctx, root) }),
	}
	pages = append(pages, newControllerPages(ctx, c)...)
	pages = append(pages, newLogPages(filepath.Join(state, citydir.LogFolder), citydir.LogFile)...)
	pages = append(pages, newJSONPage("doctor.json", func(ctx context.Context) (found []client.Finding, err error) {
		err = d.Examine(ctx, root, func(f client.Finding) { found = append(found, f) })
		return found, err
	}))
	writer := bundleWriter{Folder: "gc-" + filepath.Base(root), Now: d.Loader.Now(), Hide: d.Loader.Redactor(ctx, root).Text}
	return writer.Write(ctx, to, pages)
}
