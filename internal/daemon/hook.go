package daemon

import "gascity/internal/adapter"

// InstallHooks keeps the contract of cli.Hooks.
func (d *Daemon) InstallHooks(name, dir string) (launch string, err error) {
	return adapter.InstallByHand(name, d.opts.Executable, dir)
}

// UninstallHooks keeps the contract of cli.Hooks.
func (d *Daemon) UninstallHooks(name, dir string) error { return adapter.UninstallByHand(name, dir) }
