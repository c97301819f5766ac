package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OverlayProviderNames returns the per-provider overlay slots of cfg in order
// of first use, without empty names and repetitions.
func OverlayProviderNames(cfg Config) []string {
	return OverlayProviderNamesFromParts(cfg.ProviderName, cfg.ProviderOverlayName, cfg.InstallAgentHooks)
}

// OverlayProviderNamesFromParts is [OverlayProviderNames] on the three fields:
// the concrete providerOverlayName, or the family providerName when it is
// blank, then the installed hooks.
func OverlayProviderNamesFromParts(providerName, providerOverlayName string, installAgentHooks []string) []string {
	primary := strings.TrimSpace(providerOverlayName)
	if primary == "" {
		primary = strings.TrimSpace(providerName)
	}
	names := make([]string, 0, 1+len(installAgentHooks))
	for _, name := range append([]string{primary}, installAgentHooks...) {
		name = strings.TrimSpace(name)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// EffectiveOverlayProviderNames is [OverlayProviderNames] for staging from the
// given overlay folders: a concrete name without a per-provider/<name>/ folder
// in any of them is replaced by its family, so that a custom provider still
// gets the family's hooks.
func EffectiveOverlayProviderNames(cfg Config, overlayDirs ...string) []string {
	concrete := strings.TrimSpace(cfg.ProviderOverlayName)
	has := func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, "per-provider", concrete))
		return err == nil && info.IsDir()
	}
	if concrete != "" && strings.TrimSpace(cfg.ProviderName) != "" && !slices.ContainsFunc(overlayDirs, has) {
		concrete = ""
	}
	return OverlayProviderNamesFromParts(cfg.ProviderName, concrete, cfg.InstallAgentHooks)
}
