package workers

import (
	"context"
	"errors"
	"fmt"

	"gascity/client"
	"gascity/internal/domain/workerrun"
	"gascity/worker"
)

var (
	errFenced       = fmt.Errorf("%w: this instance has ended, or another one has its place", worker.ErrFenced)
	errEarly        = fmt.Errorf("%w: the city does not know all its sessions yet; ask again", worker.ErrUnavailable)
	errUnknownToken = fmt.Errorf("%w: this token is unknown", worker.ErrUnauthorized)
	errNoPrompts    = fmt.Errorf("%w: the city accepts no prompts now", worker.ErrUnavailable)
)

// full says in the words of the worker API that a mailbox is full.
func full(err error) error {
	if errors.Is(err, workerrun.ErrFull) {
		return fmt.Errorf("%w: %w", worker.ErrRefused, err)
	}
	return err
}

// inWords puts the worker API's sentinels in the place of the city's.
func inWords(err error) error {
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
