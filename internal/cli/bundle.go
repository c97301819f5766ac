package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gascity/client"
	"gascity/internal/cli/cmdenv"
	"gascity/internal/cli/render"
	"gascity/internal/textfmt"
)

// bundleFile is what gc bundle --json prints.
type bundleFile struct {
	Bundled
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

func bundleCommand(a *app) *cobra.Command {
	return a.AddJSONFlag(&cobra.Command{
		Use:   "bundle [FILE]",
		Short: "Create a diagnostics archive (support bundle)",
		Long: `Writes the information that helps to find a fault into one archive: versions, the result of gc doctor,
the configuration, events, the controller's log, and for each agent its state, its screen and the end
of its output. No controller is needed. Credentials are replaced; prompts and answers are not: review
it before you share it. FILE defaults to gc-CITY-TIME.tar.gz in this directory; "-" is standard output.
An existing file is never replaced: the exit status is 4.`,
		Example: "  gc bundle\n  gc bundle - | tar tz",
		Args:    cmdenv.Between(0, 1),
		RunE: a.RootAction(func(ctx context.Context, root string, args []string) error {
			write := func(to io.Writer) (Bundled, error) { return a.daemon.Bundle(ctx, root, to) }
			if cmdenv.First(args) == "-" {
				_, err := write(cmdenv.Raw(a.Stdout))
				return err
			}
			file := cmp.Or(cmdenv.First(args), fmt.Sprintf("gc-%s-%s.tar.gz", filepath.Base(root), a.Now().Format("20060102-150405")))
			a.Messagef("collecting diagnostics of %s; this may take some seconds", root)
			return a.bundle(ctx, file, write)
		}),
	})
}

// bundle writes the archive to a new file. If that fails, it removes the file.
func (a *app) bundle(ctx context.Context, name string, write func(io.Writer) (Bundled, error)) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: the file %s exists; name another file: gc bundle FILE", client.ErrRefused, name)
	}
	if err != nil {
		return err
	}
	out := bundleFile{File: name}
	out.Bundled, err = write(file)
	if info, statErr := file.Stat(); statErr == nil {
		out.Bytes = info.Size()
	}
	if err == nil {
		err = context.Cause(ctx) // set if the command was interrupted while it wrote the last entry
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	for _, m := range out.Missing {
		a.Messagef("missing: %s: %s", m.Name, m.Error)
	}
	fmt.Fprintf(a.Stdout, "wrote %s: %s, %s. Review it before sharing.\n", name, textfmt.Count(len(out.Pages), "file"), render.Size(out.Bytes))
	return nil
}
