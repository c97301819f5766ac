// Package supportbundle writes one file with all that helps to find out what went wrong in
// a city, without credentials.
package supportbundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	pageTime = 15 * time.Second // for what one page is made from
	pageMode = 0o600
)

// Page is one file of a bundle.
type Page struct {
	Name string // with slashes, relative
	// Read returns what stands on it. An error says why there is no such page; both say
	// why it is not whole.
	Read func(ctx context.Context) ([]byte, error)
	// Printed says that programs wrote it as they liked: values are looked for by the
	// names before them, too.
	Printed bool
}

// Summary is what a bundle has.
type Summary struct {
	Pages   []string
	Missing []Missing
}

// Missing is a page that could not be had, or not as a whole.
type Missing struct {
	Name  string
	Error string
}

// Writer writes a bundle: an archive of tar, compressed by gzip, with one folder.
type Writer struct {
	Folder string
	Now    time.Time
	Hide   func(string) string // takes the known credentials out of a text

	tokens  tokens
	summary Summary
	zip     *gzip.Writer
	archive *tar.Writer
}

// Write writes the pages to w, one after the other. An error means that w does not
// take them, or the end of ctx; a page that cannot be had is none.
func (b *Writer) Write(ctx context.Context, w io.Writer, pages []Page) (Summary, error) {
	b.tokens = newTokens()
	b.zip = gzip.NewWriter(w)
	b.archive = tar.NewWriter(b.zip)
	b.summary = Summary{Pages: []string{}}
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

// page writes one page, or remembers why it cannot be had.
func (b *Writer) page(parent context.Context, page Page) error {
	ctx, cancel := context.WithTimeout(parent, pageTime)
	defer cancel()
	text, err := page.Read(ctx)
	if err != nil {
		b.summary.Missing = append(b.summary.Missing, Missing{Name: page.Name, Error: b.clean(err.Error(), true)})
	}
	if len(text) == 0 {
		return nil
	}
	b.summary.Pages = append(b.summary.Pages, page.Name)
	return b.put(page.Name, []byte(b.clean(string(text), page.Printed)))
}

func (b *Writer) clean(text string, printed bool) string { return b.tokens.hide(b.Hide(text), printed) }

func (b *Writer) put(name string, text []byte) error {
	head := &tar.Header{Typeflag: tar.TypeReg, Name: b.Folder + "/" + name, Mode: pageMode, Size: int64(len(text)), ModTime: b.Now}
	if err := b.archive.WriteHeader(head); err != nil {
		return err
	}
	_, err := b.archive.Write(text)
	return err
}

// readme returns what the bundle has, what not, and why.
func (b *Writer) readme() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What gc knew of a city at %s.\n\n", b.Now.UTC().Format(time.RFC3339))
	out.WriteString("Values of credentials that gc knows, of variables that are called like credentials, and what looks like\n" +
		"a token were replaced. Prompts, answers and file names were not. Review it before you share it.\n")
	if len(b.summary.Missing) > 0 {
		out.WriteString("\nMissing, wholly or in part:\n")
	}
	for _, m := range b.summary.Missing {
		fmt.Fprintf(&out, "  %s: %s\n", m.Name, m.Error)
	}
	return out.Bytes()
}
