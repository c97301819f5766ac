package answers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"gascity/internal/retry"
)

// MaxToken is the size of the longest token in bytes: what Telegram accepts as the data of a button.
const MaxToken = 64

const (
	macSize   = 16 // bytes of the signature
	labelSize = 6  // bytes of the hash of a label
	parts     = 5  // of a token
	dot       = "."
)

// token is what a token says: question.option.label.expires.signature.
type token struct {
	question string
	option   int    // its index
	label    string // the hash of its label
	expires  int64  // Unix seconds
}

// labelHash returns the part of a token that stands for the label of an option.
func labelHash(label string) string {
	sum := sha256.Sum256([]byte(label))
	return base64.RawURLEncoding.EncodeToString(sum[:labelSize])
}

// isPlain reports whether the id of a question can be a part of a token.
func isPlain(id string) bool { return id != "" && !strings.ContainsAny(id, dot+"\x00") }

// text returns the token without its signature.
func (t *token) text() string {
	return strings.Join([]string{t.question, strconv.Itoa(t.option + 1), t.label, strconv.FormatInt(t.expires, 36)}, dot)
}

// mac returns the signature of the token for a recipient.
func (t *token) mac(key []byte, to Recipient) string {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{"gc answer button 1", to.Sink, to.Device, strconv.FormatBool(to.Post), t.text()} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:macSize])
}

// sign returns the whole token.
func (t *token) sign(key []byte, to Recipient) string { return t.text() + dot + t.mac(key, to) }

// isSignedBy reports whether mac is the signature of the token for a recipient.
func (t *token) isSignedBy(key []byte, to Recipient, mac string) bool {
	return hmac.Equal([]byte(mac), []byte(t.mac(key, to)))
}

// parse returns the parts of a token. ok is false if the text is no token. Each token has one form, so that a used one cannot be
// written differently.
func parse(text string) (t token, mac string, ok bool) {
	if len(text) > MaxToken {
		return t, "", false
	}
	found := strings.Split(text, dot)
	if len(found) != parts || !isPlain(found[0]) {
		return t, "", false
	}
	option, err := strconv.ParseUint(found[1], 10, 16)
	expires, bad := strconv.ParseInt(found[3], 36, 64)
	if err != nil || bad != nil || option == 0 {
		return t, "", false
	}
	t = token{question: found[0], option: int(option) - 1, label: found[2], expires: expires} //nolint:gosec // at most 16 bits
	return t, found[4], t.text()+dot+found[4] == text
}

// QuestionOf returns the id of the question that a token names, empty if the text is no token. The token may be forged.
func QuestionOf(text string) string {
	t, _, _ := parse(text)
	return t.question
}

// refusalRate is how many refused presses are recorded. It must not be changed.
var refusalRate = retry.Rate{Burst: 20, Every: 10 * time.Second}
