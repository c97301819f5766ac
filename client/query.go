package client

import (
	"net/url"
	"strconv"
	"time"
)

// query returns the parameters as the query of a URL, with its question mark. It leaves out empty values; if all are empty, it
// returns an empty string.
func query(parameters map[string]string) string {
	values := url.Values{}
	for name, value := range parameters {
		if value != "" {
			values.Set(name, value)
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// count returns a number as a parameter; empty if it is not above zero.
func count(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// flag returns "true" as a parameter; empty if it is false.
func flag(on bool) string {
	if !on {
		return ""
	}
	return "true"
}

// stamp returns a time as a parameter; empty if it is zero.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}
