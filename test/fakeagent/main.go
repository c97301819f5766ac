// Fakeagent is the fake agent as a program of its own, see gascity/internal/fakeagent.
package main

import (
	"os"

	"gascity/internal/fakeagent"
)

func main() { os.Exit(fakeagent.Main(os.Args[1:])) }
