package workers

import (
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/session"
	"gascity/worker"
)

var (
	errFenced       = fmt.Errorf("%w: this instance has ended, or another one has replaced it", worker.ErrFenced)
	errEarly        = fmt.Errorf("%w: the city does not know all its sessions yet; ask again", worker.ErrUnavailable)
	errUnknownToken = fmt.Errorf("%w: this token is unknown", worker.ErrUnauthorized)
)

// mailboxError returns worker.ErrRefused for a full mailbox, and any other error unchanged.
func mailboxError(err error) error {
	if errors.Is(err, session.ErrMailboxFull) {
		return fmt.Errorf("%w: %w", worker.ErrRefused, err)
	}
	return err
}

// workerError translates the errors of the city's engines into the errors of the worker API.
func workerError(err error) error {
	for _, pair := range []struct{ from, to error }{
		{client.ErrNotFound, worker.ErrNotFound},
		{client.ErrRefused, worker.ErrRefused},
		{client.ErrTimeout, worker.ErrTimeout},
		{context.DeadlineExceeded, worker.ErrTimeout},
		{client.ErrInvalid, worker.ErrInvalid},
		{client.ErrUnavailable, worker.ErrUnavailable},
	} {
		if errors.Is(err, pair.from) {
			return fmt.Errorf("%w: %w", pair.to, err)
		}
	}
	return err
}
