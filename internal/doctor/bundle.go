package doctor

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	goruntime "runtime"
	"time"

	"gascity/client"
	"gascity/internal/citydir"
)

const (
	pageTime = 15 * time.Second // limit for reading one page
	pageMode = 0o600
)

// bundlePage is one file of a bundle.
type bundlePage struct {
	Name string // with slashes, relative
	// Read returns the content of the page. An error without content means that the page is
	// missing; an error with content means that the page is incomplete.
	Read func(ctx context.Context) ([]byte, error)
	// Printed means that programs wrote the text in any form. Then values after names of
	// credentials are also hidden if they are not variables.
	Printed bool
}

// BundleSummary is the list of the pages in a bundle and of those that are missing.
type BundleSummary struct {
	Pages   []string
	Missing []MissingPage
}

// MissingPage is a page that is missing or incomplete.
type MissingPage struct {
	Name  string
	Error string
}

// bundleWriter writes a bundle: a gzip-compressed tar archive with one folder.
type bundleWriter struct {
	Folder string
	Now    time.Time
	Hide   func(string) string // returns the text with the known credentials hidden

	tokens  tokens
	summary BundleSummary
	zip     *gzip.Writer
	archive *tar.Writer
}

// Write writes the pages to w, one after the other. It returns an error if writing to w fails or
// ctx ends. A page that cannot be read is listed as missing.
func (b *bundleWriter) Write(ctx context.Context, w io.Writer, pages []bundlePage) (BundleSummary, error) {
	b.tokens = newTokens()
	b.zip = gzip.NewWriter(w)
	b.archive = tar.NewWriter(b.zip)
	b.summary = BundleSummary{Pages: []string{}}
	for _, page := range pages {
		if ctx.Err() != nil {
			return b.summary, context.Cause(ctx)
		}
		if err := b.page(ctx, page); err != nil {
			return b.summary, err
		}
	}
	if err := b.put("README.txt", b.readme()); err != nil {
		return b.summary, err
	}
	return b.summary, errors.Join(b.archive.Close(), b.zip.Close())
}

// page writes one page, or records why it is missing.
func (b *bundleWriter) page(parent context.Context, page bundlePage) error {
	ctx, cancel := context.WithTimeout(parent, pageTime)
	defer cancel()
	text, err := page.Read(ctx)
	if err != nil {
		b.summary.Missing = append(b.summary.Missing, MissingPage{Name: page.Name, Error: b.clean(err.Error(), true)})
	}
	if len(text) == 0 {
		return nil
	}
	b.summary.Pages = append(b.summary.Pages, page.Name)
	return b.put(page.Name, []byte(b.clean(string(text), page.Printed)))
}

// clean returns a text with credentials hidden.
func (b *bundleWriter) clean(text string, printed bool) string {
	return b.tokens.hide(b.Hide(text), printed)
}

// put adds one file to the archive.
func (b *bundleWriter) put(name string, text []byte) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: b.Folder + "/" + name, Mode: pageMode, Size: int64(len(text)), ModTime: b.Now}
	if err := b.archive.WriteHeader(head); err != nil {
		return err
	}
	_, err := b.archive.Write(text)
	return err
}

// readme returns a text that describes the bundle and lists what is missing.
func (b *bundleWriter) readme() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What gc knew about a city at %s.\n\n", b.Now.UTC().Format(time.RFC3339))
	out.WriteString("Replaced: credentials that gc knows, values of variables whose names look like those of credentials, and texts\n" +
		"that look like a token. Not replaced: prompts, answers and file names. Review it before you share it.\n")
	if len(b.summary.Missing) > 0 {
		out.WriteString("\nMissing, wholly or in part:\n")
	}
	for _, m := range b.summary.Missing {
		fmt.Fprintf(&out, "  %s: %s\n", m.Name, m.Error)
	}
	return out.Bytes()
}

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
