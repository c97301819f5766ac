package supportbundle

import (
	"context"
	"io"
	"path/filepath"
	goruntime "runtime"

	"gascity/client"
	"gascity/internal/citydir"
	"gascity/internal/doctor"
)

// WriteCity writes the bundle of a city: the state of its controller, its configuration, its logs
// and the findings of the doctor. It works without a controller.
func WriteCity(ctx context.Context, root string, d *doctor.Doctor, to io.Writer) (Summary, error) {
	c := &client.Client{Root: root, Version: d.Version}
	defer c.Close()
	state := filepath.Join(root, citydir.StateFolder)
	about := map[string]string{"version": d.Version, "go": goruntime.Version(), "os": goruntime.GOOS, "arch": goruntime.GOARCH, "city": root}
	pages := []Page{
		JSON("about.json", func(context.Context) (map[string]string, error) { return about, nil }),
		Tail("controller.log", filepath.Join(state, citydir.LogFolder, citydir.LogFile)),
		Events("events.jsonl", c, filepath.Join(state, citydir.StoreFile)),
		JSON("config.json", func(ctx context.Context) (client.Config, error) { return d.Loader.ShowConfig(ctx, root) }),
	}
	pages = append(pages, FromController(ctx, c)...)
	pages = append(pages, FromLogs(filepath.Join(state, citydir.LogFolder), citydir.LogFile)...)
	pages = append(pages, JSON("doctor.json", func(ctx context.Context) (found []doctor.Finding, err error) {
		err = d.Examine(ctx, root, func(f doctor.Finding) { found = append(found, f) })
		return found, err
	}))
	writer := Writer{Folder: "gc-" + filepath.Base(root), Now: d.Loader.Now(), Hide: d.Loader.Redactor(ctx, root).Text}
	return writer.Write(ctx, to, pages)
}
