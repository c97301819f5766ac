package remote

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/yamux"

	"gascity/internal/fsutil"
	"gascity/runtime"
)

// uploadPattern matches the names of folders of uploaded files.
const uploadPattern = "upload-*"

// upload extracts an archive into a new folder and returns the path of its top-level entry. The folder is removed by discard or
// when the connection ends.
func (s *server) upload(in *bufio.Reader) (string, error) {
	dir, err := os.MkdirTemp(s.opts.Dir, uploadPattern)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.uploads[dir] = true
	s.mu.Unlock()
	base, err := unpack(in, dir)
	if err == nil {
		err = complete(in)
	}
	if err != nil {
		return "", errors.Join(err, s.discard([]string{filepath.Join(dir, "x")}))
	}
	return filepath.Join(dir, filepath.FromSlash(base)), nil
}

// complete reads the line that the local end writes after a complete archive. Without that line, an archive that was cut off
// between two files would look complete.
func complete(in *bufio.Reader) error {
	var end request
	if err := readLine(in, &end); err != nil || end.Op != opUpload {
		return fmt.Errorf("the archive is incomplete: %w", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// staleAfter is the age at which uploads of a killed outpost are removed.
const staleAfter = 24 * time.Hour

// removeStaleUploads removes old uploads of previous outposts.
func (s *server) removeStaleUploads() {
	left, _ := filepath.Glob(filepath.Join(s.opts.Dir, uploadPattern)) // the pattern is valid
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.RemoveAll(dir) //nolint:errcheck // the next outpost tries again
		}
	}
}

// discard removes uploaded files. paths are results of upload; other paths are refused.
func (s *server) discard(paths []string) error {
	var errs []error
	for _, path := range paths {
		dir := filepath.Dir(path)
		s.mu.Lock()
		known := s.uploads[dir]
		delete(s.uploads, dir)
		s.mu.Unlock()
		if !known {
			errs = append(errs, fmt.Errorf("the file %s was not copied to this host", path))
			continue
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// discardAll removes all uploaded files and closes the socket of the worker API.
func (s *server) discardAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir := range s.uploads {
		os.RemoveAll(dir) //nolint:errcheck // the next outpost removes old uploads
	}
	if s.listener != nil {
		s.listener.Close() //nolint:errcheck // an error does not matter
	}
}

// upload uploads one file or folder and returns its remote path. carried is false for a path that is empty or does not exist;
// it is returned unchanged, and the remote driver decides what it means.
func (l *link) upload(ctx context.Context, path string) (far string, carried bool, err error) {
	if path == "" {
		return "", false, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	} else if err != nil {
		return "", false, err
	}
	if l.uploads.Acquire(ctx, 1) != nil {
		return "", false, context.Cause(ctx)
	}
	defer l.uploads.Release(1)
	stream, err := l.open(ctx)
	if err != nil {
		return "", false, err
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	a, err := l.send(ctx, stream, path)
	switch {
	case err != nil:
		return "", false, err
	case a.Err != nil:
		return "", false, a.Err.unpack()
	}
	far, err = decode[string](a.Body)
	return far, err == nil, err
}

// send writes the archive and reads the answer. The answer may arrive before the archive is written, for example when the
// remote disk is full.
func (l *link) send(ctx context.Context, stream *yamux.Stream, path string) (a answer, err error) {
	var unread error
	answered := make(chan struct{})
	l.work.Go(func() {
		defer close(answered)
		unread = readLine(bufio.NewReader(stream), &a)
		_ = stream.SetWriteDeadline(time.Unix(1, 0)) // never fails
	})
	out := &sink{Writer: stream}
	err = errors.Join(writeLine(out, request{Op: opUpload}), fsutil.PackArchive(out, path))
	if err == nil {
		err = writeLine(out, request{Op: opUpload}) // marks the archive as complete
	}
	if err != nil && out.err == nil { // an error of this machine, such as an unreadable file
		abort(stream)
		<-answered
		return answer{}, err
	}
	<-answered
	if unread != nil {
		return answer{}, l.lostError(ctx, unread)
	}
	return a, nil
}

// sink records errors of its writer, to distinguish them from errors of the data source.
type sink struct {
	io.Writer

	err error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// uploads are the files that were uploaded for one call.
type uploads struct {
	link  *link
	paths []string
}

// discard removes the uploaded files at the remote end. What it cannot remove is removed when the connection ends.
func (b *uploads) discard() {
	if len(b.paths) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(b.link.ctx, queryLimit)
	defer cancel()
	_, _ = ask[empty](ctx, b.link, "discard", "", names{b.paths}) // see the comment above
}

// add uploads the file at *path and replaces *path by the remote path.
func (b *uploads) add(ctx context.Context, path *string) error {
	far, carried, err := b.link.upload(ctx, *path)
	if err != nil {
		return err
	}
	if carried {
		b.paths = append(b.paths, far)
	}
	*path = far
	return nil
}

// rewriteConfig uploads the files and folders that cfg names and returns cfg with their remote paths.
func (b *uploads) rewriteConfig(ctx context.Context, cfg runtime.Config) (runtime.Config, error) {
	cfg.PackOverlayDirs, cfg.CopyFiles = slices.Clone(cfg.PackOverlayDirs), slices.Clone(cfg.CopyFiles)
	paths := []*string{&cfg.OverlayDir, &cfg.SessionSetupScript}
	for i := range cfg.PackOverlayDirs {
		paths = append(paths, &cfg.PackOverlayDirs[i])
	}
	for i := range cfg.CopyFiles {
		paths = append(paths, &cfg.CopyFiles[i].Src)
	}
	for _, path := range paths {
		if err := b.add(ctx, path); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// rewriteContent uploads the files of a prompt and returns the prompt with their remote paths.
func (b *uploads) rewriteContent(ctx context.Context, content []runtime.ContentBlock) ([]runtime.ContentBlock, error) {
	content = slices.Clone(content)
	for i := range content {
		if content[i].Type == runtime.ContentFilePath {
			if err := b.add(ctx, &content[i].Path); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}
