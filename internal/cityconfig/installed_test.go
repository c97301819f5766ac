package cityconfig

import (
	"os"
	"path/filepath"
	"testing"

	"gascity/internal/proc"
	"gascity/test/tier"
)

// TestTheHomeDirectoryStaysAsItIs checks that no file of gemini is left in the user's home
// directory. gemini writes one each time that it prints its version or its help text.
func TestTheHomeDirectoryStaysAsItIs(t *testing.T) {
	tier.Process(t)
	home, file := t.TempDir(), filepath.Join(t.TempDir(), "gemini")
	program := "#!/bin/sh\nmkdir -p \"${GEMINI_CLI_HOME:-$HOME}/.gemini\" && echo \"0.61.0 $1\"\n"
	if err := os.WriteFile(file, []byte(program), 0o700); err != nil {
		t.Fatal(err)
	}
	env, path := []string{"HOME=" + home}, "/usr/bin:/bin"
	if got := (Machine{Env: env}).versionOf(t.Context(), proc.FoundProgram{File: file, PATH: path}); got != "0.61.0" {
		t.Errorf("the version is %q", got)
	}
	if got := (&HelpTexts{}).Of(t.Context(), file, env, path); got != "0.61.0 --help\n" {
		t.Errorf("the help text is %q", got)
	}
	if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
		t.Errorf("the home directory has %v, %v", left, err)
	}
}
