package config

// Top is the [top] section: the terminal dashboard.
type Top struct {
	Keys
	Start bool `toml:"start" default:"true" doc:"gc without a command, in a terminal inside the city, starts the dashboard (gc top). With false it prints the status once. The environment variable GC_TOP=off does the same for one person."`
}
