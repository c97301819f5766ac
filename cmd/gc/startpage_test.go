package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var startLink = regexp.MustCompile(`url=(http://127\.0\.0\.1:\d+)/#code=([A-Z2-7]+)`)

// startPage is the command startpage BODY of scripts: it opens the link of gc web --start, which runs in
// the background, signs in and sends the request of the page. It prints the answer. With neg the request
// must be refused.
func startPage(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: startpage BODY")
	}
	base, key, cookie := signInToStartPage(ts)
	status, _, text := postToStartPage(ts, base+"/api/v1/start", args[0], map[string]string{"Gc-Web-Key": key, "Cookie": cookie})
	if ok := status == http.StatusOK; ok == neg {
		ts.Fatalf("the start page answers %d: %s", status, text)
	}
	_, _ = ts.Stdout().Write(text) // into memory
}

// signInToStartPage uses the link, or what an earlier call got for it.
func signInToStartPage(ts *testscript.TestScript) (base, key, cookie string) {
	saved := ts.MkAbs(".start-page")
	if text, err := os.ReadFile(saved); err == nil {
		parts := strings.Split(string(text), "\n")
		return parts[0], parts[1], parts[2]
	}
	var found []string
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for end := time.Now().Add(20 * time.Second); found == nil && time.Now().Before(end); <-again.C {
		files, err := filepath.Glob(filepath.Join(ts.Getenv("TMPDIR"), "gc-start-*", "web-link.html"))
		ts.Check(err)
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				found = startLink.FindStringSubmatch(string(text))
			}
		}
	}
	if found == nil {
		ts.Fatalf("gc web --start makes no link")
	}
	status, cookies, text := postToStartPage(ts, found[1]+"/auth/sign-in", `{"code":"`+found[2]+`","device":"test"}`, nil)
	var out struct{ Key string }
	if err := json.Unmarshal(text, &out); err != nil || len(cookies) != 1 {
		ts.Fatalf("the sign-in answers %d: %s", status, text)
	}
	cookie = cookies[0].Name + "=" + cookies[0].Value
	ts.Check(os.WriteFile(saved, []byte(found[1]+"\n"+out.Key+"\n"+cookie), 0o600))
	return found[1], out.Key, cookie
}

// postToStartPage sends a request as the page does.
func postToStartPage(ts *testscript.TestScript, url, body string, headers map[string]string) (status int, cookies []*http.Cookie, text []byte) {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body)) //nolint:noctx // the client has a limit
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	h := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := h.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	ts.Check(err)
	return res.StatusCode, res.Cookies(), text
}
