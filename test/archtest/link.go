package archtest

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	link       = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)
	inlineCode = regexp.MustCompile("`[^`]*`")
)

// checkLinks returns a finding for each relative link of a Markdown page whose target is
// not in the tree. Code is ignored.
func checkLinks(t *Tree) []Finding {
	var found []Finding
	for _, text := range t.Texts {
		if !strings.HasSuffix(text.Path, ".md") || strings.Contains(text.Path, "testdata/") {
			continue
		}
		fenced, number := false, 0
		for line := range strings.Lines(string(text.Body)) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			if fenced || strings.HasPrefix(line, "    ") {
				continue
			}
			for _, target := range deadLinks(t, text.Path, line) {
				found = append(found, Finding{text.Path + ":" + strconv.Itoa(number), "links to " + target + ", which does not exist"})
			}
		}
	}
	return found
}

// deadLinks returns the targets of the line's relative links that do not exist.
func deadLinks(t *Tree, page, line string) []string {
	var dead []string
	for _, match := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
		if strings.Contains(match[1], ":") {
			continue
		}
		target := path.Join(path.Dir(page), match[1])
		exists := slices.ContainsFunc(t.Paths, func(file string) bool {
			return file == target || strings.HasPrefix(file, target+"/")
		})
		if !exists && target != "." {
			dead = append(dead, target)
		}
	}
	return dead
}
