package runtime

import (
	"context"
	"errors"
	"io"
)

// CopyFromProvider is the extension of drivers that can hand out what is in a session's
// working directory: the way back of [Stager]'s CopyTo.
type CopyFromProvider interface {
	// CopyFrom writes the file or folder src, relative to the working directory, to w as a tar
	// archive, as a stream. Its one root has src's base name. A src that is not there
	// matches [io/fs.ErrNotExist]; one that would leave the working directory, also through a
	// symbolic link, is an error and nothing is written. An unknown session is
	// [ErrSessionNotFound]. The archive is whole only if the error is nil.
	CopyFrom(ctx context.Context, name, src string, w io.Writer) error
}

// CopyFrom passes out a file or folder of a session's working directory as a tar archive.
// Without the extension the error matches [errors.ErrUnsupported].
func CopyFrom(ctx context.Context, p Provider, name, src string, w io.Writer) error {
	if c, ok := As[CopyFromProvider](p, name); ok {
		return c.CopyFrom(ctx, name, src, w)
	}
	return &Error{Op: "copy from", Session: name, Err: errors.ErrUnsupported}
}
