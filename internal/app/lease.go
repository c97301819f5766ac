package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"

	"gascity/internal/leaderelection"
	"gascity/provider/all"
)

// underLease runs a controller while this process holds a lease. Its own lock is taken
// after that, and stays the last word: a previous holder that still has it keeps the next
// one out.
func (d *Daemon) underLease(ctx context.Context, root, name string, run func(ctx context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(d.opts.Stderr, nil))
	return leaderelection.Run(ctx, leaderelection.Options{
		Name: host + "_" + rand.Text()[:8], Terms: leaderelection.Usual(), Logger: logger,
		Store: all.Leases(d.config.ProviderConfig(root, root, logger), name),
	}, run)
}
