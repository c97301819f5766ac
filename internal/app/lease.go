package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"

	"gascity/internal/leaderelection"
	"gascity/provider/all"
)

// underLease runs a controller while this process is the leader. The controller then takes the
// city's lock, which decides: while the previous controller still holds the lock, the new one
// cannot start.
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
