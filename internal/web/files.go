package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"

	"gascity/internal/server/httpkit"
)

// files serves the files of the page. A file x may have a compressed copy x.gz or x.br. Files below
// assets/ have a hash of their content in their name, so browsers may keep them forever.
type files struct {
	from    fs.FS
	changes bool     // people change the files: they are read at each request, and browsers do not store them
	known   sync.Map // from the name of a file to a *file; empty if the files change
}

// file is the content of a file in one encoding.
type file struct {
	text          []byte
	encoding, tag string
}

// contentTypes are the types of the files by their extension: those of the machine may be wrong, and
// a browser must not guess. It must not be changed.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon", ".js": "text/javascript; charset=utf-8", ".json": "application/json",
	".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".wasm": "application/wasm", ".webmanifest": "application/manifest+json", ".woff2": "font/woff2",
	".mjs": "text/javascript; charset=utf-8",
}

// encodings are the compressed copies, the best first. They must not be changed.
var encodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// serve answers with the file at the path of a request. It returns false, without an answer, if
// there is none.
func (f *files) serve(w http.ResponseWriter, r *http.Request) bool {
	name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
	kind := contentTypes[path.Ext(name)]
	if kind == "" || !fs.ValidPath(name) {
		return false
	}
	content, ok := f.open(name, r.Header.Get("Accept-Encoding"))
	if !ok {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	switch {
	case f.changes:
		h.Set("Cache-Control", "no-store")
	case strings.HasPrefix(name, "assets/"):
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if content.encoding != "" {
		h.Set("Content-Encoding", content.encoding)
	}
	h.Set("ETag", content.tag)
	if httpkit.SetDeadline(w, httpkit.AnswerTime) != nil {
		return true // the connection is gone
	}
	if r.Header.Get("If-None-Match") == content.tag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	h.Set("Content-Length", strconv.Itoa(len(content.text)))
	_, _ = w.Write(content.text) // an error means that the reader is gone
	return true
}

// open returns a file, in the best encoding that the reader accepts.
func (f *files) open(name, accepted string) (*file, bool) {
	for _, e := range encodings {
		if accepts(accepted, e.name) {
			if content, ok := f.read(name+e.suffix, e.name); ok {
				return content, true
			}
		}
	}
	return f.read(name, "")
}

// read returns a file. A file that does not change is read once, so that requests of strangers cost little.
func (f *files) read(name, encoding string) (*file, bool) {
	if known, ok := f.known.Load(name); ok {
		return known.(*file), true //nolint:forcetypeassert // only this function stores values
	}
	text, err := fs.ReadFile(f.from, name)
	if err != nil {
		return nil, false
	}
	sum := sha256.Sum256(text)
	content := &file{text, encoding, `"` + hex.EncodeToString(sum[:12]) + `"`}
	if !f.changes {
		f.known.Store(name, content)
	}
	return content, true
}

// accepts reports whether the header Accept-Encoding lists an encoding, with a weight other than 0.
func accepts(header, encoding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, err := mime.ParseMediaType("x/" + strings.TrimSpace(part))
		if err != nil || name != "x/"+encoding {
			continue
		}
		weight, err := strconv.ParseFloat(parameters["q"], 64)
		return parameters["q"] == "" || err == nil && weight > 0
	}
	return false
}
