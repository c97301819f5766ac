package redact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gascity/client"
	"gascity/internal/config"
)

func TestNoTextHoldsASecret(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	r := &Redactor{}
	r.Hide(secret)
	r.Hide("short")
	r.Hide(`quo"ted\secret`)
	for text, want := range map[string]string{
		"":                          "",
		"a short word":              "a short word",
		"key: " + secret + "!":      "key: " + config.Masked + "!",
		secret + secret:             config.Masked + config.Masked,
		"sk-very-sec\nret-01234567": "sk-very-sec\nret-01234567",
		"key sk-very-sec\nret-0123456789 is wrong\nbye":                "key " + config.Masked + " is wrong\nbye",
		"sk-very\r\n-secret-0123\n456789\nsk-very-secret-01234\n56789": config.Masked + "\n" + config.Masked,
		`{"key":"quo\"ted\\secret"}`:                                   `{"key":"` + config.Masked + `"}`,
		`quo"ted\secret`:                                               config.Masked,
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}

func TestALongerSecretIsHiddenAsAWhole(t *testing.T) {
	r := &Redactor{}
	r.Hide("12345678")
	r.Hide("1234567890ab")
	if got := r.Text("x1234567890aby"); got != "x"+config.Masked+"y" {
		t.Errorf("got %q", got)
	}
}

func TestSecretsAreASetOfBoundedSize(t *testing.T) {
	r := &Redactor{}
	for range 10_000 {
		r.Hide("the-same-secret")
	}
	if n := len(r.hidden()); n != 1 {
		t.Errorf("one value is kept %d times", n)
	}
	for i := range 10_000 {
		r.Hide(fmt.Sprintf("another-secret-%d", i))
	}
	if n := len(r.hidden()); n != secretsKept || r.Text("another-secret-9999") != config.Masked {
		t.Errorf("%d values are kept, want %d with the latest", n, secretsKept)
	}
}

// TestCopiesAreRedactedAndOriginalsAreNot has secrets in every kind of field.
func TestCopiesAreRedactedAndOriginalsAreNot(t *testing.T) {
	build := func(word string) client.Explanation {
		return client.Explanation{
			Agent: client.Agent{Name: "a", Reason: "it said " + word, ReadAt: time.Unix(1, 0)}, Output: word,
			Warnings: []string{word}, Failures: []time.Time{time.Unix(2, 0)},
			Recent: []client.Event{{Text: word, Data: map[string]string{"error": word}}},
		}
	}
	r := &Redactor{}
	r.Hide("very-secret")
	original := build("very-secret")
	if diff := cmp.Diff(build(config.Masked), Value(r, original)); diff != "" {
		t.Errorf("the copy is not as it should be:\n%s", diff)
	}
	if diff := cmp.Diff(build("very-secret"), original); diff != "" {
		t.Errorf("the original was changed:\n%s", diff)
	}
}

func TestEventDataIsHiddenByNameToo(t *testing.T) {
	r := &Redactor{}
	r.Hide("very-secret")
	given := map[string]string{"api_key": "unknown", "error": "it said very-secret", "empty_token": ""}
	want := map[string]string{"api_key": config.Masked, "error": "it said " + config.Masked, "empty_token": ""}
	if diff := cmp.Diff(want, r.Data(given)); diff != "" || given["api_key"] != "unknown" {
		t.Error(diff)
	}
	if r.Data(nil) != nil {
		t.Error("no data became some")
	}
}

// TestASecretIsFoundWhereverItIsWrapped breaks lines anywhere.
func TestASecretIsFoundWhereverItIsWrapped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[a-z0-9-]{8,60}`).Draw(rt, "secret")
		text := rapid.StringMatching(`[A-Z \n]{0,40}`).Draw(rt, "before") + secret + rapid.StringMatching(`[A-Z \n]{0,40}`).Draw(rt, "after")
		width := rapid.IntRange(1, 80).Draw(rt, "width")
		var b strings.Builder
		for i := range len(text) {
			if i > 0 && i%width == 0 {
				b.WriteByte('\n')
			}
			b.WriteByte(text[i])
		}
		r := &Redactor{}
		r.Hide(secret)
		if got := strings.ReplaceAll(r.Text(b.String()), "\n", ""); strings.Contains(got, secret) {
			rt.Fatalf("%q still holds %q", got, secret)
		}
	})
}

func FuzzRedactor(f *testing.F) {
	f.Add("a very-secret text", "very-secret")
	f.Add("a\nvery-\nsecret\n", "very-secret")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := &Redactor{}
		r.Hide(secret)
		got := r.Text(text)
		asterisks := strings.Trim(secret, "*") == ""
		if len(secret) >= shortestSecret && !asterisks && strings.Contains(text, secret) && got == text {
			t.Errorf("%q still holds %q", got, secret)
		}
		if !strings.Contains(strings.NewReplacer("\n", "", "\r", "").Replace(text), strings.NewReplacer("\n", "", "\r", "").Replace(secret)) && got != text && !strings.Contains(text, "gc") {
			t.Errorf("%q without %q became %q", text, secret, got)
		}
	})
}

func BenchmarkRedactText(b *testing.B) {
	r := &Redactor{}
	for i := range 20 {
		r.Hide(fmt.Sprintf("secret-number-%d-of-twenty", i))
	}
	screen := strings.Repeat("a line of a screen as agents draw it, without anything secret\n", 50)
	b.ReportAllocs()
	for b.Loop() {
		r.Text(screen)
	}
}
