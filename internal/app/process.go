package app

import "gascity/internal/proc"

// Process implements cli.Processes.
func (d *Daemon) Process(pid int) (ended func() bool, err error) {
	info, err := proc.Stat(pid)
	if err != nil {
		return nil, err
	}
	return func() bool {
		alive, err := proc.Alive(info.ID)
		return err == nil && !alive
	}, nil
}
