package changes

import (
	"bufio"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckQuoted returns an error if the quoted form of a path is not safe, or names another path. It also
// reads the path as if it were quoted.
func CheckQuoted(path string) error {
	_, _ = unquote(path) // any text is an answer or an error
	quoted := quote(path)
	if !utf8.ValidString(quoted) || strings.ContainsFunc(quoted, unicode.IsControl) {
		return fmt.Errorf("%q is quoted as %q", path, quoted)
	}
	if back, err := unquote(quoted); back != path || err != nil {
		return fmt.Errorf("%q is quoted as %s, which reads %q, %w", path, quoted, back, err)
	}
	return nil
}

// CheckPatch reads a patch and returns an error if the diffs are larger than the limit.
func CheckPatch(patch string, limit int) error {
	files := map[string]*entry{"x": {path: "x"}, "\xc3": {}, "a": {}, "": {}}
	p := patchReader{files: files, left: limit, each: limit}
	if err := p.read(bufio.NewReaderSize(strings.NewReader(patch), readAhead)); err != nil {
		return err
	}
	sum := 0
	for _, e := range files {
		sum += len(e.Diff)
		if e.Diff != "" && !strings.HasSuffix(e.Diff, "\n") && strings.HasSuffix(patch, "\n") {
			return fmt.Errorf("a diff ends within a line: %q", e.Diff)
		}
	}
	if sum > limit {
		return fmt.Errorf("the diffs have %d bytes, the limit is %d", sum, limit)
	}
	return nil
}
