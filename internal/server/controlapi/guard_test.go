package controlapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity/client"
	"gascity/test/fakecity"
)

func TestAnotherUserIsRefusedEverywhere(t *testing.T) {
	stranger := Options{PeerUID: func(*net.UnixConn) (uid, pid int, err error) { return os.Getuid() + 1, 77, nil }}
	unknown := Options{PeerUID: func(*net.UnixConn) (uid, pid int, err error) { return 0, 0, errors.New("no such call") }}
	for name, opts := range map[string]Options{"stranger": stranger, "unknown": unknown} {
		t.Run(name, func(t *testing.T) {
			city, _ := serve(t, opts)
			h := rawClient(t, city.Root)
			for _, row := range routes() {
				res := request(t, h, row.method, strings.ReplaceAll(row.path, "{target}", "worker"), map[string]string{client.VersionHeader: "x"})
				if res != http.StatusForbidden {
					t.Errorf("%s %s answered %d to %s, want 403", row.method, row.path, res, name)
				}
			}
			if got := request(t, h, http.MethodGet, "/openapi.json", nil); got != http.StatusForbidden {
				t.Errorf("/openapi.json answered %d to %s, want 403", got, name)
			}
		})
	}
}

func TestBrowsersAreRefused(t *testing.T) {
	city, _ := serve(t, Options{})
	h := rawClient(t, city.Root)
	tests := map[string]struct {
		method, path string
		header       map[string]string
		want         int
	}{
		"plain read":              {http.MethodGet, "/v1/status", nil, http.StatusOK},
		"localhost":               {http.MethodGet, "/v1/status", map[string]string{"Host": "localhost"}, http.StatusOK},
		"origin":                  {http.MethodGet, "/v1/status", map[string]string{"Origin": "http://city"}, http.StatusForbidden},
		"null origin":             {http.MethodGet, "/v1/status", map[string]string{"Origin": "null"}, http.StatusForbidden},
		"referer":                 {http.MethodGet, "/v1/status", map[string]string{"Referer": "http://x/"}, http.StatusForbidden},
		"rebound name":            {http.MethodGet, "/v1/status", map[string]string{"Host": "evil.example"}, http.StatusForbidden},
		"name with port":          {http.MethodGet, "/v1/status", map[string]string{"Host": "localhost:80"}, http.StatusForbidden},
		"write without version":   {http.MethodPost, "/v1/sessions/worker/interrupt", nil, http.StatusForbidden},
		"write with version":      {http.MethodPost, "/v1/sessions/worker/interrupt", map[string]string{client.VersionHeader: "x"}, http.StatusOK},
		"unknown path":            {http.MethodGet, "/v1/nothing", nil, http.StatusNotFound},
		"description":             {http.MethodGet, "/openapi.json", nil, http.StatusOK},
		"stream with a bad id":    {http.MethodGet, "/v1/events/stream", map[string]string{"Last-Event-ID": "x"}, http.StatusUnprocessableEntity},
		"number with a bad value": {http.MethodGet, "/v1/sessions/worker/peek?lines=many", nil, http.StatusUnprocessableEntity},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := request(t, h, test.method, test.path, test.header); got != test.want {
				t.Errorf("answered %d, want %d", got, test.want)
			}
		})
	}
}

func TestBodiesAreBounded(t *testing.T) {
	city, c := serve(t, Options{})
	_ = city
	keys := client.KeysRequest{Keys: []string{strings.Repeat("x", smallBody)}}
	if _, err := c.Keys(bounded(t), "worker", keys); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a body over the limit gave %v, want %v", err, client.ErrInvalid)
	}
}

func TestUnknownFieldsOfARequestAreRefused(t *testing.T) {
	city, _ := serve(t, Options{})
	h := rawClient(t, city.Root)
	req, err := http.NewRequestWithContext(bounded(t), http.MethodPost, "http://city/v1/sessions/worker/nudge", strings.NewReader(`{"text":"x","only_if":"y"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(client.VersionHeader, "x")
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusUnprocessableEntity || len(city.Prompts()) > 0 {
		t.Errorf("a nudge with an unknown condition answered %d and delivered %v", res.StatusCode, city.Prompts())
	}
}

func rawClient(t *testing.T, root string) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", client.SocketPath(root))
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func request(t *testing.T, h *http.Client, method, path string, header map[string]string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(bounded(t), method, "http://city"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	res, err := h.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestALongRootIsServedToo(t *testing.T) {
	root := filepath.Join(shortDir(t), strings.Repeat("long/", 40))
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // it is below /tmp, not in root
		place := filepath.Dir(client.SocketPath(root))
		if err := os.RemoveAll(place); err != nil {
			t.Error(err)
		}
		_ = os.Remove(filepath.Dir(place)) // stays if another city is there
	})
	c := serveCity(t, &fakecity.City{Root: root}, root, Options{})
	if _, err := c.Status(bounded(t)); err != nil {
		t.Errorf("the city in a long path does not answer: %v", err)
	}
}
