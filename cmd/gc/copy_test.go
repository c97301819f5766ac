package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// CopyFrom returns every requested file except "missing".
func (fakeProvider) CopyFrom(_ context.Context, name, src string, w io.Writer) error {
	switch {
	case strings.HasSuffix(name, "-mute"):
		return errors.ErrUnsupported
	case src == "missing":
		return fs.ErrNotExist
	}
	out := tar.NewWriter(w)
	content := "this is " + src + " of " + name
	for _, h := range []*tar.Header{
		{Typeflag: tar.TypeDir, Name: path.Base(src), Mode: 0o755},
		{Typeflag: tar.TypeReg, Name: path.Base(src) + "/file", Mode: 0o644, Size: int64(len(content))},
		{Typeflag: tar.TypeSymlink, Name: path.Base(src) + "/passwords", Linkname: "/etc/passwd"},
	} {
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if h.Size > 0 {
			if _, err := io.WriteString(out, content); err != nil {
				return err
			}
		}
	}
	return out.Close()
}
