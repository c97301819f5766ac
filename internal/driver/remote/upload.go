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

	"gascity/internal/fsutil/archive"
	"gascity/runtime"
)

// uploadPattern names the folders of what was carried over.
const uploadPattern = "upload-*"

// upload takes an archive into a folder of its own and returns the path of its root. It
// stays until it is discarded or the connection ends.
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

// complete reads what the near end says behind an archive that is whole: one that ends
// between two files looks like it.
func complete(in *bufio.Reader) error {
	var end request
	if err := readLine(in, &end); err != nil || end.Op != opUpload {
		return fmt.Errorf("the archive was cut off: %w", cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// staleAfter is the age of what an outpost left that was killed.
const staleAfter = 24 * time.Hour

// removeStaleUploads removes what previous outposts left.
func (s *server) removeStaleUploads() {
	left, _ := filepath.Glob(filepath.Join(s.opts.Dir, uploadPattern)) // the pattern is right
	for _, dir := range left {
		if info, err := os.Lstat(dir); err == nil && time.Since(info.ModTime()) > staleAfter {
			os.RemoveAll(dir) //nolint:errcheck // the next one tries again
		}
	}
}

// discard removes what was uploaded, by the paths that were answered. Other paths are
// refused.
func (s *server) discard(paths []string) error {
	var errs []error
	for _, path := range paths {
		dir := filepath.Dir(path)
		s.mu.Lock()
		known := s.uploads[dir]
		delete(s.uploads, dir)
		s.mu.Unlock()
		if !known {
			errs = append(errs, fmt.Errorf("%s was not uploaded here", path))
			continue
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

func (s *server) discardAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir := range s.uploads {
		os.RemoveAll(dir) //nolint:errcheck // the next outpost's folder is a temporary one, too
	}
	if s.listener != nil {
		s.listener.Close() //nolint:errcheck // no client connects any more
	}
}

// upload uploads one file or folder and returns its far path. One that is not there is
// left as it is: what that means is the far driver's decision.
func (l *link) upload(ctx context.Context, path string) (far string, carried bool, err error) {
	if path == "" {
		return "", false, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	} else if err != nil {
		return "", false, err
	}
	select {
	case l.uploadSlots <- struct{}{}:
		defer func() { <-l.uploadSlots }()
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	}
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

// send writes the archive and reads the answer, which may come before its end: the far
// end's disk is full.
func (l *link) send(ctx context.Context, stream *yamux.Stream, path string) (a answer, err error) {
	var unread error
	told := make(chan struct{})
	l.work.Go(func() {
		defer close(told)
		unread = readLine(bufio.NewReader(stream), &a)
		_ = stream.SetWriteDeadline(time.Unix(1, 0)) // never fails
	})
	out := &sink{Writer: stream}
	err = errors.Join(writeLine(out, request{Op: opUpload}), archive.Pack(out, path))
	if err == nil {
		err = writeLine(out, request{Op: opUpload}) // see complete
	}
	if err != nil && out.err == nil { // of this machine
		abort(stream)
		<-told
		return answer{}, err
	}
	<-told
	if unread != nil {
		return answer{}, l.lostError(ctx, unread)
	}
	return a, nil
}

// sink distinguishes errors of writing from those of what is written.
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

// uploads is what was carried over for one call.
type uploads struct {
	link  *link
	paths []string
}

// discard removes it at the far end; what cannot be removed goes with the connection.
func (b *uploads) discard() {
	if len(b.paths) == 0 {
		return
	}
	ctx, cancel := b.link.callContext(b.link.opts.Ask, defaultAsk)
	defer cancel()
	_, _ = ask[empty](ctx, b.link, "discard", "", names{b.paths}) // see above
}

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

// rewriteConfig returns cfg with far paths for everything that lies on this machine.
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

// rewriteContent returns a prompt with far paths for its files.
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
