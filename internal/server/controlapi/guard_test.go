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
)

// TestAnotherUserIsRefusedEverywhere checks that every route refuses a process of another user.
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

// TestBodiesAreBounded checks that a body that is too large is refused.
func TestBodiesAreBounded(t *testing.T) {
	city, c := serve(t, Options{})
	_ = city
	keys := client.KeysRequest{Keys: []string{strings.Repeat("x", smallBody)}}
	if _, err := c.Keys(bounded(t), "worker", keys); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a body over the limit gave %v, want %v", err, client.ErrInvalid)
	}
}

// TestCityWithALongPathIsServed checks that a city can be served whose path is too long for a
// socket.
func TestCityWithALongPathIsServed(t *testing.T) {
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
	c := serveCity(t, &stubCity{Root: root}, root, Options{})
	if _, err := c.Status(bounded(t)); err != nil {
		t.Errorf("the city in a long path does not answer: %v", err)
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
