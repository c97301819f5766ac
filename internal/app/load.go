package app

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/controller"
	"gascity/internal/domain/plan"
	"gascity/internal/guard/policy"
	"gascity/internal/service/budgets"
)

// loadedConfig is a configuration with everything that follows from it.
type loadedConfig struct {
	city     *config.City
	desired  plan.Desired
	rules    *policy.Rules
	spending budgets.Rules
	warnings []string
	remarks  []*config.Error // the warnings, with their places
	unasked  []unaskedAgent
}

// read reads and resolves the city's configuration.
func (d *Daemon) read(ctx context.Context, root string) (loadedConfig, error) {
	city, err := config.Load(ctx, filepath.Join(root, client.CityFile), d.catalog())
	if err != nil {
		return loadedConfig{}, err
	}
	r := loadedConfig{city: city}
	if r.spending, err = budgets.RulesOf(city); err != nil {
		return loadedConfig{}, err
	}
	desired, warnings, err := plan.Resolve(city, d.inputs())
	if err != nil {
		return loadedConfig{}, err
	}
	if r.unasked, err = unasked(city); err != nil {
		return loadedConfig{}, err
	}
	r.remarks = append(r.remarks, city.Notes...)
	for _, w := range warnings {
		r.remarks = append(r.remarks, city.ErrorAt(w.Origin, "agent %s: %s", w.Agent, w.Message))
	}
	r.remarks = append(r.remarks, d.refusedAsRoot(city, r.unasked)...)
	for _, remark := range r.remarks {
		r.warnings = append(r.warnings, remark.Brief())
	}
	r.desired = desired
	r.rules, err = d.rules(city, desired)
	return r, err
}

// previewConfig resolves another configuration as if it were the city's own.
func (d *Daemon) previewConfig(root string, req client.PreviewRequest) (plan.Desired, error) {
	path := cmp.Or(req.Path, filepath.Join(root, client.CityFile))
	city, err := config.Parse(path, []byte(req.Config), d.catalog())
	if err != nil {
		return plan.Desired{}, err
	}
	city.Root = root
	desired, _, err := plan.Resolve(city, d.inputs())
	return desired, err
}

func (d *Daemon) inputs() plan.Inputs {
	return plan.Inputs{
		Profiles: agentcli.Builtin(), Known: d.catalog(), RuntimeOverride: d.env.runtimeOverride(),
		LookupEnv: d.env.lookup, ReadFile: readNamed, Now: d.opts.Now(), Binary: d.opts.Executable,
	}
}

// largestNamed is how many bytes a file may have that the configuration names.
const largestNamed = 16 << 20

// readNamed reads a file that the configuration names. It never waits for one that is a pipe.
func readNamed(path string) ([]byte, error) {
	return config.ReadFile(context.Background(), path, largestNamed) //nolint:forbidigo // a regular file: nothing is waited for
}

// loaded turns a reading into what the controller works by.
func (d *Daemon) loaded(r loadedConfig) (controller.Loaded, error) {
	shown, err := d.shown(r.city)
	if err != nil {
		return controller.Loaded{}, err
	}
	section := r.city.Daemon
	return controller.Loaded{
		Desired: r.desired, Config: shown, Warnings: r.warnings,
		Settings: controller.Settings{
			Patrol: section.PatrolInterval, Shutdown: section.ShutdownTimeout,
			MaxRestarts: section.MaxRestarts, RestartWindow: section.RestartWindow,
			Starts: section.MaxWakesPerTick, Looks: section.ProbeConcurrency, DriftWait: section.DriftDrainTimeout,
			AskAfter: section.UnknownActivityWait,
		},
	}, nil
}

// shown is the configuration with the origin of each value, for people.
func (d *Daemon) shown(city *config.City) (client.Config, error) {
	values, err := plan.Values(city, d.inputs())
	if err != nil {
		return client.Config{}, err
	}
	out := client.Config{Path: city.Path, Values: make([]client.ConfigValue, 0, len(values))}
	for _, v := range values {
		out.Values = append(out.Values, client.ConfigValue{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	return out, nil
}

// named returns the files and folders that the configuration was made from,
// beside baseCity.toml: a change of one of them is a change of the configuration.
func (r loadedConfig) named() []string {
	paths := append(policy.Files(r.city), r.city.Abs(r.city.Usage.Prices))
	for _, c := range r.city.Credentials {
		paths = append(paths, r.city.Abs(c.File))
	}
	for i := range r.city.Agents {
		if p := r.city.Agents[i].PromptTemplate; p != "" {
			paths = append(paths, r.city.Abs(p))
		}
	}
	for i := range r.desired.Sessions {
		cfg := &r.desired.Sessions[i].Config
		paths = append(append(paths, cfg.SessionSetupScript, cfg.OverlayDir), cfg.PackOverlayDirs...)
		for _, f := range cfg.CopyFiles {
			paths = append(paths, f.Src)
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// secrets resolves credentials of the city at root, where its files are and its commands
// run, and keeps their values out of the log.
func (d *Daemon) secrets(root string, hide func(string)) config.SecretSource {
	return config.SecretSource{
		Env: func(name string) (string, bool) {
			value, ok := d.env.lookup(name)
			hide(value)
			return value, ok
		},
		File: func(path string) ([]byte, error) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(root, path)
			}
			data, err := os.ReadFile(path)
			hide(strings.TrimRight(string(data), "\r\n"))
			return data, err
		},
		Command: func(ctx context.Context, line string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, "sh", "-c", line)
			cmd.Dir, cmd.Env = root, d.env.base(agentcli.Builtin())
			data, err := cmd.Output()
			hide(strings.TrimRight(string(data), "\r\n"))
			return data, err
		},
	}
}
