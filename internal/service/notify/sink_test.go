package notify

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"gascity/internal/config"
	"gascity/internal/domain/notification"
	"gascity/internal/redact"
	"gascity/test/tier"
)

// attack is the text of a hostile agent: markup of every service, control characters, a change of direction, and a secret.
const attack = "<b>bold</b> <!channel> @everyone *star* [link](http://evil) `code` $(id) #(id) %n\x1b]0;x\x07\r\nBcc: x@evil\u202e abc " + hiddenValue

const hiddenValue = "hunter2-hunter2-hunter2"

// message returns a message with the text of a hostile agent, as the engine renders it.
func message(text string) *Message {
	secrets := &redact.Redactor{}
	secrets.Hide(hiddenValue)
	m := &Message{ID: "n-1", City: "town", Items: []Item{{Kind: string(notification.Question), Agent: "a", Question: "q-1", Title: "a asks " + text, Prompt: text, Options: []string{"Yes " + text}, Since: time.Now()}}}
	m.render(secrets, func(string, string) string { return "https://box.example/#/needs/q-1" })
	return m
}

// reply is what a fake service answers.
type reply struct {
	status int
	header string // Retry-After
	body   string
}

// fakeService answers with the reply and records the requests.
func fakeService(t *testing.T, answer *reply) (url string, requests func() (headers []http.Header, bodies []string)) {
	t.Helper()
	var mu sync.Mutex
	var headers []http.Header
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		headers, bodies = append(headers, r.Header), append(bodies, r.Method+" "+r.URL.Path+" "+string(body))
		mu.Unlock()
		if answer.header != "" {
			w.Header().Set("Retry-After", answer.header)
		}
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body) // the client may be gone
	}))
	t.Cleanup(s.Close)
	return s.URL, func() ([]http.Header, []string) {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(headers), slices.Clone(bodies)
	}
}

// environment has the secrets TOKEN and HOOK.
func environment(url string) Environment {
	return Environment{Secrets: config.SecretSource{Env: func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": "123:secret-token", "HOOK": url + "/T0/secret-hook"}[name]
		return value, ok
	}}}
}

func sinkOf(kind config.NotifyType, url string) Sink {
	n := &config.Notify{Name: "x", Type: kind, URL: config.ParseSecret(url), Token: config.ParseSecret("env:TOKEN"), Topic: "t", Chat: "7", Timeout: 5 * time.Second}
	return NewSink(n, environment(url))
}

// TestWebServicesGetEscapedText: the text of an agent has no effect in any service, no secret leaves the machine, and each request
// has the id.
func TestWebServicesGetEscapedText(t *testing.T) {
	tier.Process(t)
	for kind, c := range map[config.NotifyType]struct {
		ok      reply
		without []string // texts that the body must not contain
	}{
		config.NotifyWebhook:  {reply{status: 204}, nil},
		config.NotifySlack:    {reply{status: 200, body: "ok"}, nil},
		config.NotifyDiscord:  {reply{status: 204}, []string{"<b>", " *star*", "[link]("}},
		config.NotifyTeams:    {reply{status: 202}, []string{`"TextBlock"`}},
		config.NotifyTelegram: {reply{status: 200, body: `{"ok":true}`}, []string{"parse_mode"}},
		config.NotifyNtfy:     {reply{status: 200, body: `{"id":"x"}`}, []string{`"markdown"`}},
	} {
		for name, text := range map[string]string{"attack": attack, "long": strings.Repeat("long 日本 ", 20_000), "empty": ""} {
			url, requests := fakeService(t, &c.ok)
			if err := send(t.Context(), sinkOf(kind, url), message(text)); err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			headers, bodies := requests()
			if len(bodies) != 1 || headers[0].Get("Idempotency-Key") != "n-1" {
				t.Fatalf("%s, %s: %d requests, headers %v", kind, name, len(bodies), headers)
			}
			_, body, _ := strings.Cut(strings.TrimPrefix(bodies[0], "POST "), " ")
			var decoded any
			if err := json.Unmarshal([]byte(body), &decoded); err != nil {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
			var texts strings.Builder
			collect(decoded, &texts)
			for _, bad := range append([]string{hiddenValue, "secret-token", "\x1b", "\x07", "\r", "\u202e"}, c.without...) {
				if strings.Contains(texts.String(), bad) || strings.Contains(body, bad) {
					t.Errorf("%s, %s: the body contains %q: %.600s", kind, name, bad, body)
				}
			}
			if kind != config.NotifyWebhook && len(body) > 20<<10 || len(body) > 60<<10 {
				t.Errorf("%s, %s: the body has %d bytes", kind, name, len(body))
			}
		}
	}
}

// collect writes all strings of a JSON value.
func collect(v any, b *strings.Builder) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, one := range v {
			collect(one, b)
		}
	case map[string]any:
		for key, one := range v {
			b.WriteString(key + " ")
			collect(one, b)
		}
	}
}

// TestSlackAndDiscordMentionNoPerson: plain text in Slack, no allowed mentions in Discord.
func TestSlackAndDiscordMentionNoPerson(t *testing.T) {
	t.Parallel()
	slack, err := json.Marshal(slackBody(nil, message(attack)))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Text   string
		Blocks []struct{ Text struct{ Type, Text string } }
	}
	if err := json.Unmarshal(slack, &s); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(s.Text, "<>") {
		t.Errorf("the text of Slack has markup: %q", s.Text)
	}
	for _, b := range s.Blocks {
		if b.Text.Type != "plain_text" && b.Text.Text != "<https://box.example/#/needs/q-1|Open in the web console>" {
			t.Errorf("a block has markup of the agent: %+v", b)
		}
	}
	discord, err := json.Marshal(discordBody(nil, message(attack)))
	if err != nil || !strings.Contains(string(discord), `"allowed_mentions":{"parse":[]}`) {
		t.Errorf("Discord: %s, %v", discord, err)
	}
}

// TestTelegramMakesNoMention: the whole text of the agent is preformatted, in which Telegram makes no mentions, commands and links.
// The text is not changed, and the link of gc is outside.
func TestTelegramMakesNoMention(t *testing.T) {
	t.Parallel()
	const link = "\nhttps://box.example/#/needs/q-1"
	for _, text := range []string{"ask @anna, /stop and http://evil.example", "日本 😀 @anna", "", strings.Repeat("😀@anna ", 2000)} {
		m := message(text)
		body, err := json.Marshal(telegramBody(&config.Notify{Chat: "7"}, m))
		if err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Text     string
			Entities []struct {
				Type           string
				Offset, Length int
			}
		}
		if err := json.Unmarshal(body, &sent); err != nil || len(sent.Entities) != 1 || sent.Entities[0].Type != "pre" || sent.Entities[0].Offset != 0 {
			t.Fatalf("%.20q: %v, the body is %.300s", text, err, body)
		}
		units := utf16.Encode([]rune(sent.Text))
		quoted, rest := string(utf16.Decode(units[:sent.Entities[0].Length])), string(utf16.Decode(units[sent.Entities[0].Length:]))
		if rest != link || !strings.HasPrefix(quoted, m.Title) || len(text) < 100 && !strings.Contains(quoted, m.Text) || len(units) > 4096 {
			t.Errorf("%.20q: preformatted is %.300q, the rest is %q", text, quoted, rest)
		}
	}
}

// TestLongLinkAndTitle: no length of the address of the web console or of the city's name ends the controller.
func TestLongLinkAndTitle(t *testing.T) {
	m := message(strings.Repeat("text ", 1000))
	m.Link, m.Title = "https://example.org/"+strings.Repeat("x", 3000), strings.Repeat("city", 300)
	for _, kind := range []config.NotifyType{config.NotifyDiscord, config.NotifySlack, config.NotifyTeams, config.NotifyTelegram, config.NotifyNtfy} {
		if _, err := json.Marshal(payloadOf(kind).body(&config.Notify{}, m)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestAnswersOfWebServices: which answer confirms a message, which is final, and when the next try is.
func TestAnswersOfWebServices(t *testing.T) {
	tier.Process(t)
	for name, c := range map[string]struct {
		kind   config.NotifyType
		answer reply
		ok     bool
		final  bool
		after  time.Duration
	}{
		"ok":                  {config.NotifyWebhook, reply{200, "", "garbage"}, true, false, 0},
		"too many":            {config.NotifyWebhook, reply{429, "17", ""}, false, false, 17 * time.Second},
		"too many, for long":  {config.NotifyWebhook, reply{429, "1e99", ""}, false, false, time.Hour},
		"too many, a word":    {config.NotifyWebhook, reply{429, "soon", ""}, false, false, 0},
		"telegram, too many":  {config.NotifyTelegram, reply{429, "", `{"ok":false,"parameters":{"retry_after":9}}`}, false, false, 9 * time.Second},
		"unavailable":         {config.NotifySlack, reply{503, "5", "<html>"}, false, false, 5 * time.Second},
		"broken":              {config.NotifyDiscord, reply{500, "", strings.Repeat("x", 1<<20)}, false, false, 0},
		"not found":           {config.NotifySlack, reply{404, "", "no_service"}, false, true, 0},
		"wrong token":         {config.NotifyNtfy, reply{401, "", ""}, false, true, 0},
		"a redirect":          {config.NotifyWebhook, reply{302, "", ""}, false, true, 0},
		"telegram, garbage":   {config.NotifyTelegram, reply{200, "", "<html>a login page</html>"}, false, false, 0},
		"telegram, not ok":    {config.NotifyTelegram, reply{200, "", `{"ok":false}`}, false, false, 0},
		"ntfy, another page":  {config.NotifyNtfy, reply{200, "", "hello"}, false, false, 0},
		"ntfy, garbage":       {config.NotifyNtfy, reply{200, "", "{\"id\":\"\xff"}, false, false, 0},
		"webhook, no content": {config.NotifyWebhook, reply{204, "", ""}, true, false, 0},
	} {
		url, _ := fakeService(t, &c.answer)
		err := send(t.Context(), sinkOf(c.kind, url), message("May I?"))
		failed, _ := errors.AsType[*SendError](err)
		if failed == nil {
			failed = &SendError{}
		}
		if (err == nil) != c.ok || failed.Final != c.final || failed.After != c.after {
			t.Errorf("%s: %v, final %v, after %v", name, err, failed.Final, failed.After)
		}
		if c.answer.status == http.StatusFound && !strings.Contains(err.Error(), "redirect") {
			t.Errorf("%s: the error has no remedy: %v", name, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || len(err.Error()) > 400) {
			t.Errorf("%s: the error has a secret or is long: %v", name, err)
		}
	}
}

// TestConfirmedWithEndlessAnswer: the status confirms the message, also if the body of the answer never ends.
func TestConfirmedWithEndlessAnswer(t *testing.T) {
	tier.Process(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		if err := http.NewResponseController(w).Flush(); err == nil {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(service.Close)
	n := &config.Notify{Name: "x", Type: config.NotifyWebhook, URL: config.ParseSecret(service.URL), Timeout: 300 * time.Millisecond}
	if err := send(t.Context(), NewSink(n, environment("")), message("?")); err != nil {
		t.Errorf("after the status 200: %v", err)
	}
}

// TestRefusalsHaveNoSecrets: a service repeats the address, the token or a part of it in its answer.
func TestRefusalsHaveNoSecrets(t *testing.T) {
	tier.Process(t)
	const address, token = "/services/T01/B02/aVerySecretAddress", "aVerySecretToken"
	for name, answer := range map[string]string{
		"address": "Cannot POST " + address, "token": token + " is not valid", "cut": strings.Repeat("x", 190) + token,
		"token with line end": "aVerySecret\nToken is not valid",
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, answer, http.StatusNotFound) }))
		t.Cleanup(service.Close)
		for _, kind := range []config.NotifyType{config.NotifyWebhook, config.NotifyTelegram} {
			n := &config.Notify{Name: "x", Type: kind, URL: config.ParseSecret(service.URL + address), Token: config.ParseSecret(token), Timeout: time.Minute}
			err := send(t.Context(), NewSink(n, environment("")), message("?"))
			if err == nil || !strings.Contains(err.Error(), "404") || strings.Contains(err.Error(), "aVery") {
				t.Errorf("%s, %s: %v", kind, name, err)
			}
		}
	}
}

// TestNetworkErrorsHaveNoSecrets: a service that hangs, closes or does not exist, and a credential that cannot be read.
func TestNetworkErrorsHaveNoSecrets(t *testing.T) {
	tier.Process(t)
	release := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(hanging.Close)
	t.Cleanup(func() { close(release) })
	closing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.Close() // the point of the test
		}
	}))
	t.Cleanup(closing.Close)
	for name, url := range map[string]string{"hangs": hanging.URL, "closes": closing.URL, "absent": "http://127.0.0.1:1"} {
		n := &config.Notify{Name: "x", Type: config.NotifyTelegram, URL: config.ParseSecret(url), Token: config.ParseSecret("env:TOKEN"), Chat: "7", Timeout: 100 * time.Millisecond}
		err := send(t.Context(), NewSink(n, environment(url)), message("?"))
		failed, known := errors.AsType[*SendError](err)
		if err == nil || known && failed.Final || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := &config.Notify{Name: "x", Type: config.NotifySlack, URL: config.ParseSecret("env:ABSENT"), Timeout: time.Second}
	if err := send(t.Context(), NewSink(n, environment("")), message("?")); err == nil || !strings.Contains(err.Error(), "env:ABSENT") {
		t.Errorf("a missing secret: %v", err)
	}
}

func TestCommand(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	run := func(line string, timeout time.Duration) error {
		env := Environment{Dir: dir, Environ: []string{"PATH=/usr/bin:/bin"}}
		return send(t.Context(), NewSink(&config.Notify{Name: "x", Type: config.NotifyExec, Command: line, Timeout: timeout}, env), message(attack))
	}
	if err := run(`cat > in.json; printf %s "$GC_NOTIFY_TEXT" > text; printf %s "$GC_NOTIFY_ID $GC_NOTIFY_QUESTION $GC_NOTIFY_URGENT" > ids`, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	var m Message
	in, err := os.ReadFile(filepath.Join(dir, "in.json"))
	if err != nil || json.Unmarshal(in, &m) != nil || m.ID != "n-1" || m.Items[0].Question != "q-1" || strings.Contains(string(in), hiddenValue) {
		t.Errorf("standard input was %q, %v", in, err)
	}
	if ids, err := os.ReadFile(filepath.Join(dir, "ids")); err != nil || string(ids) != "n-1 q-1 1" {
		t.Errorf("the variables are %q, %v", ids, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "text")); err != nil || string(text) != m.Text || strings.ContainsAny(string(text), "\x1b\r") {
		t.Errorf("the text is %q, %v", text, err)
	}
	const hook = "https://hooks.example.org/T0/canary"
	if err := run("TOKEN=canary-two; echo cannot reach "+hook+" with $TOKEN; exit 3 # "+hook, 5*time.Second); err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "exit status 3: cannot reach ********") {
		t.Errorf("a command with credentials: %v", err)
	}
	for line, final := range map[string]bool{"exit 3": true, "exit 75": false, "kill -9 $$": false, "sleep 60": false} {
		err := run(line, 200*time.Millisecond)
		failed, known := errors.AsType[*SendError](err)
		if err == nil || (known && failed.Final) != final {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestDesktop: the text is an argument, with its markup escaped.
func TestDesktop(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do printf '%s\\0' \"$a\"; done > " + filepath.Join(dir, "args") + "\n"
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for system, want := range map[string]int{"linux": 5, "darwin": 9} {
		env := Environment{Dir: dir, Environ: []string{"PATH=/usr/bin:/bin"}, GOOS: system, FindProgram: func(string) (string, error) { return program, nil }}
		m := message(attack)
		m.Title = "-e do shell script"
		if err := send(t.Context(), NewSink(&config.Notify{Name: "x", Type: config.NotifyDesktop, Timeout: 5 * time.Second}, env), m); err != nil {
			t.Fatal(err)
		}
		out, err := os.ReadFile(filepath.Join(dir, "args"))
		args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if err != nil || len(args) != want || args[want-3] != "--" || args[want-2] != m.Title {
			t.Errorf("%s: the arguments are %q, %v", system, args, err)
		}
		if system == "linux" && strings.ContainsAny(args[want-1], "<>") {
			t.Errorf("markup is not escaped: %q", args[want-1])
		}
	}
	env := Environment{Dir: dir, GOOS: "linux", FindProgram: func(string) (string, error) { return "", os.ErrNotExist }}
	if err := send(t.Context(), NewSink(&config.Notify{Type: config.NotifyDesktop, Timeout: time.Second}, env), message("?")); err == nil || !strings.Contains(err.Error(), "notify-send not found") {
		t.Errorf("without the program: %v", err)
	}
}

// TestProgramThatLeavesProcess: a program for the desktop, often a script, starts a process that continues and keeps its output
// open. It delays the sink no longer than a command of exec, and nothing is left.
func TestProgramThatLeavesProcess(t *testing.T) {
	tier.Process(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 30 &\necho $! > pid\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	env := Environment{Dir: dir, Environ: []string{"PATH=/usr/bin:/bin"}, GOOS: "linux", FindProgram: func(string) (string, error) { return program, nil }}
	began := time.Now()
	if err := send(t.Context(), NewSink(&config.Notify{Name: "x", Type: config.NotifyDesktop, Timeout: 5 * time.Second}, env), message("?")); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !runs(pid) })
}

// runs reports whether a process exists that is not a zombie.
func runs(pid int) bool {
	state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(state), ") Z ")
}

// mailServer is a server for one mail. answers replaces the answer to a command.
func mailServer(t *testing.T, answers map[string]string) (address string, mails <-chan string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	got := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveMail(conn, answers, got)
		}
	}()
	return listener.Addr().String(), got
}

func serveMail(conn net.Conn, answers map[string]string, got chan<- string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	say := func(line string) { _, _ = io.WriteString(conn, line+"\r\n") } // the client may be gone
	say("220 here")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch other, ok := answers[verb]; {
		case ok:
			say(other)
		case verb == "DATA":
			say("354 go")
			var text strings.Builder
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if line == ".\r\n" {
					break
				}
				text.WriteString(line)
			}
			if other, ok := answers["END"]; ok {
				say(other)
				continue
			}
			got <- text.String()
			say("250 taken")
		default:
			say("250 ok")
		}
	}
}

func TestEmail(t *testing.T) {
	tier.Process(t)
	mailTo := func(address string) error {
		n := &config.Notify{Name: "x", Type: config.NotifyEmail, Server: address, From: "gc <gc@example.org>", To: []string{"anna@example.org", "Bo <bo@example.org>"}, TLS: config.NotifyNoTLS, Timeout: 2 * time.Second}
		return send(t.Context(), NewSink(n, environment("")), message(attack))
	}
	address, mails := mailServer(t, nil)
	if err := mailTo(address); err != nil {
		t.Fatal(err)
	}
	text := <-mails
	m, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if err != nil || strings.Contains(string(body), hiddenValue) || !strings.Contains(string(body), "https://box.example/#/needs/q-1") || !strings.Contains(string(body), "<b>bold</b>") {
		t.Errorf("the body is %q, %v", body, err)
	}
	if m.Header.Get("Message-Id") != "<n-1@example.org>" || m.Header.Get("Bcc") != "" || len(m.Header["Subject"]) != 1 || len(m.Header) != 9 {
		t.Errorf("the headers are %v", m.Header)
	}
	for name, c := range map[string]struct {
		answers map[string]string
		final   bool
	}{
		"busy":         {map[string]string{"MAIL": "451 later"}, false},
		"no such user": {map[string]string{"RCPT": "550 unknown"}, true},
		"refused":      {map[string]string{"END": "554 spam"}, true},
		"full":         {map[string]string{"END": "452 full"}, false},
		"garbage":      {map[string]string{"EHLO": "hello?", "HELO": "hello?"}, false},
	} {
		address, _ := mailServer(t, c.answers)
		err := mailTo(address)
		failed, known := errors.AsType[*SendError](err)
		if err == nil || (known && failed.Final) != c.final {
			t.Errorf("%s: %v", name, err)
		}
	}
	plain := &config.Notify{Type: config.NotifyEmail, Server: address, From: "a@b.c", To: []string{"a@b.c"}, TLS: config.NotifyStartTLS, Timeout: time.Second}
	if err := send(t.Context(), NewSink(plain, environment("")), message("?")); err == nil || !strings.Contains(err.Error(), "STARTTLS") {
		t.Errorf("a server without STARTTLS: %v", err)
	}
}
