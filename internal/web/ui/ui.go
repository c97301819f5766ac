// Package ui has the pages of the web console as files. The folder src has their sources, vendored
// the libraries, static the page and the icons. make web bundles them into dist, which is committed,
// so go build needs nothing else.
package ui

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"io"
	"io/fs"
	"time"
)

//go:generate go run -C ../../../tools/webui .

//go:embed dist
var dist embed.FS

// Files returns the files of the pages: index.html, manifest.webmanifest, the service worker worker.js and those below assets/,
// whose names contain a hash of their content. Each file x has a compressed copy x.gz; x itself is
// decompressed when it is opened.
func Files() fs.FS {
	folder, _ := fs.Sub(dist, "dist") // the name is valid
	return files{folder}
}

// files are files that are stored compressed.
type files struct{ fs.FS }

// Open opens a file, or decompresses its compressed copy.
func (f files) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	packed, missing := fs.ReadFile(f.FS, name+".gz")
	if missing != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openFile{Reader: bytes.NewReader(content), name: name}, nil
}

// openFile is an open file that was decompressed.
type openFile struct {
	*bytes.Reader

	name string
}

func (f *openFile) Stat() (fs.FileInfo, error) { return fileInfo{f}, nil }
func (f *openFile) Close() error               { return nil }

type fileInfo struct{ file *openFile }

func (i fileInfo) Name() string       { return i.file.name }
func (i fileInfo) Size() int64        { return i.file.Reader.Size() }
func (i fileInfo) Mode() fs.FileMode  { return 0o444 }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return false }
func (i fileInfo) Sys() any           { return nil }
