package fsutil

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// IrregularError reports that a path names a directory, a pipe, a socket or a device.
type IrregularError struct{ Path string }

func (e *IrregularError) Error() string { return e.Path + " is not a regular file" }

// TooLargeError reports that a file has more bytes than the caller accepts.
type TooLargeError struct {
	Path string
	Most int64 // in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has more than %d bytes", e.Path, e.Most)
}

// OpenRegular opens a regular file for reading. For any other kind of file it returns an
// [*IrregularError]. It does not wait for the writer of a pipe. It follows symbolic links.
func OpenRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &IrregularError{path}
	}
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	return file, nil
}

// ReadRegular returns the content of a regular file, see [OpenRegular]. If the file has more than
// maxBytes bytes, it returns a [*TooLargeError].
func ReadRegular(path string, maxBytes int64) ([]byte, error) {
	file, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > maxBytes {
		return nil, &TooLargeError{path, maxBytes}
	}
	return text, nil
}
