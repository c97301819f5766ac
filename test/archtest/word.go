package archtest

import (
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// vendorWords matches the name of an agent CLI as a word in a string literal.
var vendorWords = regexp.MustCompile(`(?i)\b(claude|codex|gemini|opencode|copilot|cursor-agent)\b`)

// vendorNames lists further names of agent CLIs. They are common words, so only a literal
// that is exactly the name counts.
var vendorNames = []string{"amp", "pi"}

// providerHomes maps the name of a provider to the packages that may contain it as a literal,
// in addition to the package of that name below provider/ and provider/all.
var providerHomes = map[string][]string{
	"tmux":   {"internal/guard/shell", "internal/cli", "internal/service/notify"}, // there it is a program: in a script, or around the terminal of a person
	"acp":    {"provider/router", "internal/agentcli", "runtime", "client"},       // in client it names a protocol for prompts
	"ssh":    {"internal/guard/shell"},                                            // there it is a program in a script
	"hybrid": {"provider/router"},
	"exec:":  {"provider/exec"},
}

// commonNames lists packages below provider/ whose names have other uses as literals, or are no
// names of providers.
var commonNames = []string{"all", "exec", "router"}

// shapelessNames lists file names that do not name a subject.
var shapelessNames = []string{
	"util", "utils", "helper", "helpers", "type", "types", "common", "misc", "seams", "shared", "stuff", "interfaces",
}

// checkVendorLiterals tests the rule vendor-literal.
func checkVendorLiterals(t *Tree) []Finding {
	return t.eachLiteral(func(f *File, text string) string {
		if f.Package == "internal/agentcli" {
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

// checkProviderLiterals tests the rule provider-literal.
func checkProviderLiterals(t *Tree) []Finding {
	homes := maps.Clone(providerHomes)
	for _, dir := range t.Packages() {
		if parent, name := path.Split(dir); parent == "provider/" && !slices.Contains(commonNames, name) {
			homes[name] = append(slices.Clip(homes[name]), dir)
		}
	}
	return t.eachLiteral(func(f *File, text string) string {
		allowed, known := homes[text]
		if !known || f.Package == "provider/all" || slices.Contains(allowed, f.Package) {
			return ""
		}
		return "names the provider " + strconv.Quote(text)
	})
}

// eachLiteral calls judge for every string literal of the product's code, and returns a
// finding for each result that is not empty. Tests, test programs, this package, struct tags
// and import paths are ignored.
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

// checkFileNames tests the rule file-name.
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

// checkConformance tests the rule driver-conformance.
func checkConformance(t *Tree) []Finding {
	var found []Finding
	for _, dir := range t.Packages() {
		if isDriver(dir) && !t.declaresTest(dir, "TestConformance") && !t.testedElsewhere(dir) {
			found = append(found, Finding{dir, "has no TestConformance"})
		}
	}
	return found
}

// testedElsewhere reports whether a package below test/ runs the conformance suite on the driver,
// because the suite needs more than this program.
func (t *Tree) testedElsewhere(dir string) bool {
	for _, file := range t.Go {
		if file.Test && strings.HasPrefix(file.Package, "test/") && slices.Contains(file.imports(), "gascity/"+dir) && t.declaresTest(file.Package, "TestConformance") {
			return true
		}
	}
	return false
}

// declaresTest reports whether a package has a test function with the name.
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

// FindWords searches the texts of a source tree for words that must not be there, and returns a
// finding for each word in each line. The words are paths of the developer's machine, such as that
// of the checkout.
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
