package workerapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWhatHTTPItselfRefuses checks that an invalid HTTP request never reaches a handler, is
// answered with a status that the reference names, and that its connection is closed.
func TestWhatHTTPItselfRefuses(t *testing.T) {
	const post, body = "POST /lifecycle HTTP/1.1\r\nHost: city\r\nAuthorization: Bearer " + tokenOne + "\r\nContent-Type: application/json\r\n", `{"event":"ready"}`
	length := fmt.Sprintf("Content-Length: %d\r\n", len(body))
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"no request line":        {"ready\r\n\r\n", http.StatusBadRequest},
		"no version":             {"GET /health\r\n\r\n", http.StatusBadRequest},
		"no host":                {"GET /health HTTP/1.1\r\n\r\n", http.StatusBadRequest},
		"two hosts":              {"GET /health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest},
		"a path with a control":  {"GET /he\x01alth HTTP/1.1\r\nHost: city\r\n\r\n", http.StatusBadRequest},
		"a header without colon": {"GET /health HTTP/1.1\r\nHost: city\r\nhealth\r\n\r\n", http.StatusBadRequest},
		"two lengths":            {post + length + "Content-Length: 1\r\n\r\n" + body, http.StatusBadRequest},
		"a length that is none":  {post + "Content-Length: x\r\n\r\n" + body, http.StatusBadRequest},
		"a header of 64 KB":      {post + length + "X: " + strings.Repeat("x", 64<<10) + "\r\n\r\n" + body, http.StatusRequestHeaderFieldsTooLarge},
		"a path of 64 KB":        {"GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: city\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		"another expectation":    {post + length + "Expect: a miracle\r\n\r\n" + body, http.StatusExpectationFailed},
		"another coding":         {post + "Transfer-Encoding: gzip\r\n\r\n" + body, http.StatusNotImplemented},
		"another version":        {"GET /health HTTP/3.0\r\nHost: city\r\n\r\n", http.StatusHTTPVersionNotSupported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestServer(t, false)
			conn, err := new(net.Dialer).DialContext(t.Context(), d.addr.Network(), d.addr.String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				_, _ = io.WriteString(conn, c.text) // it may be answered before its end, and the rest is not taken
			}()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, _ := io.ReadAll(res.Body) // the connection may be reset: not all of the request was read
			if res.StatusCode != c.want || !res.Close || len(text) > 200 || strings.Contains(string(text), "4711") {
				t.Errorf("got %s, closed: %t, %q; want %d", res.Status, res.Close, text, c.want)
			}
			if took := d.city.resetCalls(); len(took) != 0 {
				t.Errorf("it has reached the city: %v", took)
			}
			<-sent
		})
	}
}
