package archtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// openPaths lists parent directories of a checkout that are not specific to one machine, or
// that documents may name for other reasons.
var openPaths = []string{
	"/", "/tmp", "/var/tmp", "/root", "/home", "/src", "/app", "/opt", "/workspace", "/workspaces", "/build", "/builds", "/go/src", "/usr/src",
}

func TestTreeKeepsTheRules(t *testing.T) {
	tree := loadRepository(t)
	if len(tree.Go) < 10 || tree.Module == "" {
		t.Fatalf("read %d Go files of module %q: the repository was not found", len(tree.Go), tree.Module)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			for _, finding := range rule.Check(tree) {
				t.Errorf("%s\n\twhy: %s", finding, rule.Why)
			}
		})
	}
	for _, large := range Sizes(tree) {
		t.Logf("large: %s", large)
	}
}

func TestTreeNamesNoMachine(t *testing.T) {
	root := repositoryRoot(t)
	words := []string{root + "/"}
	if parent := filepath.Dir(root); !slices.Contains(openPaths, parent) {
		words = append(words, strings.TrimSuffix(parent, "/")+"/")
	}
	for _, finding := range FindWords(loadRepository(t), words) {
		t.Error(finding)
	}
}

func TestFindWordsFindsAWord(t *testing.T) {
	tree := load(t, fstest.MapFS{
		"docs/a.md": {Data: []byte("one\nsee /far/away/place\n")},
		"b.bin":     {Data: []byte("\x00/far/away/")},
	})
	got := FindWords(tree, []string{"/far/away/"})
	if len(got) != 1 || got[0].Where != "docs/a.md:2" {
		t.Errorf("found %v, want docs/a.md:2 alone", got)
	}
}

// TestRulesCanFail runs each rule on a planted tree that breaks the rule and on one
// that does not, so that a rule that never finds anything is noticed.
func TestRulesCanFail(t *testing.T) {
	for _, rule := range Rules() {
		cases := planted[rule.Name]
		if len(cases) == 0 {
			t.Errorf("rule %s has no planted tree: nothing shows that it can fail", rule.Name)
		}
		for _, plant := range cases {
			t.Run(rule.Name+"/"+plant.name, func(t *testing.T) {
				found := rule.Check(load(t, plant.files()))
				if plant.want == "" {
					if len(found) > 0 {
						t.Errorf("found %v in a tree that follows the rule", found)
					}
					return
				}
				if len(found) != 1 || !strings.Contains(found[0].String(), plant.want) {
					t.Errorf("found %v, want one finding with %q", found, plant.want)
				}
			})
		}
	}
	for name := range planted {
		if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Name == name }) {
			t.Errorf("planted trees for %s, which is no rule", name)
		}
	}
}

func TestSizesReportsWhatIsLarge(t *testing.T) {
	tree := load(t, fstest.MapFS{
		"runtime/long.go":  {Data: []byte("package runtime\n" + strings.Repeat("const _ = 1\n", 400))},
		"runtime/short.go": {Data: []byte("package runtime\n")},
	})
	got := Sizes(tree)
	if len(got) != 1 || got[0].Where != "runtime/long.go" {
		t.Errorf("Sizes = %v, want runtime/long.go alone", got)
	}
}

func TestCodeLinesCountsCodeOnly(t *testing.T) {
	tests := map[string]struct {
		source string
		want   int
	}{
		"comments and blanks": {"// a\npackage x\n\n/* b\nc */\nvar y = 1 // d\n", 2},
		"raw string":          {"package x\nvar y = `a\nb\n\nc`\n", 5},
		"two on one line":     {"package x; var y = 1\n", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := codeLines([]byte(test.source)); got != test.want {
				t.Errorf("counted %d lines of code, want %d", got, test.want)
			}
		})
	}
}

func TestLoadLeavesOutWhatIsNotOurs(t *testing.T) {
	tree := load(t, fstest.MapFS{
		"runtime/a.go":              {Data: []byte("package runtime\n")},
		"runtime/testdata/bad.go":   {Data: []byte("not Go")},
		"tools/go.mod":              {Data: []byte("module other\n")},
		"tools/tool.go":             {Data: []byte("package tools\n")},
		"node_modules/x/y.go":       {Data: []byte("package y\n")},
		".git/objects/zz/source.go": {Data: []byte("package source\n")},
	})
	if packages := tree.Packages(); !slices.Equal(packages, []string{"runtime"}) {
		t.Errorf("packages are %v, want runtime alone", packages)
	}
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func loadRepository(t *testing.T) *Tree {
	t.Helper()
	tree, err := Load(os.DirFS(repositoryRoot(t)))
	if err != nil {
		t.Fatalf("cannot read the repository: %v", err)
	}
	return tree
}

// load reads a planted tree. It adds a module file if the tree has none.
func load(t *testing.T, files fstest.MapFS) *Tree {
	t.Helper()
	if files["go.mod"] == nil {
		files["go.mod"] = &fstest.MapFile{Data: []byte("module gascity\n")}
	}
	tree, err := Load(files)
	if err != nil {
		t.Fatalf("cannot read the planted tree: %v", err)
	}
	return tree
}
