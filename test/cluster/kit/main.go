// Command kit makes what the cluster of the tests needs and no package registry has:
// certificates, and images out of folders.
//
//	kit pki DIR SERVER NODE
//	kit image -o OUT -t NAME [-user U] [-env A=B]... [-entrypoint PROGRAM] FOLDER
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "kit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "pki":
			return makePKI(args[1:])
		case "image":
			return makeImage(args[1:])
		}
	}
	return fmt.Errorf("usage: kit pki DIR SERVER NODE | kit image -o OUT -t NAME FOLDER")
}
