// Webui bundles the pages of the web console: it reads the sources below internal/web/ui and writes
// the folder dist there, which the binary embeds. It is a module of its own, so that esbuild is no
// dependency of gc. make web runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	folder := flag.String("ui", "../../internal/web/ui", "the folder of package ui")
	flag.Parse()
	if err := run(*folder); err != nil {
		fmt.Fprintln(os.Stderr, "webui:", err)
		os.Exit(1)
	}
}

// run replaces the bundle of the folder.
func run(folder string) error {
	if err := writeTypes(folder); err != nil {
		return err
	}
	files, err := bundle(folder)
	if err != nil {
		return err
	}
	dist := filepath.Join(folder, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(dist, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
