package mockmodel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity/test/agents/mockmodel"
)

func start(t *testing.T) *mockmodel.Server {
	t.Helper()
	s, err := mockmodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask posts a body and returns the status and the whole answer.
func ask(ctx context.Context, t *testing.T, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}

// dialect is one way to ask; %s in the bodies is the prompt as JSON.
type dialect struct {
	name, path           string
	first, second        string // with the prompt; with a call and its result behind it
	called, ended, spoke string // what an answer holds
}

var dialects = []dialect{
	{
		"messages", "/v1/messages?beta=true",
		`{"model":"m","stream":true,"tools":[{"name":"Bash","input_schema":{"properties":{"command":{}}}}],"messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":%s}]}]}`,
		`{"model":"m","stream":true,"tools":[{"name":"Bash","input_schema":{}}],"messages":[{"role":"user","content":%s},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"out"}]}]}`,
		`"partial_json":"{\"command\":\"echo hi\"}"`, `event: message_stop`, `"text":"bye"`,
	},
	{
		"responses", "/v1/responses",
		`{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command","parameters":{"properties":{"cmd":{}}}}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}]}`,
		`{"model":"m","stream":true,"tools":[{"name":"exec_command"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]},{"type":"function_call","call_id":"a"},{"type":"function_call_output","call_id":"a","output":"out"}]}`,
		`"arguments":"{\"cmd\":\"echo hi\"}"`, `event: response.completed`, `"text":"bye"`,
	},
	{
		"chat", "/v1/chat/completions",
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"function":{"name":"bash","parameters":{"properties":{"command":{}}}}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":%s}]}`,
		`{"model":"m","stream":true,"tools":[{"function":{"name":"bash"}}],"messages":[{"role":"user","content":%s},{"role":"assistant","content":null,"tool_calls":[{}]},{"role":"tool","content":"out"}]}`,
		`"arguments":"{\"command\":\"echo hi\"}"`, `data: [DONE]`, `"content":"bye"`,
	},
	{
		"gemini", "/v1beta/models/g-1:streamGenerateContent?alt=sse",
		`{"tools":[{"functionDeclarations":[{"name":"run_shell_command","parametersJsonSchema":{"properties":{"command":{}}}}]}],"contents":[{"role":"user","parts":[{"text":%s}]}]}`,
		`{"tools":[{"functionDeclarations":[{"name":"run_shell_command"}]}],"contents":[{"role":"user","parts":[{"text":%s}]},{"role":"model","parts":[{"functionCall":{"name":"x"}}]},{"role":"user","parts":[{"functionResponse":{"name":"x","response":{"output":"out"}}}]}]}`,
		`"args":{"command":"echo hi"}`, `"finishReason":"STOP"`, `"text":"bye"`,
	},
}

// TestEveryDialect takes a turn with a tool call through each interface, and
// reads the log.
func TestEveryDialect(t *testing.T) {
	s := start(t)
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			const prompt = `do "it" [[tool:echo hi]][[text:bye]][[usage:11,5,7,0]]`
			quoted, err := json.Marshal(prompt)
			if err != nil {
				t.Fatal(err)
			}
			url := s.URL("x-"+d.name) + d.path
			status, answer := ask(t.Context(), t, url, fmt.Sprintf(d.first, quoted))
			if status != http.StatusOK || !strings.Contains(answer, d.called) || !strings.Contains(answer, d.ended) {
				t.Errorf("the call is answered with %d: %s", status, answer)
			}
			status, answer = ask(t.Context(), t, url, fmt.Sprintf(d.second, quoted))
			if status != http.StatusOK || !strings.Contains(answer, d.spoke) || !strings.Contains(answer, d.ended) {
				t.Errorf("the result is answered with %d: %s", status, answer)
			}
			if said := s.Prompts("x-" + d.name); len(said) != 1 || said[0].Text != prompt {
				t.Errorf("the prompts are %+v", said)
			}
			for _, r := range s.Requests() {
				if r.Caller == "x-"+d.name && (string(r.Dialect) != d.name || !r.Fine() || !r.Main || r.Usage != mockmodel.Usage{Input: 11, Output: 5, CacheRead: 7}) {
					t.Errorf("kept is %+v", r)
				}
			}
		})
	}
}

// TestFaults makes two requests of one caller fail: others are not met, and the
// prompt counts once.
// A request without tools, as for a title, gets no call of one, whatever its prompt says.
func TestAnAsideGetsNoCall(t *testing.T) {
	s := start(t)
	const body = `{"model":"m","stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"A title for: [[tool:echo hi]][[text:bye]]"}]}]}`
	_, text := ask(t.Context(), t, s.URL("a")+"/v1/responses", body)
	if strings.Contains(text, "echo hi") || !strings.Contains(text, `"text":"bye"`) {
		t.Errorf("answered was %s", text)
	}
	if r := s.Requests()[0]; r.Main || len(r.Calls) > 0 || r.Answer != "bye" {
		t.Errorf("%+v", r)
	}
}

func TestFaults(t *testing.T) {
	s := start(t)
	d := dialects[0]
	body := fmt.Sprintf(d.first, `"again"`)
	control := `{"caller":"a","count":2,"status":429,"retry_after":"3","message":"slow down"}`
	if status, answer := ask(t.Context(), t, s.URL("")+"/ctl", control); status != http.StatusOK {
		t.Fatal(answer)
	}
	var got []int
	for _, caller := range []string{"b", "a", "a", "a"} {
		status, _ := ask(t.Context(), t, s.URL(caller)+d.path, body)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{200, 429, 429, 200}, got); diff != "" {
		t.Error(diff)
	}
	if said := s.Prompts("a"); len(said) != 1 {
		t.Errorf("a retried prompt counts %d times", len(said))
	}
	if _, _ = ask(t.Context(), t, s.URL("a")+d.path, body); len(s.Prompts("a")) != 2 {
		t.Errorf("a prompt given twice counts %d times", len(s.Prompts("a")))
	}
}

// TestAnAbortIsNoticed goes away in the middle of a slow answer.
func TestAnAbortIsNoticed(t *testing.T) {
	s := start(t)
	for _, d := range dialects {
		ctx, cancel := context.WithCancel(t.Context())
		words := strings.Repeat("word ", 40)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL(d.name)+d.path, bytes.NewBufferString(fmt.Sprintf(d.first, `"[[slow:60]][[text:`+words+`]]"`)))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(res.Body); lines.Scan() && !strings.Contains(lines.Text(), "word"); {
			continue
		}
		cancel()
		_ = res.Body.Close() // it was cut off
		bounded, done := context.WithTimeout(t.Context(), 10*time.Second)
		if err := s.Await(bounded, func(all []mockmodel.Request) bool { return all[len(all)-1].Aborted }); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		done()
	}
}

// TestPrompts separates what is new in a growing conversation from what is
// repeated.
func TestPrompts(t *testing.T) {
	s := start(t)
	user := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	const answer, offer = `{"role":"assistant","content":"yes"}`, `"tools":[{"function":{"name":"bash"}}],`
	post := func(offer string, messages ...string) {
		t.Helper()
		body := `{"model":"m",` + offer + `"messages":[` + strings.Join(messages, ",") + `]}`
		if status, text := ask(t.Context(), t, s.URL("c")+"/v1/chat/completions", body); status != http.StatusOK {
			t.Fatal(text)
		}
	}
	post(offer, user("one"))
	post("", user("Give it a title"))
	post(offer, user("one"), answer, user("two"), user("two and a half"))
	post(offer, user("one"), answer, user("three")) // the second turn was taken back
	post(offer, user("<pasted_content id=\\\"a\\\">\\nfour\\n</pasted_content id=\\\"a\\\">"))
	var got []string
	for _, p := range s.Prompts("c") {
		got = append(got, fmt.Sprint(p.Text, " ", p.Pasted))
	}
	want := []string{"one false", "two false", "two and a half false", "three false", "four true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPromptWithinATurnIsItself(t *testing.T) {
	t.Parallel()
	s := start(t)
	ask(t.Context(), t, s.URL("a")+"/v1/messages", `{"model":"m","tools":[{"name":"Bash"}],"messages":[{"role":"user",
		"content":"The user sent a new message while you were working:\nJob 1.\n\nMore.\n\nThis is how Claude Code surfaces messages mid-turn."}]}`)
	if got := s.Prompts("a"); len(got) != 1 || got[0].Text != "Job 1.\n\nMore." || got[0].Pasted {
		t.Errorf("%+v", got)
	}
}

// TestASummaryIsNoPrompt: an agent that summarises its conversation says nothing again by that,
// neither by the request for it nor by what it puts in the place of what was said.
func TestASummaryIsNoPrompt(t *testing.T) {
	s := start(t)
	said := func(text string) string {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return `{"type":"message","role":"user","content":[{"type":"input_text","text":` + string(raw) + `}]}`
	}
	for _, history := range [][]string{
		{"first"},
		{"first", "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is ..."},
		{"first", "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff ..."},
		{"fir... truncated", "Another language model started to solve this problem and produced a summary of its thinking process. ...", "second"},
	} {
		var input []string
		for _, text := range history {
			input = append(input, said(text))
		}
		body := `{"model":"m","stream":true,"tools":[{"type":"function","name":"exec_command","parameters":{}}],"input":[` + strings.Join(input, ",") + `]}`
		if status, text := ask(t.Context(), t, s.URL("x")+"/v1/responses", body); status != http.StatusOK {
			t.Fatal(status, text)
		}
	}
	var got []string
	for _, p := range s.Prompts("x") {
		got = append(got, p.Text)
	}
	for i, r := range s.Requests() {
		if summary := i == 1 || i == 2; r.Summary != summary || r.Main == summary {
			t.Errorf("request %d: a summary %v, of the main loop %v", r.N, r.Summary, r.Main)
		}
	}
	if diff := cmp.Diff([]string{"first", "second"}, got); diff != "" {
		t.Error(diff)
	}
}
