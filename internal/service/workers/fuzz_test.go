package workers_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"

	"gascity/internal/service/workers"
)

// FuzzReports checks that the engine answers any report without an internal error and continues to
// work.
func FuzzReports(f *testing.F) {
	paths := []string{"/lifecycle", "/telemetry", "/interaction", "/health", "/ack", "/authorize", "/context", "/context/claim", "/identity", "/prompt"}
	for path, bodies := range map[string][]string{
		"/lifecycle":     {`{"event":"idle","timestamp":"9999-12-31T23:59:59Z","seq":18446744073709551615}`, `{"event":"started","metadata":{"offers":["context","compact"],"context_usage":1e308}}`, `{"event":"stopped","metadata":{"exit_code":-1,"signal":"SIGKILL"}}`},
		"/telemetry":     {`{"events":[{"type":"turn_complete","usage":{"input_tokens":-1,"output_tokens":9223372036854775807,"cost_usd":-1e300}}]}`, `{"events":[{"type":"compacted","timestamp":"0001-01-01T00:00:00Z"},{"type":"rate_limited"}]}`},
		"/interaction":   {`{"event":"raised","id":"q","kind":"menu","options":[{}]}`, `{"event":"resolved","id":"nobody"}`},
		"/health":        {`{"status":"radiant","context_usage":-7}`},
		"/ack":           {`{"id":"","state":"consumed"}`, `{"id":"m","state":"received","nonces":["","x"]}`},
		"/authorize":     {`{"tool":"","input":null}`, `{"tool":"gc.canary","input":[1,[2,[3]]]}`},
		"/context":       {`{"sections":[{"type":"x","content":""}],"mode":"odd"}`, `{"sections":[]}`},
		"/context/claim": {`{"id":"claim-0001","source":"compact","limit":-1}`, `{"id":"claim-0001","limit":1}`},
		"/identity":      {`{"credentials":{"type":"odd","expires_at":"0001-01-01T00:00:00Z"}}`},
		"/prompt":        {`{"content":"","priority":"leisurely","ttl":-9223372036854775808}`},
	} {
		for _, body := range bodies {
			f.Add(uint8(slices.Index(paths, path)), []byte(body)) //nolint:gosec // there are few
		}
	}
	f.Fuzz(func(t *testing.T, at uint8, body []byte) {
		r := newEngineTest(t, func(o *workers.Options) { o.Sections = testSections })
		env := r.start("a", "one")
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.path)
		}}}
		for range 2 { // a repeated report is also harmless
			req, err := http.NewRequestWithContext(r.within(), http.MethodPost, "http://city"+paths[int(at)%len(paths)], bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer "+env["GC_WORKER_TOKEN"])
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(res.Body)
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			if err != nil || res.StatusCode == http.StatusInternalServerError {
				t.Errorf("%s: status %d, %s, %v", body, res.StatusCode, text, err)
			}
		}
		if _, err := r.owner().Health(r.within(), env["GC_RUN_ID"]); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}
