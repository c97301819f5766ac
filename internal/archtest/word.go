package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// vendorWords finds the name of an agent CLI as a word inside a literal.
var vendorWords = regexp.MustCompile(`(?i)\b(claude|codex|gemini|opencode|copilot|cursor-agent)\b`)

// vendorNames are further names, too common as words to be looked for inside a
// text: only a literal that is nothing else counts.
var vendorNames = []string{"amp", "pi"}

// providerHomes maps the name of each provider to the packages where it may
// stand as a literal, beside provider/all. "exec" and "auto" are left out: they
// are words of too many other things.
var providerHomes = map[string][]string{
	"pty":        {"provider/pty"},
	"subprocess": {"provider/subprocess"},
	"tmux":       {"provider/tmux", "internal/tmux/control", "internal/guard/shell"},            // there it is a program in a script
	"acp":        {"provider/acp", "provider/router", "internal/agentcli", "runtime", "client"}, // in client it is the protocol by which prompts travel
	"k8s":        {"provider/k8s"},
	"ssh":        {"provider/ssh", "internal/guard/shell"}, // there it is a program in a script
	"hybrid":     {"provider/router"},
	"exec:":      {"provider/exec"},
}

// shapelessNames are file names that say nothing about their noun.
var shapelessNames = []string{
	"util", "utils", "helper", "helpers", "type", "types", "common", "misc", "seams", "shared", "stuff", "interfaces",
}

func checkVendorLiterals(t *Tree) []Finding {
	return t.eachLiteral(func(f *File, text string) string {
		if f.Package == "internal/agentcli" || f.Package == "internal/agentcli/hooks" {
			return ""
		}
		if word := vendorWords.FindString(text); word != "" {
			return "names the agent CLI " + strconv.Quote(word)
		}
		if slices.Contains(vendorNames, text) {
			return "names the agent CLI " + strconv.Quote(text)
		}
		return ""
	})
}

func checkProviderLiterals(t *Tree) []Finding {
	return t.eachLiteral(func(f *File, text string) string {
		homes, known := providerHomes[text]
		if !known || f.Package == "provider/all" || slices.Contains(homes, f.Package) {
			return ""
		}
		return "names the provider " + strconv.Quote(text)
	})
}

// eachLiteral asks judge about every string literal of the product's code.
// Tests, test programs, this package, struct tags and import paths are left out.
func (t *Tree) eachLiteral(judge func(f *File, text string) string) []Finding {
	var found []Finding
	for _, file := range t.Go {
		if file.Test || isProgram(file.Package) {
			continue
		}
		tags := map[*ast.BasicLit]bool{}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			switch typed := node.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				tags[typed.Tag] = true
			case *ast.BasicLit:
				text, err := strconv.Unquote(typed.Value)
				if typed.Kind != token.STRING || err != nil || tags[typed] {
					return true
				}
				if what := judge(file, text); what != "" {
					found = append(found, t.at(typed, "%s", what))
				}
			}
			return true
		})
	}
	return found
}

func checkFileNames(t *Tree) []Finding {
	var found []Finding
	for _, file := range t.Go {
		noun := strings.TrimSuffix(strings.TrimSuffix(path.Base(file.Path), ".go"), "_test")
		if slices.Contains(shapelessNames, noun) || slices.Contains(shapelessNames, path.Base(file.Package)) {
			found = append(found, Finding{file.Path, "the name says nothing; name the noun"})
		}
	}
	return found
}

func checkConformance(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Packages() {
		if isDriver(dir) && !t.declaresTest(dir, "TestConformance") && !t.testedElsewhere(dir) {
			found = append(found, Finding{dir, "has no TestConformance"})
		}
	}
	return found
}

// testedElsewhere reports whether a heavy tier holds the driver to the suite: one that needs
// more than this program.
func (t *Tree) testedElsewhere(dir string) bool {
	for _, file := range t.Go {
		if file.Test && strings.HasPrefix(file.Package, "test/") && slices.Contains(file.imports(), "gascity/"+dir) && t.declaresTest(file.Package, "TestConformance") {
			return true
		}
	}
	return false
}

func (t *Tree) declaresTest(dir, name string) bool {
	for _, file := range t.Go {
		if file.Package != dir || !file.Test {
			continue
		}
		for _, declared := range file.Syntax.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Name.Name == name {
				return true
			}
		}
	}
	return false
}

// FindWords returns each line of the tree's texts that holds one of the words.
// The caller passes what must not be in the tree but cannot be written down in
// it either, such as the folder on the developer's machine.
func FindWords(t *Tree, words []string) []Finding {
	var found []Finding
	for _, text := range t.Texts {
		number := 0
		for line := range strings.Lines(string(text.Body)) {
			number++
			for _, word := range words {
				if strings.Contains(line, word) {
					found = append(found, Finding{text.Path + ":" + strconv.Itoa(number), "holds the machine's path " + strconv.Quote(word)})
				}
			}
		}
	}
	return found
}
