package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"gascity/client"
	"gascity/internal/web"
)

// still stops the clock of the limits.
func still(o *web.Options) {
	now := time.Now()
	o.Now = func() time.Time { return now }
}

// Requests without a sign-in are limited, for public files and for what is refused. A device that is
// signed in, and a sign-in on a connection of its own, are not kept out by them.
func TestAFloodOfStrangersIsLimited(t *testing.T) {
	for name, attack := range map[string]struct {
		method, path string
		change       func(*http.Request)
		before       int // the status below the limit
	}{
		"public files":   {http.MethodGet, "/", nil, http.StatusOK},
		"unknown paths":  {http.MethodGet, "/nothing/here", nil, http.StatusNotFound},
		"routes":         {http.MethodGet, "/api/v1/status", nil, http.StatusUnauthorized},
		"foreign Host":   {http.MethodGet, "/", func(r *http.Request) { r.Host = "evil.example" }, http.StatusForbidden},
		"foreign Origin": {http.MethodPost, "/auth/sign-in", set("Origin", "https://evil.example"), http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, web.Settings{}, still)
			own := b.signedIn(t, client.ScopeType)
			// On a busy machine, the client sometimes closes a connection and makes the next request on another one.
			limited, connections := 0, 0
			var dialer net.Dialer
			flood := &browser{t: t, base: own.base, http: &http.Client{Timeout: deadline, Transport: &http.Transport{
				MaxConnsPerHost: 1,
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					connections++
					return dialer.DialContext(ctx, network, address)
				},
			}}}
			defer flood.http.CloseIdleConnections()
			for i := range 200 {
				change := attack.change
				if change == nil {
					change = func(*http.Request) {}
				}
				res := flood.request(attack.method, attack.path, "", change)
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				switch {
				case res.StatusCode == http.StatusTooManyRequests:
					limited++
					if res.Header.Get("Retry-After") == "" {
						t.Error("a limited request has no Retry-After")
					}
				case res.StatusCode != attack.before:
					t.Fatalf("request %d is answered with %s, want %d", i, res.Status, attack.before)
				case i < 60 && limited > 0:
					t.Fatalf("request %d is limited", i)
				}
			}
			if want := 200 - 60*connections; limited != want || connections > 2 {
				t.Errorf("%d of 200 requests on %d connections are limited, want %d", limited, connections, want)
			}
			if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
				t.Errorf("the device gets %s", res.Status)
			}
			if res := own.request(http.MethodGet, "/", ""); res.StatusCode != http.StatusOK {
				t.Errorf("the page of the device gets %s", res.Status)
			}
			b.signedIn(t, client.ScopeSee)
		})
	}
}

// Many connections together are limited too, and the owner of the cookie alone cannot use up the
// requests of the device.
func TestFloodsOfManyConnections(t *testing.T) {
	b := newBench(t, web.Settings{}, still)
	own := b.signedIn(t, client.ScopeType)
	limited := 0
	for range 60 {
		one := &browser{t: t, base: own.base, http: &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}, Timeout: deadline}}
		for range 60 {
			res := one.request(http.MethodGet, "/nothing", "")
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusTooManyRequests {
				limited++
			}
		}
		one.http.CloseIdleConnections()
	}
	if limited == 0 {
		t.Error("3600 requests of 60 connections are all answered")
	}
	limited = 0
	for range 600 {
		res := own.request(http.MethodGet, "/nothing", "", func(r *http.Request) { r.Header.Del(web.KeyHeader) })
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("600 requests with the cookie alone are all answered")
	}
	if res := own.request(http.MethodGet, "/auth/me", ""); res.StatusCode != http.StatusOK {
		t.Errorf("the device gets %s", res.Status)
	}
}
