package cityconfig

import (
	"cmp"
	"context"
	"path"
	"path/filepath"
	"slices"

	"gascity/client"
	"gascity/internal/agentcli"
	"gascity/internal/config"
	"gascity/internal/domain/plan"
	"gascity/internal/guard"
	"gascity/internal/service/budgets"
)

// Loaded is the configuration of a city together with what gc derives from it.
type Loaded struct {
	City     *config.City
	Desired  plan.Desired
	Rules    *guard.CityRules
	Spending budgets.Rules
	Warnings []string
	Remarks  []*config.Error // the warnings, with their positions
	unasked  []unaskedAgent
}

// Load reads and resolves the city's configuration.
func (l *Loader) Load(ctx context.Context, root string) (Loaded, error) {
	city, err := config.Load(ctx, filepath.Join(root, client.CityFile), l.catalog())
	if err != nil {
		return Loaded{}, err
	}
	return l.resolve(city)
}

// LoadText does what [Loader.Load] does with text instead of the content of city.toml.
func (l *Loader) LoadText(ctx context.Context, root string, text []byte) (Loaded, error) {
	city, err := config.LoadText(ctx, filepath.Join(root, client.CityFile), text, l.catalog())
	if err != nil {
		return Loaded{}, err
	}
	return l.resolve(city)
}

// resolve derives the sessions, the guard rules, the budgets and the warnings from a configuration.
func (l *Loader) resolve(city *config.City) (r Loaded, err error) {
	r.City = city
	if r.Spending, err = budgets.RulesOf(city); err != nil {
		return Loaded{}, err
	}
	desired, warnings, err := plan.Resolve(city, l.inputs())
	if err != nil {
		return Loaded{}, err
	}
	if r.unasked, err = findUnasked(city); err != nil {
		return Loaded{}, err
	}
	r.Remarks = append(r.Remarks, city.Notes...)
	for _, w := range warnings {
		r.Remarks = append(r.Remarks, city.ErrorAt(w.Origin, "agent %s: %s", w.Agent, w.Message))
	}
	r.Remarks = append(r.Remarks, l.refusedAsRoot(city, r.unasked)...)
	for _, remark := range r.Remarks {
		r.Warnings = append(r.Warnings, remark.Brief())
	}
	r.Desired = desired
	r.Rules, err = l.rules(city, desired)
	return r, err
}

// Preview returns the sessions that the city would have with the configuration in req. It changes
// nothing.
func (l *Loader) Preview(root string, req client.PreviewRequest) (plan.Desired, error) {
	path := cmp.Or(req.Path, filepath.Join(root, client.CityFile))
	city, err := config.Parse(path, []byte(req.Config), l.catalog())
	if err != nil {
		return plan.Desired{}, err
	}
	city.Root = root
	desired, _, err := plan.Resolve(city, l.inputs())
	return desired, err
}

// inputs returns what [plan.Resolve] needs besides the configuration: the profiles, the
// environment, the time and a function to read files.
func (l *Loader) inputs() plan.Inputs {
	return plan.Inputs{
		Profiles: agentcli.Builtin(), Known: l.catalog(), RuntimeOverride: l.Environ.RuntimeOverride(),
		LookupEnv: l.Environ.Lookup, ReadFile: ReadNamed, Now: l.Now(), Binary: l.Executable,
	}
}

// maxNamedFile is the maximum size in bytes of a file that the configuration names.
const maxNamedFile = 16 << 20

// ReadNamed reads a file that the configuration names. It returns an error for a pipe or a device,
// from which reading could wait without end.
func ReadNamed(path string) ([]byte, error) {
	return config.ReadFile(context.Background(), path, maxNamedFile) //nolint:forbidigo // a regular file: nothing is waited for
}

// Show returns each value of a configuration, and where it comes from.
func (l *Loader) Show(city *config.City) (client.Config, error) {
	values, err := plan.Values(city, l.inputs())
	if err != nil {
		return client.Config{}, err
	}
	out := client.Config{Path: city.Path, Values: make([]client.ConfigValue, 0, len(values))}
	for _, v := range values {
		out.Values = append(out.Values, client.ConfigValue{Key: v.Key, Value: v.Value, Origin: v.Origin.String()})
	}
	return out, nil
}

// Files returns the paths of the files and directories, besides city.toml, that the configuration
// names and gc reads with it, such as prompts and rules. If one of them changes, gc must load the
// configuration again.
func (r *Loaded) Files() []string {
	paths := append(guard.ListRuleFiles(r.City), r.City.Abs(r.City.Usage.Prices))
	for _, c := range r.City.Credentials {
		paths = append(paths, r.City.Abs(c.File))
	}
	for i := range r.City.Agents {
		if p := r.City.Agents[i].PromptTemplate; p != "" {
			paths = append(paths, r.City.Abs(p))
		}
	}
	for _, s := range r.Desired.Sessions {
		cfg := &s.Config
		paths = append(append(paths, cfg.SessionSetupScript, cfg.OverlayDir), cfg.PackOverlayDirs...)
		for _, f := range cfg.CopyFiles {
			paths = append(paths, f.Src)
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// rules returns the guard rules of a configuration for its agents.
func (l *Loader) rules(city *config.City, desired plan.Desired) (*guard.CityRules, error) {
	src := guard.CitySource{City: city, Home: l.Environ.Get("HOME"), Read: ReadNamed}
	for _, s := range desired.Sessions {
		src.Agents = append(src.Agents, guard.Request{
			Agent: s.Agent, Role: path.Base(cmp.Or(s.Pool, s.Agent)), Dir: s.Config.WorkDir, Home: cmp.Or(s.Config.Env["HOME"], src.Home),
		})
	}
	return guard.CompileCity(src)
}
