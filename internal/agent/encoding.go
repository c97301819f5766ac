package agent

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"

	"gascity/runtime"
)

const (
	prefix           = "gc-"
	escape           = "__"
	emptyPart        = escape + "z"
	explicitBoundary = escape + "-"
	hashMark         = escape + "h"
)

// slashRule is the encoding of a "/" inside a part.
type slashRule string

const (
	slashAsByte   slashRule = escape + "2f"
	slashAsDashes slashRule = "--"
)

// defaultName returns the session name of the default scheme.
func defaultName(city, agent string) string {
	left, right := encodePart(city, slashAsByte), encodePart(agent, slashAsDashes)
	name := prefix + left + "-" + right
	if readBoundary(left+"-"+right) != len(left) {
		name = prefix + left + explicitBoundary + right
	}
	if len(name) <= runtime.MaxNameLen {
		return name
	}
	mark := hashMark + hashPair(city, agent)
	return name[:runtime.MaxNameLen-len(mark)] + mark
}

// readBoundary returns the index of the boundary in a name without an explicit one: among the
// single dashes before the first "--", the first dash if there is a "--" and the last dash
// otherwise. It returns -1 if there is no dash.
func readBoundary(text string) int {
	if before, _, double := strings.Cut(text, "--"); double {
		return strings.IndexByte(before, '-')
	}
	return strings.LastIndexByte(text, '-')
}

// hashPair returns the hash of city and agent. It includes the city's length, so that a byte cannot
// move from one part to the other.
func hashPair(city, agent string) string {
	b := binary.AppendUvarint(nil, uint64(len(city)))
	sum := sha256.Sum256(append(b, city+agent...))
	return hex.EncodeToString(sum[:])
}

// encodePart encodes a city or an agent for a session name. The result never begins with a dash;
// dashes at its end or in a row are encoded slashes (slashAsDashes only).
func encodePart(part string, slash slashRule) string {
	if part == "" {
		return emptyPart
	}
	var out strings.Builder
	for i := range len(part) {
		switch c := part[i]; {
		case plain(c):
			out.WriteByte(c)
		case (c == '-' || c == '_') && i > 0 && i+1 < len(part) && plain(part[i+1]):
			out.WriteByte(c)
		case c == '/' && i > 0:
			out.WriteString(string(slash))
		default:
			out.WriteString(escape + hex.EncodeToString([]byte{c}))
		}
	}
	return out.String()
}

// decodePart reverses encodePart with slashAsDashes. It may accept texts that encodePart never
// produces; the caller encodes the result again and compares.
func decodePart(text string) (part string, ok bool) {
	if text == emptyPart {
		return "", true
	}
	var out []byte
	for text != "" {
		switch {
		case strings.HasPrefix(text, escape):
			if len(text) < len(escape)+2 {
				return "", false
			}
			b, err := hex.DecodeString(text[len(escape) : len(escape)+2])
			if err != nil {
				return "", false
			}
			out, text = append(out, b...), text[len(escape)+2:]
		case strings.HasPrefix(text, "--"):
			out, text = append(out, '/'), text[2:]
		default:
			out, text = append(out, text[0]), text[1:]
		}
	}
	return string(out), true
}

// plain reports whether a byte is encoded as itself everywhere.
func plain(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
