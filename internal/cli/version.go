package cli

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"gascity/internal/cli/render"
)

// versionInfo is the output of gc version --json.
type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// versionOf returns the version of this program with those of Go and the platform.
func versionOf(version string) versionInfo {
	return versionInfo{version, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH}
}

// line returns the version in one line for people.
func (v versionInfo) line() string {
	return fmt.Sprintf("gc %s (%s, %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}

func versionCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    `Prints the version of gc, of Go, and the operating system and architecture. It needs no city.`,
		Example: "  gc version --json",
		RunE: func(_ *cobra.Command, _ []string) error {
			v := versionOf(a.Version)
			return a.Show(v, nil, func(render.Formatter) string { return v.line() + "\n" })
		},
	})
}
