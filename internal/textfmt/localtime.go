package textfmt

import (
	"regexp"
	"time"
)

var timestamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`)

// LocalTimes returns the text with its times in RFC 3339 replaced by the local times of this program. The texts of a controller
// have such times, because it does not know in which time zone they are read.
func LocalTimes(words string) string {
	return timestamp.ReplaceAllStringFunc(words, func(stamp string) string {
		t, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			return stamp
		}
		return t.Local().Format(time.DateTime)
	})
}
