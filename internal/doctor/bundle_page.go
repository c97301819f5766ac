package doctor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity/client"
	"gascity/internal/fsutil"
	"gascity/internal/textfmt"
)

const (
	pageAskTime = 5 * time.Second // limit for an answer of the controller

	shortTail  = 256 << 10 // bytes of the output of one session
	longTail   = 1 << 20   // bytes of the controller's log
	manyEvents = 5000
	manyLogs   = 64 // maximum number of sessions with output, the latest ones
	pageIndent = "  "
)

// newJSONPage returns a page with the result of ask as JSON.
func newJSONPage[T any](name string, ask func(context.Context) (T, error)) bundlePage {
	return bundlePage{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		value, err := ask(ctx)
		if err != nil {
			return nil, err
		}
		out, err := json.MarshalIndent(value, "", pageIndent)
		return append(out, '\n'), err
	}}
}

// newEventsPage returns a page with the last events of a city, one per line. They come from the
// controller or, if it does not answer, from stored, which reads at most limit events without it.
func newEventsPage(name string, c *client.Client, stored func(ctx context.Context, limit int) ([]client.Event, error)) bundlePage {
	return bundlePage{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		asking, cancel := context.WithTimeout(ctx, pageAskTime)
		defer cancel()
		past, err := c.PastEvents(asking, 0)
		events := past.Events
		if err != nil {
			events, err = stored(ctx, manyEvents)
		}
		var out bytes.Buffer
		encode := json.NewEncoder(&out)
		for _, e := range events[max(0, len(events)-manyEvents):] {
			err = errors.Join(err, encode.Encode(e))
		}
		return out.Bytes(), err
	}}
}

// newControllerPages returns the pages that the city's controller provides. If it does not answer,
// only status.json is returned, which is then missing.
func newControllerPages(ctx context.Context, c *client.Client) []bundlePage {
	asking, cancel := context.WithTimeout(ctx, pageAskTime)
	defer cancel()
	status, err := c.Status(asking)
	pages := []bundlePage{newJSONPage("status.json", func(context.Context) (client.Status, error) { return status, err })}
	if err != nil {
		return pages
	}
	pages = append(pages,
		newJSONPage("plan.json", c.Plan),
		newJSONPage("queue.json", func(ctx context.Context) ([]client.Receipt, error) { return c.Queue(ctx, "", client.WithEnded) }),
		newJSONPage("pending.json", func(ctx context.Context) ([]client.Pending, error) { return c.Pending(ctx, "", client.WithEnded) }),
		newJSONPage("waits.json", func(ctx context.Context) ([]client.Wait, error) { return c.Waits(ctx, client.WithEnded) }),
		newJSONPage("budgets.json", c.Budgets),
		bundlePage{Name: "metrics.txt", Read: c.Metrics},
	)
	for _, agent := range status.Agents {
		name, folder := agent.Name, "agents/"+pageFileName(agent.Name)
		pages = append(pages,
			newJSONPage(folder+"/session.json", func(ctx context.Context) (client.Session, error) { return c.Session(ctx, name) }),
			newJSONPage(folder+"/explain.json", func(ctx context.Context) (client.Explanation, error) { return c.Explain(ctx, name) }),
			bundlePage{Name: folder + "/screen.txt", Printed: true, Read: func(ctx context.Context) ([]byte, error) {
				out, err := c.Peek(ctx, name, 0)
				return []byte(out.Text), err
			}},
		)
	}
	return pages
}

// pageFileName returns an agent's name as a single path element.
func pageFileName(name string) string { return strings.ReplaceAll(name, "/", "--") }

// newLogPages returns a page for each log of a session's output in a directory. It leaves out the
// log files in others.
func newLogPages(folder string, others ...string) []bundlePage {
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return nil // the pattern is valid
	}
	files = slices.DeleteFunc(files, func(file string) bool { return slices.Contains(others, filepath.Base(file)) })
	sortNewestFirst(files)
	var pages []bundlePage
	for _, file := range files[:min(len(files), manyLogs)] {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		pages = append(pages, bundlePage{Name: "output/" + name + ".txt", Printed: true, Read: func(context.Context) ([]byte, error) { return readPrinted(file) }})
	}
	return pages
}

// newTailPage returns a page with the end of a text file. A file that does not exist gives an empty
// page, which is left out.
func newTailPage(name, file string) bundlePage {
	return bundlePage{Name: name, Printed: true, Read: func(context.Context) ([]byte, error) {
		out, err := readTail(file, longTail)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return out, err
	}}
}

// readPrinted returns the end of a raw log and of its previous file, without control sequences.
func readPrinted(file string) ([]byte, error) {
	raw, err := readTail(file, shortTail)
	if missing := shortTail - len(raw); missing > 0 && err == nil {
		previous, previousErr := readTail(file+".1", missing)
		if previousErr != nil && !errors.Is(previousErr, fs.ErrNotExist) {
			err = previousErr
		}
		raw = append(previous, raw...)
	}
	return []byte(textfmt.Strip(raw)), err
}

// readTail returns at most the last n bytes of a file, in whole lines, because half a credential is
// not recognized.
func readTail(path string, n int) ([]byte, error) {
	file, err := fsutil.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
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

// sortNewestFirst sorts files by their last change, the latest first.
func sortNewestFirst(files []string) {
	changed := map[string]int64{}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			changed[file] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(changed[b], changed[a]) })
}
