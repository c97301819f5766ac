package workerapi

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"gascity/worker"
)

var update = flag.Bool("update", false, "write the generated references")

func TestReferenceIsCurrent(t *testing.T) {
	described, err := Description()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"worker-api.md": reference(), "worker-openapi.json": string(described)} {
		path := filepath.Join("..", "..", "..", "docs", "reference", name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/reference/%s is out of date, run make gen (-want +got):\n%s", name, diff)
		}
	}
}

const referenceHead = `# Worker API

Made from the table of routes by ` + "`make gen`" + `; do not edit. A worker is a program that calls this API on behalf of an agent. The full description with all types
is [worker-openapi.json](worker-openapi.json). A controller serves it at ` + "`GET /openapi.json`" + ` of the socket, without a token, and ` + "`gc worker openapi`" + `
prints it. In Go use package [worker](../../worker), which has the types, the errors and a client. Complete workers in Go, Python and shell are in
[examples/worker](../../examples/worker).

The API is HTTP on the Unix socket ` + "`<city>/.runtime/worker.sock`" + `. The mode of the socket is 0600, that of its directory 0700. A worker that cannot use
a socket can use a port of 127.0.0.1: set ` + "`worker_http = true`" + ` in ` + "`[daemon]`" + `. The port is written in ` + "`<city>/.runtime/worker-<session>.port`" + `. The
environment of an agent has the socket in ` + "`GC_WORKER_SOCKET`" + `, the address of the port in ` + "`GC_WORKER_URL`" + `, the id of its run in ` + "`GC_RUN_ID`" + ` and the
token of its run in ` + "`GC_WORKER_TOKEN`" + `. Every request has ` + "`Authorization: Bearer`" + ` with the token. The token is valid for one run only, and until that
run ends. The API refuses requests of another user, of a web page (` + "`Origin`" + `, ` + "`Referer`" + `), and to another host. Bodies are ` + "`application/json`" + `. Both
sides ignore unknown fields. An unknown value of an enumeration has no effect and never means permission.

` + "```sh" + `
curl --unix-socket "$GC_WORKER_SOCKET" -H "Authorization: Bearer $GC_WORKER_TOKEN" --json '{"event":"ready"}' http://city/lifecycle
` + "```" + `

## Routes

| route | who | what it does | body up to |
|---|---|---|---|
`

const referenceStream = `
## Stream

` + "`GET /stream`" + ` answers with server-sent events, one for each message. The ` + "`id`" + ` of an event is the ` + "`seq`" + ` of the message, its ` + "`event`" + ` is the kind of
the message, and its ` + "`data`" + ` is the message as JSON on one line. After a broken connection the reader connects again with ` + "`Last-Event-ID`" + `.
The city sends a message again to each new reader until ` + "`POST /ack`" + ` has named the ` + "`id`" + ` that is in the JSON of the message. A worker that gets a
message twice acts on it once, and repeats its last acknowledgment. A silent stream has a comment every 15 s. Only one worker reads the stream of a
run, because two workers would both work on each prompt. A second one gets ` + "`unavailable`" + ` until the first has disconnected.

| event | data | the worker |
|---|---|---|
| ` + "`prompt`" + ` | Prompt | passes it to the agent; acknowledges ` + "`submitted`" + ` when the agent accepted it, ` + "`consumed`" + ` when a turn worked on it, ` + "`refused`" + ` only if the agent certainly did not get it |
| ` + "`context`" + ` | Context | puts the sections into the conversation; acknowledges ` + "`consumed`" + ` with the nonces that it has seen there |
| ` + "`identity`" + ` | Identity | applies it without a restart; uses its ` + "`token`" + `, if it has one, from then on |
| ` + "`interrupt`" + ` | Interrupt | ends the turn; acknowledges ` + "`consumed`" + ` when no work of the turn continues |
| ` + "`compact`" + ` | Compact | makes its context smaller |
| ` + "`health`" + ` | none | answers by ` + "`POST /health`" + ` with ` + "`question`" + ` |
| ` + "`reply`" + ` | Reply | gets the answer to a question that it reported |
| ` + "`snapshot`" + ` | Snapshot | may decide these tools by itself while the city cannot be reached |
| ` + "`gap`" + ` | Gap | does nothing: messages that it has not acknowledged are sent again |
| ` + "`lagged`" + ` | {} | was too slow and is cut off; it connects again |
| ` + "`end`" + ` | {} | exits: its run is over |

A worker acknowledges a message of an unknown kind with ` + "`refused`" + `.

## Problems

Errors are RFC 9457 problem documents (` + "`application/problem+json`" + `) with the members type, title, status, detail and code. The code is stable. In Go
the code corresponds to the sentinel error in the table.

| code | status | sentinel |
|---|---|---|
`

// referenceHTTP is what is answered before there is a request.
const referenceHTTP = `
The HTTP server itself answers input that is not a valid HTTP/1.1 request. The answer is a status alone, or a line of plain text, and the server
closes the connection. Such input reaches no handler, belongs to no run, and is not logged. A worker that asks for an authorization treats every
answer that is not a decision as a denial.

| status | what was sent |
|---|---|
| 400 | no request line, no or two ` + "`Host`" + `, an invalid header, two lengths |
| 417 | ` + "`Expect`" + ` with anything but ` + "`100-continue`" + ` |
| 431 | a path and headers of together more than 20 KiB |
| 501 | a ` + "`Transfer-Encoding`" + ` other than chunked |
| 505 | another version than HTTP/1 |
| none | headers that take longer than 10 s; nothing for 2 minutes |
`

// referenceLoad is what was measured.
const referenceLoad = `
## Load

1,000 workers used the Go client over one socket. Each worker had 48 prompts, as many as one every half hour for a day, but without pauses. The engine
had a real store. That is 288,000 requests of workers and 48,000 prompts that were sent, and each prompt was in the timeline once. All clients were in
the same process, on two cores with a load of 6 to 10 by other programs. The test took 70 s, 4,792 calls a second. With 1,000 callers, each call takes
209 ms, nearly all of it waiting for a processor. A request in this test waits for no disk write:

| call | p50 | p99 |
|---|---|---|
| ` + "`" + `POST /lifecycle` + "`" + ` | 168 ms | 0.71 s |
| ` + "`" + `POST /ack` + "`" + ` | 160 ms | 0.82 s |
| ` + "`" + `POST /authorize` + "`" + ` | 157 ms | 0.92 s |
| ` + "`" + `POST /telemetry` + "`" + ` | 161 ms | 0.80 s |
| a prompt, until the worker has it | 173 ms | 0.70 s |

The heap, clients included, was 75 MiB with all workers connected, and 105, 113 and 117 MiB after each third of the test. The last third adds 3%. The
remaining growth is the 64 newest messages of each run that have ended, and the clients' own memory. To repeat the test, run this command;
` + "`GC_LOAD_RATE`" + ` sets the number of prompts per second: ` + "`GC_LOAD_WORKERS=1000 GC_LOAD_TURNS=48 go test -run TestLoad -v ./bench/worker`" + `.
`

// reference returns docs/reference/worker-api.md.
func reference() string {
	var out strings.Builder
	out.WriteString(referenceHead)
	for _, row := range routes() {
		who, size := "the run's worker", "no body"
		if row.who == directors {
			who = "the owner, and the run's worker"
		}
		if row.body > 0 {
			size = fmt.Sprintf("%d KiB", row.body>>10)
		}
		fmt.Fprintf(&out, "| `%s %s` | %s | %s | %s |\n", row.method, row.path, who, row.summary, size)
	}
	out.WriteString(referenceStream)
	for _, row := range worker.Codes() {
		fmt.Fprintf(&out, "| `%s` | %d | `Err%s` |\n", row.Code, row.Status, sentinelOf(row.Code))
	}
	out.WriteString("| `internal` | 500 | none: a defect, or an unforeseen error |\n")
	out.WriteString(referenceHTTP)
	out.WriteString(referenceLoad)
	return out.String()
}

// sentinelOf returns the Go name of a code.
func sentinelOf(code string) string {
	if code == "timed_out" {
		return "Timeout"
	}
	var out strings.Builder
	for word := range strings.SplitSeq(code, "_") {
		out.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return out.String()
}

// TestEveryBodyHasACompleteExample checks that the example of each body has every field of its type
// and no other, and that each error code is described.
func TestEveryBodyHasACompleteExample(t *testing.T) {
	doc := describe()
	for _, row := range routes() {
		if row.serve.request == nil {
			continue
		}
		into := reflect.New(row.serve.request).Interface()
		reader := json.NewDecoder(strings.NewReader(examples[row.id]))
		reader.DisallowUnknownFields()
		if err := reader.Decode(into); err != nil {
			t.Errorf("%s: %v", row.id, err)
		}
		media := doc.Paths[row.path].Post.RequestBody.Content["application/json"]
		result := &huma.ValidateResult{}
		huma.Validate(doc.Components.Schemas, media.Schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, media.Example, result)
		for _, err := range result.Errors {
			t.Errorf("%s: %v", row.id, err)
		}
	}
	for _, c := range worker.Codes() {
		if codeDescriptions[c.Code] == "" {
			t.Errorf("the meaning of %s is documented nowhere", c.Code)
		}
	}
}
