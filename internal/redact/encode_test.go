package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gascity/internal/agent"
	"gascity/internal/config"
	"gascity/internal/domain/session"
	"gascity/internal/redact"
)

const (
	secret   = "sk-very-secret-0123456789"
	instance = agent.InstanceTokenPrefix + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// TestTokensAreMaskedByTheirForm needs no list of tokens: a redactor that has never seen them masks
// them, whole, cut off at their end and broken by a terminal.
func TestTokensAreMaskedByTheirForm(t *testing.T) {
	var nobody *redact.Redactor
	for _, token := range []string{instance, session.WorkerToken(instance, 0), session.WorkerToken(instance, 7), agent.OwnerTokenPrefix + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		for text, want := range map[string]string{
			token:                config.Masked,
			"a=" + token + ", b": "a=" + config.Masked + ", b",
			token + token:        config.Masked + config.Masked,
			token[:26] + "…":     config.Masked + "…",
			token[:2] + "\n" + token[2:11] + "\r\n" + token[11:] + "\nnext": config.Masked + "\nnext",
		} {
			if got := nobody.Text(text); got != want {
				t.Errorf("%q reads %q, want %q", text, got, want)
			}
		}
	}
	for _, text := range []string{"gc init_all", "gci_small letters", "GCI_ABCDEFGHIJKLMNOP", "a gcw_short one", "go.mod: gco_1"} {
		if got := nobody.Text(text); got != text {
			t.Errorf("%q reads %q, and is no token", text, got)
		}
	}
}

// TestTheTokenOfAnEarlierVersionIsStillTheSame compares with what earlier versions made: their workers
// know no other.
func TestTheTokenOfAnEarlierVersionIsStillTheSame(t *testing.T) {
	if got, want := session.WorkerToken("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 0), strings.TrimPrefix(session.WorkerToken(instance, 0), agent.WorkerTokenPrefix); got == want || strings.HasPrefix(got, agent.WorkerTokenPrefix) || len(got) != 43 {
		t.Errorf("the token is %q", got)
	}
}

// TestNoMemberOfADocumentHoldsASecret masks texts of any depth and any form, and leaves the rest of
// the document as it was.
func TestNoMemberOfADocumentHoldsASecret(t *testing.T) {
	r := &redact.Redactor{}
	r.Hide(secret)
	r.Hide(`quo"ted\secret-value`)
	broken := secret[:5] + "\n" + secret[5:]
	given := map[string]any{
		"a": secret, "b": []any{secret, map[string]any{"c": "x " + secret, instance: 1.5}}, secret: true, "wrapped": broken,
		"quoted": `say quo"ted\secret-value.`, "agent": secret + " " + instance, "raw": json.RawMessage(`{"x":"` + instance + `"}`),
		"exact": []any{secret, map[string]any{"d": secret}}, "after": secret,
	}
	want := map[string]any{
		"a": config.Masked, "b": []any{config.Masked, map[string]any{"c": "x " + config.Masked, config.Masked: 1.5}}, config.Masked: true, "wrapped": config.Masked,
		"quoted": "say " + config.Masked + ".", "agent": secret + " " + config.Masked, "raw": map[string]any{"x": config.Masked},
		"exact": []any{secret, map[string]any{"d": secret}}, "after": config.Masked,
	}
	doc, err := r.Encode(given, "exact")
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%v, want\n%v", got, want)
	}
	array, err := r.Encode(map[string]any{"x": []any{map[string]any{"id": "1"}, secret}})
	if err != nil || bytes.Contains(array, []byte(secret)) {
		t.Errorf("an element after a member that is not masked reads %s, %v", array, err)
	}
}

// TestAnyDocumentStaysTheSame encodes values without secrets.
func TestAnyDocumentStaysTheSame(t *testing.T) {
	r := &redact.Redactor{}
	r.Hide(secret)
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.MapOf(rapid.StringMatching(`[a-z"\\{}\[\]:,é\n]{0,8}`), rapid.SliceOf(rapid.StringMatching(`["\\{}\[\]:,a-z\n]{0,12}`))).Draw(rt, "value")
		want, err := json.Marshal(value)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := r.Encode(value, "a", "")
		if err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("got %s (%v), want %s", got, err, want)
		}
	})
}

// TestAStreamHidesWhatIsSpreadOverItsPieces cuts a text with secrets anywhere.
func TestAStreamHidesWhatIsSpreadOverItsPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := &redact.Redactor{}
		r.Hide(secret)
		var text, want strings.Builder
		for range rapid.IntRange(1, 5).Draw(rt, "parts") {
			plain := rapid.StringMatching(`[gc_sk. -]{0,6}\n?[A-F ]{0,3}`).Draw(rt, "plain") + "."
			text.WriteString(plain + rapid.SampledFrom([]string{secret, instance, session.WorkerToken(instance, 1)}).Draw(rt, "secret"))
			want.WriteString(plain + config.Masked)
			text.WriteString(".")
			want.WriteString(".")
		}
		var out bytes.Buffer
		s := &redact.Stream{Redactor: r, To: &out}
		for rest := text.String(); rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			if _, err := s.Write([]byte(rest[:n])); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := s.Flush(); err != nil || out.String() != want.String() {
			rt.Fatalf("%q became %q, want %q (%v)", text.String(), out.String(), want.String(), err)
		}
	})
}

// TestTheLogHoldsNoSecretThatATerminalHasBroken logs texts of several lines.
func TestTheLogHoldsNoSecretThatATerminalHasBroken(t *testing.T) {
	var out bytes.Buffer
	r := &redact.Redactor{}
	r.Hide(secret)
	broken := "it said " + secret[:8] + "\n" + secret[8:] + " and " + instance[:9] + "\n" + instance[9:]
	redact.NewLogger(redact.Writer{Redactor: r, To: &out}).Warn(broken, "text", broken, "error", errors.New(broken), "api_key", "x")
	flat := strings.ReplaceAll(out.String(), `\n`, "")
	if strings.Contains(flat, secret) || strings.Contains(flat, instance) || strings.Contains(flat, "api_key=x") {
		t.Errorf("the log says %s", out.String())
	}
}
