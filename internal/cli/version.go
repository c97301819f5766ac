package cli

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"

	"gascity/internal/cli/desk"
)

// versionInfo is what gc version --json prints.
type versionInfo struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

func versionCommand(a *app) *cobra.Command {
	return a.Listing(&cobra.Command{
		Use:   "version",
		Short: "The version of this program",
		Args:  desk.Between(0, 0),
		RunE: func(_ *cobra.Command, _ []string) error {
			v := versionInfo{a.Version, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH}
			if a.JSON {
				return a.Document(v)
			}
			fmt.Fprintf(a.Stdout, "gc %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
			return nil
		},
	})
}
