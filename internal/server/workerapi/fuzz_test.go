package workerapi_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"

	"gascity/internal/server/workerapi"
	"gascity/worker"
)

// FuzzBodies checks that the server answers any body as its description says, and never with an
// internal error.
func FuzzBodies(f *testing.F) {
	for i, e := range endpoints {
		if e.method != http.MethodPost {
			continue
		}
		for _, body := range []string{e.body, "", "null", "[]", `"x"`, "{", e.body[:len(e.body)-1], e.body + e.body, `{"run_id":null}`, `{"run_id":"two"}`, `{"run_id":"one","timestamp":"yesterday"}`, "{\"id\":\"\xff\"}"} {
			f.Add(uint8(i), []byte(body)) //nolint:gosec // there are few
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, body []byte) {
		e := endpoints[int(at)%len(endpoints)]
		if e.method != http.MethodPost {
			t.Skip("it has no body")
		}
		d := newTestServer(t, false)
		e.body = string(body)
		a := d.request(e, tokenOne, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s %q: status %d, %s", e.path, body, a.status, a.body)
		}
		described(t).check(t, e, a)
	})
}

// FuzzCalls compares the fast decoding of a call with encoding/json.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{
		`{"run_id":"one","id":"c1","tool":"Bash","input":{"command":"ls \u0026\u0026 rm"},"context":{"role":"x","cwd":"/"},"wait_seconds":30,"allowance":true,"ask":false,"partial":true}`,
		` { "tool" : "Bash" , "input" : [ 1 , 2 ] } `, `{"TOOL":"Bash"}`, `{"tool":"a","tool":"b"}`, `{"tool":null,"input":null,"context":null}`, `{"context":{"a":"b","a":"c"}}`, `{"context":{"a":1}}`, `{"context":{}}`,
		`{"wait_seconds":-1}`, `{"wait_seconds":1.5}`, `{"wait_seconds":1e2}`, `{"wait_seconds":99999999999999999999}`, `{"ask":1}`, `{"tool":"\ud800"}`, "{\"tool\":\"\xff\"}", `{"t\u006fol":"x"}`, `{"unknown":{"tool":"x"}}`, `null`, `[]`, `{}`, `"x"`, `{"tool":"x"}x`, ``, ` `,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want, got worker.Call
		bad, err := json.Unmarshal(text, &want), workerapi.Parse(text, &got)
		switch {
		case (bad == nil) != (err == nil), bad != nil && bad.Error() != err.Error():
			t.Fatalf("%q: got %v, encoding/json %v", text, err, bad)
		case bad == nil && !reflect.DeepEqual(got, want):
			t.Fatalf("%q: got %+v, encoding/json %+v", text, got, want)
		}
	})
}
