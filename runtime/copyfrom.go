package runtime

import (
	"context"
	"errors"
	"io"
)

// CopyFromProvider is the extension of drivers that can copy files out of a session's working
// directory. It is the reverse of [Stager]'s CopyTo.
type CopyFromProvider interface {
	// CopyFrom writes the file or directory src, relative to the working directory, to w as a tar
	// archive. The archive has one root, with src's base name. If src does not exist, the error
	// matches [io/fs.ErrNotExist]. A src outside the working directory, also through a symbolic
	// link, is an error and nothing is written. An unknown session is [ErrSessionNotFound]. The
	// archive is complete only if the error is nil.
	CopyFrom(ctx context.Context, name, src string, w io.Writer) error
}

// CopyFrom writes a file or directory of a session's working directory to w as a tar archive.
// Without the extension the error matches [errors.ErrUnsupported].
func CopyFrom(ctx context.Context, p Provider, name, src string, w io.Writer) error {
	if c, ok := As[CopyFromProvider](p, name); ok {
		return c.CopyFrom(ctx, name, src, w)
	}
	return &Error{Op: "copy from", Session: name, Err: errors.ErrUnsupported}
}
