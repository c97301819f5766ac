package app

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"

	"gascity/internal/leaderelection"
	"gascity/provider/all"
)

// underLease calls run while this process is the leader of an election among controllers on several
// hosts. The controller also takes the city's lock: while the previous leader still has the lock,
// the new controller cannot start.
func (d *Daemon) underLease(ctx context.Context, root, name string, run func(ctx context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	logger := slog.New(slog.NewTextHandler(d.opts.Stderr, nil))
	return leaderelection.Run(ctx, leaderelection.Options{
		Name: host + "_" + rand.Text()[:8], Terms: leaderelection.Usual(), Logger: logger,
		Store: all.Leases(d.ProviderConfig(root, root, logger), name),
	}, run)
}
