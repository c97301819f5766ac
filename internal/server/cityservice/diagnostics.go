package cityservice

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"

	"gascity/client"
)

// maxCopies is how many files are sent at a time.
const maxCopies = 4

// acquire reports whether one of the places of slots is free, and occupies it. It does not wait. The caller receives from slots
// when it has finished.
func acquire(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// Doctor examines the city and its machine and returns all findings. If an examination or a bundle
// is already in progress, it returns client.ErrRefused. It implements controlapi.Diagnostics.
func (f Service) Doctor(ctx context.Context) (client.Findings, error) {
	out := client.Findings{Findings: []client.Finding{}}
	if !acquire(f.doctors) {
		return out, fmt.Errorf("%w: an examination is in progress; wait for its end, or run: gc doctor", client.ErrRefused)
	}
	defer func() { <-f.doctors }()
	err := f.opts.Doctor(ctx, func(finding client.Finding) { out.Findings = append(out.Findings, finding) })
	return out, err
}

// Bundle writes a support bundle, which contains an examination. If an examination or another
// bundle is in progress, it returns client.ErrRefused. It implements controlapi.Diagnostics.
func (f Service) Bundle(ctx context.Context, w io.Writer) error {
	if !acquire(f.doctors) {
		return fmt.Errorf("%w: an examination or another bundle is in progress; wait for its end, or make the bundle without the controller: gc bundle", client.ErrRefused)
	}
	defer func() { <-f.doctors }()
	return f.opts.Bundle(ctx, w)
}

// CopyOut writes a file or directory of a session's working directory to w. At most [maxCopies]
// copies run at the same time; another one is client.ErrRefused. It implements controlapi.Files.
func (f Service) CopyOut(ctx context.Context, target string, req client.CopyOutRequest, w io.Writer) error {
	if !acquire(f.copies) {
		return fmt.Errorf("%w: %d copies are in progress; try again when one has ended", client.ErrRefused, maxCopies)
	}
	defer func() { <-f.copies }()
	limited := &limitedWriter{to: w, left: client.MaxCopyOut}
	if !req.Plain {
		return f.Controller.CopyOut(ctx, target, req, limited)
	}
	out, in := io.Pipe()
	copied := make(chan error, 1)
	go func() {
		err := f.Controller.CopyOut(ctx, target, req, in)
		in.CloseWithError(err)
		copied <- err
	}()
	err := writeFile(out, req.Path, limited)
	out.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // makes the copy end if it has not yet
	if failed := <-copied; failed != nil && (err == nil || errors.Is(err, failed)) {
		return failed
	}
	return err
}

// writeFile writes the content of the only file in a tar archive to w. name is for the error if it
// is not a file.
func writeFile(archive io.Reader, name string, w io.Writer) error {
	files := tar.NewReader(archive)
	head, err := files.Next()
	switch {
	case err != nil:
		return err
	case head.Typeflag != tar.TypeReg:
		return fmt.Errorf("%w: %q is not a file; copy it as an archive", client.ErrInvalid, name)
	}
	if head.Size == 0 {
		_, err = w.Write(nil)
		return err
	}
	if _, err := io.Copy(w, files); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, archive) // the copy is complete only at its end
	return err
}

// limitedWriter fails instead of writing more than the bytes that are left.
type limitedWriter struct {
	to   io.Writer
	left int64
}

// Write writes p, or returns an error if p has more bytes than are left. It implements io.Writer.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: the files have more than %d bytes; copy them with: gc copy", client.ErrRefused, int64(client.MaxCopyOut))
	}
	return l.to.Write(p)
}
