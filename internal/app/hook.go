package app

import "gascity/internal/hookrunner"

// InstallHooks keeps the contract of cli.Hooks.
func (d *Daemon) InstallHooks(name, dir string) (launch string, err error) {
	return hookrunner.InstallManually(name, d.opts.Executable, dir)
}

// UninstallHooks keeps the contract of cli.Hooks.
func (d *Daemon) UninstallHooks(name, dir string) error {
	return hookrunner.UninstallManually(name, dir)
}
