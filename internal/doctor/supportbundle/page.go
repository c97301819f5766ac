package supportbundle

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/store"
	"gascity/internal/textfmt"
)

const (
	askTime = 5 * time.Second // for a controller to answer

	shortTail  = 256 << 10 // of the output of one session
	longTail   = 1 << 20   // of the controller's log
	manyEvents = 5000
	manyLogs   = 64 // sessions whose output is kept, those that printed last
	indent     = "  "
)

// JSON returns a page with the answer to a question.
func JSON[T any](name string, ask func(context.Context) (T, error)) Page {
	return Page{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		value, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		return marshal(value)
	}}
}

func marshal(value any) ([]byte, error) {
	out, err := json.MarshalIndent(value, "", indent)
	return append(out, '\n'), err
}

// Events returns a page with the last events of a city, one on each line: as its controller
// lists them, or, if it does not answer, as the database has them.
func Events(name string, c *client.Client, database string) Page {
	return Page{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		asking, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		past, err := c.PastEvents(asking, 0)
		events := past.Events
		if err != nil {
			events, err = store.LatestEvents(ctx, database, manyEvents)
		}
		var out bytes.Buffer
		encode := json.NewEncoder(&out)
		for _, e := range events[max(0, len(events)-manyEvents):] {
			err = errors.Join(err, encode.Encode(e))
		}
		return out.Bytes(), err
	}}
}

// FromController returns the pages that a city's controller knows. Of one that does not
// answer only the first is named, as missing.
func FromController(ctx context.Context, c *client.Client) []Page {
	asking, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	status, err := c.Status(asking)
	pages := []Page{JSON("status.json", func(context.Context) (client.Status, error) { return status, err })}
	if err != nil {
		return pages
	}
	pages = append(pages,
		JSON("plan.json", c.Plan),
		JSON("queue.json", func(ctx context.Context) ([]client.Receipt, error) { return c.Queue(ctx, "", client.WithEnded) }),
		JSON("pending.json", func(ctx context.Context) ([]client.Pending, error) { return c.Pending(ctx, "", client.WithEnded) }),
		JSON("waits.json", func(ctx context.Context) ([]client.Wait, error) { return c.Waits(ctx, client.WithEnded) }),
		JSON("budgets.json", c.Budgets),
		Page{Name: "metrics.txt", Read: c.Metrics},
	)
	for _, agent := range status.Agents {
		name, folder := agent.Name, "agents/"+fileName(agent.Name)
		pages = append(pages,
			JSON(folder+"/session.json", func(ctx context.Context) (client.Session, error) { return c.Session(ctx, name) }),
			JSON(folder+"/explain.json", func(ctx context.Context) (client.Explanation, error) { return c.Explain(ctx, name) }),
			Page{Name: folder + "/screen.txt", Printed: true, Read: func(ctx context.Context) ([]byte, error) {
				out, err := c.Peek(ctx, name, 0)
				return []byte(out.Text), err
			}},
		)
	}
	return pages
}

// fileName makes one name of a path of an agent's name.
func fileName(name string) string { return strings.ReplaceAll(name, "/", "--") }

// FromLogs returns the pages with what sessions have printed last, as far as a folder has
// it. It has other logs, too: those of these names are left out.
func FromLogs(folder string, others ...string) []Page {
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return nil // the pattern is a good one
	}
	files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(others, filepath.Base(file)) })
	newest(files)
	var pages []Page
	for _, file := range files[:min(len(files), manyLogs)] {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		pages = append(pages, Page{Name: "output/" + name + ".txt", Printed: true, Read: func(context.Context) ([]byte, error) { return printed(file) }})
	}
	return pages
}

// Tail returns a page with the end of a file of text. A file that is not there is no page.
func Tail(name, file string) Page {
	return Page{Name: name, Printed: true, Read: func(context.Context) ([]byte, error) {
		out, err := tail(file, longTail)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return out, err
	}}
}

// printed returns the end of a raw log, of its previous file too, without control sequences.
func printed(file string) ([]byte, error) {
	raw, err := tail(file, shortTail)
	if missing := shortTail - len(raw); missing > 0 && err == nil {
		former, formerErr := tail(file+".1", missing)
		if formerErr != nil && !errors.Is(formerErr, fs.ErrNotExist) {
			err = formerErr
		}
		raw = append(former, raw...)
	}
	var out bytes.Buffer
	if _, stripErr := (&textfmt.Stripper{Out: &out}).Write(raw); stripErr != nil {
		err = errors.Join(err, stripErr)
	}
	return out.Bytes(), err
}

// tail returns at most the last n bytes of a file, in whole lines: half a credential
// is not known for one.
func tail(path string, n int) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if _, err := file.Seek(max(0, info.Size()-int64(n)), io.SeekStart); err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(file, int64(n)))
	if info.Size() > int64(n) {
		out = out[bytes.IndexByte(out, '\n')+1:]
	}
	return out, err
}

// newest sorts files by their last change, the latest first.
func newest(files []string) {
	changed := map[string]int64{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			changed[file] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(changed[b], changed[a]) })
}
