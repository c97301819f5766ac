package overlay

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const overlaySettings = `{
  "hooks": {
    "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "gc hook"}]}],
    "Start": [{"hooks": []}]
  },
  "permissions": {"allow": ["Bash(gc:*)"]},
  "model": "big",
  "empty": {}
}`

// userSettings are settings as people and agent CLIs write them.
var userSettings = map[string]string{
	"empty":          `{}`,
	"empty, spaced":  "{ }\n",
	"empty, lines":   "{\n}\n",
	"two spaces":     "{\n  \"model\": \"small\",\n  \"zebra\": 1,\n  \"hooks\": {\n    \"Stop\": [\n      {\"matcher\": \"x\"}\n    ]\n  }\n}\n",
	"tabs":           "{\n\t\"hooks\": {},\n\t\"permissions\": {\n\t\t\"allow\": []\n\t}\n}",
	"four spaces":    "{\n    \"a\": [1,\n 2],\n    \"permissions\": { \"allow\": [ \"X\" ], \"deny\": [] }\n}\n",
	"one line":       `{"a":1,"hooks":{"Stop":[{"matcher":"y"}]}}`,
	"windows":        "{\r\n  \"a\": 1\r\n}\r\n",
	"odd order":      "\n\n{ \"z\": 1.50, \"a\": \"\\u00e9\\/\", \"hooks\": { \"Stop\" : [ ] } }\n\n",
	"repeated key":   `{"model": 1, "hooks": 1, "hooks": {"Stop": []}}`,
	"user's is same": overlaySettings,
	"other types":    `{"hooks": [], "permissions": "no", "model": null}`,
	"big numbers":    `{"id": 123456789012345678901234567890, "f": 1e400}`,
}

func TestMergeKeepsEverythingAndUnmergeRestoresTheBytes(t *testing.T) {
	for name, user := range userSettings {
		t.Run(name, func(t *testing.T) {
			checkMerge(t, user, overlaySettings)
		})
	}
}

// checkMerge is the property: nothing of the user's is lost, ours is there, a
// second merge changes nothing, and taking it back restores the bytes.
func checkMerge(t *testing.T, user, overlay string) {
	t.Helper()
	m, err := merge([]byte(user), []byte(overlay))
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(m.text) {
		t.Fatalf("the result is no JSON:\n%s", m.text)
	}
	if !contains(decode(t, string(m.text)), decode(t, user)) {
		t.Errorf("something of the user's is lost:\n%s\nbecame:\n%s", user, m.text)
	}
	if len(m.conflicts) == 0 && !contains(decode(t, string(m.text)), decode(t, overlay)) {
		t.Errorf("something of ours is missing:\n%s", m.text)
	}
	again, err := merge(m.text, []byte(overlay))
	if err != nil || string(again.text) != string(m.text) || len(again.added) != 0 {
		t.Errorf("a second merge adds %v (%v) and gives:\n%s", again.added, err, again.text)
	}
	back, err := unmerge(m.text, m.added, m.gaps)
	if err != nil || string(back) != user {
		t.Errorf("taking it back gives %q (%v), want %q", back, err, user)
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// contains reports whether all of part is in whole: keys, and items of lists.
func contains(whole, part any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for key, inner := range p {
			outer, there := w[key]
			if !ok || !there || !contains(outer, inner) {
				return false
			}
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		for _, item := range p {
			if !slices.ContainsFunc(w, func(other any) bool { return reflect.DeepEqual(other, item) }) {
				return false
			}
		}
		return ok
	}
	return reflect.DeepEqual(whole, part)
}

func TestMergeLayout(t *testing.T) {
	m, err := merge([]byte("{\n    \"a\": 1,\n    \"list\": [\n        \"x\"\n    ]\n}\n"), []byte(`{"list":["y"],"b":{"c":[1]}}`))
	want := "{\n    \"a\": 1,\n    \"list\": [\n        \"x\",\n        \"y\"\n    ],\n    \"b\": {\n        \"c\": [\n            1\n        ]\n    }\n}\n"
	if err != nil || string(m.text) != want {
		t.Errorf("%v\n%s", err, m.text)
	}
}

func TestUsersValueWinsAConflict(t *testing.T) {
	m, err := merge([]byte(`{"model": "small", "env": {"A": "1"}}`), []byte(`{"model": "big", "env": {"A": "2", "B": "3"}}`))
	if err != nil || string(m.text) != `{"model": "small", "env": {"A": "1", "B": "3"}}` {
		t.Errorf("%v %s", err, m.text)
	}
	if !reflect.DeepEqual(m.conflicts, []string{"model", "env.A"}) {
		t.Errorf("the conflicts are %v", m.conflicts)
	}
}

func TestUnmergeSparesWhatOthersAdded(t *testing.T) {
	m, err := merge([]byte(`{}`), []byte(overlaySettings))
	if err != nil {
		t.Fatal(err)
	}
	// The agent CLI writes the file again, in its own format, with additions.
	grown := map[string]any{}
	if err := json.Unmarshal(m.text, &grown); err != nil {
		t.Fatal(err)
	}
	hooks := grown["hooks"].(map[string]any)
	hooks["Stop"] = append([]any{"theirs"}, hooks["Stop"].([]any)...)
	grown["permissions"].(map[string]any)["deny"] = []any{"x"}
	grown["model"] = "small"
	text, err := json.Marshal(grown)
	if err != nil {
		t.Fatal(err)
	}
	back, err := unmerge(text, m.added, m.gaps)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"hooks":{"Stop":["theirs"]},"model":"small","permissions":{"deny":["x"]}}`
	if got := canonical(back); got != want {
		t.Errorf("it leaves %s, want %s", got, want)
	}
}

func TestNoJSONIsRefused(t *testing.T) {
	for _, text := range []string{"", "{", "// x\n{}", "{'a':1}", "[1]", "1", `{"a":1,}`, "\ufeff{}"} {
		if _, err := merge([]byte(text), []byte("{}")); err == nil {
			t.Errorf("merge accepts %q", text)
		}
		if _, err := unmerge([]byte(text), nil, nil); err == nil {
			t.Errorf("unmerge accepts %q", text)
		}
	}
}

func FuzzMerge(f *testing.F) {
	for _, user := range userSettings {
		f.Add(user, overlaySettings)
	}
	f.Add(`{"a":[]}`, `{"a":[[],[1]],"b":[{}]}`)
	f.Add("{\"a\":{ \n}}", `{"a":{"b":{"c":[{}]}}}`)
	f.Add(`{"a":[1,1]}`, `{"a":[1,2,2]}`)
	f.Add(`{}`, `{"":{"":[],"":[]}}`)
	f.Add(`{"b":[]}`, `{"a":1,"a":{"x":1,"x":{"y":2,"y":[3]}},"b":[{"c":1,"d":0,"c":2}]}`)
	f.Fuzz(func(t *testing.T, user, overlay string) {
		if _, err := parseObject([]byte(user)); err != nil {
			return
		}
		if _, err := parseObject([]byte(overlay)); err != nil {
			return
		}
		checkMerge(t, user, overlay)
	})
}
