package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"

	"gascity/internal/config"
	"gascity/runtime"
)

// identity holds the names of JSON members in which gc writes names and ids that it has made or checked itself. The values of
// credentials are not masked in them: if a password is part of an agent's name, messages must still name the agent. Tokens are
// masked there too.
var identity = []string{"agent", "session", "provider", "id", "instance"}

// JSON returns the JSON document doc with hidden values and tokens masked in all strings. Members with a name in exact are not
// changed, including everything in them. If nothing is masked, JSON returns doc itself.
func (r *Redactor) JSON(doc []byte, exact ...string) []byte {
	values := r.hidden()
	var out []byte    // nil until something is masked
	done := 0         // number of bytes of doc that are already in out
	var member []byte // name of the current member
	skip, depth := -1, 0
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth <= skip {
				skip = -1
			}
		case ',':
			if depth <= skip {
				skip = -1
			}
		case '"':
			end := stringEnd(doc, i)
			literal := doc[i:end]
			isName := end < len(doc) && doc[end] == ':'
			if isName {
				member = literal[1 : len(literal)-1]
				if skip < 0 && slices.Contains(exact, string(member)) {
					skip = depth
				}
			}
			if skip < 0 {
				known := values
				if !isName && i > 0 && doc[i-1] == ':' && slices.Contains(identity, string(member)) {
					known = nil
				}
				if masked, changed := concealLiteral(literal, known); changed {
					out = append(append(out, doc[done:i]...), masked...)
					done = end
				}
			}
			i = end - 1
		}
	}
	if out == nil {
		return doc
	}
	return append(out, doc[done:]...)
}

// stringEnd returns the index after the string literal that begins at from.
func stringEnd(doc []byte, from int) int {
	for i := from + 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(doc)
}

// concealLiteral masks secrets in a JSON string literal. A literal that cannot be decoded is masked as a whole.
func concealLiteral(literal []byte, values []string) (masked []byte, changed bool) {
	if len(literal) < shortestSecret+2 {
		return literal, false
	}
	text := string(literal[1 : len(literal)-1])
	if bytes.IndexByte(literal, '\\') >= 0 {
		if err := json.Unmarshal(literal, &text); err != nil {
			text = config.Masked
			return []byte(`"` + text + `"`), true
		}
	}
	clean := conceal(text, values)
	if clean == text {
		return literal, false
	}
	masked, err := json.Marshal(clean)
	if err != nil { // cannot happen: a string can always be encoded
		masked = []byte(`"` + config.Masked + `"`)
	}
	return masked, true
}

// Encode returns value as JSON with secrets masked, see [Redactor.JSON].
func (r *Redactor) Encode(value any, exact ...string) ([]byte, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return r.JSON(doc, exact...), nil
}

// Writer masks secrets in what it writes to To. Each Write must contain whole lines or a complete text; for other data use
// [Stream].
type Writer struct {
	*Redactor

	To io.Writer
}

// Write writes b with secrets masked.
func (w Writer) Write(b []byte) (int, error) {
	text := string(b)
	clean := w.Text(text)
	if _, err := io.WriteString(w.To, clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Stream masks secrets in a text that arrives in pieces, also secrets that are split between pieces. If the end of a piece may
// be the beginning of a secret, it is buffered until the next Write or Flush.
type Stream struct {
	*Redactor

	To      io.Writer
	pending string
}

// Write writes the buffered text and p with secrets masked. It buffers an end that may be the beginning of a secret.
func (s *Stream) Write(p []byte) (int, error) {
	text := s.pending + string(p)
	keep := s.unfinished(text)
	s.pending = text[len(text)-keep:]
	if err := s.write(text[:len(text)-keep]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the buffered text.
func (s *Stream) Flush() error {
	text := s.pending
	s.pending = ""
	return s.write(text)
}

func (s *Stream) write(text string) error {
	if text == "" {
		return nil
	}
	_, err := io.WriteString(s.To, s.Text(text))
	return err
}

const (
	// longestToken is greater than the length of every token, in bytes.
	longestToken = 64
	// fewestBroken is how many bytes of a secret must be before a line end for the line to be buffered. A smaller number would
	// delay ordinary lines of output.
	fewestBroken = 4
)

// unfinished returns how many bytes at the end of text may be the beginning of a secret.
func (s *Stream) unfinished(text string) int {
	values := s.hidden()
	most := pendingSecretBytes(text, values, 1)
	if !strings.ContainsAny(text, "\r\n") {
		return most
	}
	flat, at := unwrap(text)
	if n := pendingSecretBytes(flat, values, fewestBroken); n > 0 {
		most = max(most, len(text)-at[len(flat)-n])
	}
	return most
}

// pendingSecretBytes returns how many bytes at the end of text are the beginning of a value or of a token; zero if they are
// fewer than fewest.
func pendingSecretBytes(text string, values []string, fewest int) int {
	most := fewest - 1
	for _, value := range values {
		for n := min(len(value)-1, len(text)); n > most; n-- {
			if strings.HasSuffix(text, value[:n]) {
				most = n
			}
		}
	}
	tail := text[max(0, len(text)-longestToken):]
	if at := tokenBegun().FindStringIndex(tail); at != nil {
		most = max(most, len(tail)-at[0])
	}
	if most < fewest {
		return 0
	}
	return most
}

// NewLogger returns a logger that masks secrets: the values of attributes whose names are like those of credentials, and every
// secret in a text.
func NewLogger(to Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch value := a.Value.Resolve(); {
			case runtime.CredentialName(a.Key):
				a.Value = slog.StringValue(config.Masked)
			case value.Kind() == slog.KindString: // before the handler escapes its line ends
				a.Value = slog.StringValue(to.Text(value.String()))
			case value.Kind() == slog.KindAny:
				if err, ok := value.Any().(error); ok {
					a.Value = slog.StringValue(to.Text(err.Error()))
				}
			}
			return a
		},
	}))
}
