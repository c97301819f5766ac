package jsontext_test

import (
	"encoding/json"
	"testing"

	"gascity/internal/jsontext"
)

// FuzzTexts holds the reading of strings against encoding/json.
func FuzzTexts(f *testing.F) {
	for _, seed := range []string{`""`, `"a b"`, `"\"\\\/\b\f\n\r\t"`, `"\u0026\u00e9\u20AC\u0000"`, `"\ud83d\ude00"`, `"\ud800"`, `"\ude00x"`, `"é\n"`, "\"\xff\"", "\"\xff\\n\"", `"\u12"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want string
		if len(text) == 0 || text[0] != '"' || json.Unmarshal(text, &want) != nil || text[len(text)-1] != '"' {
			t.Skip("it is no string")
		}
		if got, err := jsontext.Text(text); err != nil || got != want {
			t.Fatalf("%q: got %q, %v, want %q", text, got, err, want)
		}
	})
}

// FuzzMembers holds the reading of objects against encoding/json.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{"command":"ls"}`, `{}`, ` {"a" : [1,{"b":"}"}], "a":"x\"y","c":-1e3 } `, `[]`, `null`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"":{"":[]}}`, `{"a":true,"b":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want map[string]json.RawMessage
		if err := json.Unmarshal(text, &want); err != nil || want == nil {
			if err == nil && jsontext.IsObject(text) || err != nil && json.Valid(text) && jsontext.IsObject(text) {
				t.Fatalf("%q is taken for an object", text)
			}
			t.Skip("it is none")
		}
		got := map[string]string{}
		for quoted, value := range jsontext.Members(text) {
			name, err := jsontext.Text(quoted)
			if err != nil {
				t.Fatal(err)
			}
			got[name] = string(value)
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, want %d", text, len(got), len(want))
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Fatalf("%q: %q is %q, want %q", text, name, got[name], value)
			}
		}
	})
}
