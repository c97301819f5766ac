// Command merge takes the figures of a run over into those that are published:
// merge RUN.json FIGURES.json.
package main

import (
	"fmt"
	"os"

	"gascity/test/agents/figure"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: merge RUN.json FIGURES.json")
		os.Exit(2)
	}
	if err := merge(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "merge:", err)
		os.Exit(1)
	}
}

func merge(run, published string) error {
	measured, err := figure.Load(run)
	if err != nil {
		return err
	}
	sheet, err := figure.Load(published)
	if err != nil {
		return err
	}
	sheet.Merge(measured)
	return sheet.Save(published)
}
