package outpost

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gascity/runtime"
)

// uploadPattern names the folders of what was carried over.
const uploadPattern = "upload-*"

// upload takes an archive into a folder of its own and returns the path of its root. It
// stays until it is discarded or the connection ends.
func (s *server) upload(archive *bufio.Reader) (string, error) {
	dir, err := os.MkdirTemp(s.opts.Dir, uploadPattern)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	s.uploads[dir] = true
	s.mu.Unlock()
	base, err := unpack(archive, dir)
	if err != nil {
		return "", errors.Join(err, s.discard([]string{filepath.Join(dir, "x")}))
	}
	return filepath.Join(dir, filepath.FromSlash(base)), nil
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
		s.listener.Close() //nolint:errcheck // nobody connects any more
	}
}

// carry uploads one file or folder and returns its far path. One that is not there is
// left as it is: what that means is the far driver's decision.
func (l *link) carry(ctx context.Context, path string) (far string, carried bool, err error) {
	if path == "" {
		return "", false, nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	} else if err != nil {
		return "", false, err
	}
	stream, err := l.open(ctx)
	if err != nil {
		return "", false, err
	}
	defer abort(stream)
	stop := context.AfterFunc(ctx, func() { abort(stream) })
	defer stop()
	if err := writeLine(stream, request{Op: opUpload}); err != nil {
		return "", false, l.lost(ctx, err)
	}
	if err := pack(stream, path); err != nil {
		return "", false, err
	}
	if err := stream.Close(); err != nil { // of the writing side: the end of the archive
		return "", false, l.lost(ctx, err)
	}
	var a answer
	if err := readLine(bufio.NewReader(stream), &a); err != nil {
		return "", false, l.lost(ctx, err)
	}
	if a.Err != nil {
		return "", false, a.Err.unpack()
	}
	far, err = decode[string](a.Body)
	return far, err == nil, err
}

// baggage is what was carried over for one call.
type baggage struct {
	link  *link
	paths []string
}

// drop removes it at the far end; what cannot be removed goes with the connection.
func (b *baggage) drop(ctx context.Context) {
	if len(b.paths) > 0 {
		_, _ = ask[nothing](context.WithoutCancel(ctx), b.link, "discard", "", names{b.paths}) // see above
	}
}

func (b *baggage) take(ctx context.Context, path *string) error {
	far, carried, err := b.link.carry(ctx, *path)
	if err != nil {
		return err
	}
	if carried {
		b.paths = append(b.paths, far)
	}
	*path = far
	return nil
}

// config returns cfg with far paths for everything that lies on this machine.
func (b *baggage) config(ctx context.Context, cfg runtime.Config) (runtime.Config, error) {
	cfg.PackOverlayDirs, cfg.CopyFiles = slices.Clone(cfg.PackOverlayDirs), slices.Clone(cfg.CopyFiles)
	paths := []*string{&cfg.OverlayDir, &cfg.SessionSetupScript}
	for i := range cfg.PackOverlayDirs {
		paths = append(paths, &cfg.PackOverlayDirs[i])
	}
	for i := range cfg.CopyFiles {
		paths = append(paths, &cfg.CopyFiles[i].Src)
	}
	for _, path := range paths {
		if err := b.take(ctx, path); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// content returns a prompt with far paths for its files.
func (b *baggage) content(ctx context.Context, content []runtime.ContentBlock) ([]runtime.ContentBlock, error) {
	content = slices.Clone(content)
	for i := range content {
		if content[i].Type == runtime.ContentFilePath {
			if err := b.take(ctx, &content[i].Path); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}
