package workerapi_test

import (
	"net/http"
	"testing"
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
