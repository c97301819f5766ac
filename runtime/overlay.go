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

// OverlayProviderNamesFromParts returns the names of [OverlayProviderNames] for the three fields:
// providerOverlayName, or providerName if that is blank, then installAgentHooks.
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

// EffectiveOverlayProviderNames returns the names of [OverlayProviderNames] for copying from the
// given overlay directories. If no overlay directory contains a directory
// per-provider/<ProviderOverlayName>, it uses ProviderName instead of ProviderOverlayName. So a
// custom agent CLI still gets the hooks of its family. A blank ProviderName replaces nothing.
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
