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

// identity are the members of JSON objects in which gc writes names and ids that it has made or
// checked itself. Values of credentials are not masked in them: a city whose password is part of
// an agent's name must still be able to say which agent is meant. Tokens are masked there too.
var identity = []string{"agent", "session", "provider", "id", "instance"}

// JSON returns an encoded document without secrets: in no string of it, whatever member it
// belongs to, stands a hidden value or a token. Members that are named in exact are left as they
// are, with everything in them. The document is returned itself if nothing is masked.
func (r *Redactor) JSON(doc []byte, exact ...string) []byte {
	values := r.hidden()
	var out []byte // nil as long as nothing has been masked
	done := 0      // what of doc is in out
	member := ""   // the latest name of a member
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
				member = string(literal[1 : len(literal)-1])
				if skip < 0 && slices.Contains(exact, member) {
					skip = depth
				}
			}
			if skip < 0 {
				known := values
				if !isName && i > 0 && doc[i-1] == ':' && slices.Contains(identity, member) {
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

// concealLiteral masks secrets in a JSON string literal. One that cannot be decoded is masked as
// a whole.
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
	if err != nil { // a string can always be encoded
		masked = []byte(`"` + config.Masked + `"`)
	}
	return masked, true
}

// Encode returns the JSON of a value without secrets, see [Redactor.JSON].
func (r *Redactor) Encode(value any, exact ...string) ([]byte, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return r.JSON(doc, exact...), nil
}

// Writer writes without secrets. Each call of Write gets whole lines, or texts that do not go on
// in the next call; [Stream] is for others.
type Writer struct {
	*Redactor

	To io.Writer
}

// Write writes b without secrets.
func (w Writer) Write(b []byte) (int, error) {
	text := string(b)
	clean := w.Text(text)
	if _, err := io.WriteString(w.To, clean); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Stream writes what comes in pieces without secrets, also those that are spread over several
// pieces: a piece whose end may be the beginning of a secret is held back until the next one, or
// Flush.
type Stream struct {
	*Redactor

	To      io.Writer
	pending string
}

// Write writes p, and what was held back before, without secrets.
func (s *Stream) Write(p []byte) (int, error) {
	text := s.pending + string(p)
	keep := s.unfinished(text)
	s.pending = text[len(text)-keep:]
	if err := s.write(text[:len(text)-keep]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back.
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
	// longestToken is more bytes than any token has.
	longestToken = 64
	// fewestBroken is how many bytes of a secret must stand before the end of a line for the line to
	// be held back: less would hold back ordinary lines of an output that is followed.
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

// pendingSecretBytes returns how many bytes at the end of text are the beginning of a value or of a token;
// zero if they are fewer than fewest.
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
	if at := tokenBegun.FindStringIndex(tail); at != nil {
		most = max(most, len(tail)-at[0])
	}
	if most < fewest {
		return 0
	}
	return most
}

// NewLogger returns a logger that masks secrets: the values of attributes that are named like
// credentials, and every secret in a text.
func NewLogger(to Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch value := a.Value.Resolve(); {
			case runtime.CredentialName(a.Key):
				a.Value = slog.StringValue(config.Masked)
			case value.Kind() == slog.KindString: // before its line ends are escaped
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
