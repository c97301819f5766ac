package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// tiers returns the folders of scripts/tiers.
func tiers(t *testing.T) (folders []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "scripts/tiers"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && !strings.HasPrefix(line, "#") {
			folders = append(folders, fields[1])
		}
	}
	return folders
}

// listed reports whether one of the folders is dir, or is above it and ends in /...
func listed(folders []string, dir string) bool {
	for _, folder := range folders {
		above, below := strings.CutSuffix(folder, "/...")
		if dir == above || below && strings.HasPrefix(dir, above+"/") {
			return true
		}
	}
	return false
}

// TestTiersNameFoldersThatExist proves that no row of scripts/tiers is left over from a
// package that has moved: its tests would silently be in the unit tier.
func TestTiersNameFoldersThatExist(t *testing.T) {
	folders := tiers(t)
	if len(folders) < 10 {
		t.Fatalf("scripts/tiers lists %q", folders)
	}
	for _, folder := range folders {
		if info, err := os.Stat(filepath.Join(root, strings.TrimSuffix(folder, "/..."))); err != nil || !info.IsDir() {
			t.Errorf("scripts/tiers lists %s, which is no folder: %v", folder, err)
		}
	}
}

// starts matches the source of a test that starts a process by itself.
var starts = regexp.MustCompile(`\bexec\.(Command|LookPath)|os\.StartProcess`)

// TestUnitTestsStartNoProcess proves that each test file that starts a process is in a
// package that scripts/tiers lists, or calls tier.Process.
func TestUnitTestsStartNoProcess(t *testing.T) {
	folders := tiers(t)
	seen := 0
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		path, err = filepath.Rel(root, path)
		dir := filepath.Dir(path)
		if err != nil || !strings.HasSuffix(path, "_test.go") || listed(folders, dir) {
			return err
		}
		source, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		seen++
		if starts.Match(source) && !callsTier(filepath.Join(root, dir)) {
			t.Errorf("%s starts a process: list %s in scripts/tiers or call tier.Process in the test", path, dir)
		}
		return nil
	})
	if err != nil || seen < 50 {
		t.Fatalf("%d test files were read: %v", seen, err)
	}
}

// callsTier reports whether a test of the folder calls tier.Process.
func callsTier(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is sound
	for _, file := range files {
		if source, err := os.ReadFile(file); err == nil && strings.Contains(string(source), "tier.Process(") {
			return true
		}
	}
	return false
}
