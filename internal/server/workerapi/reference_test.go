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

Made from the table of routes by ` + "`make gen`" + `; do not edit. The full description with all types is
[worker-openapi.json](worker-openapi.json), which a controller serves at ` + "`GET /openapi.json`" + ` of the socket, without a token, and ` + "`gc worker openapi`" + ` prints. In Go use package [worker](../../worker), which has the types, the errors and a client;
complete workers in Go, Python and shell are in [examples/worker](../../examples/worker).

The API is HTTP on the Unix socket ` + "`<city>/.runtime/worker.sock`" + `, mode 0600 in a folder of mode 0700, and where a worker cannot use
one, with ` + "`worker_http = true`" + ` in ` + "`[daemon]`" + `, on a port of 127.0.0.1 that stands in ` + "`<city>/.runtime/worker-<session>.port`" + `. An agent has the
socket in ` + "`GC_WORKER_SOCKET`, the port's address in `GC_WORKER_URL`" + `,
its run in ` + "`GC_RUN_ID`" + ` and its token in ` + "`GC_WORKER_TOKEN`" + `. Every request carries ` + "`Authorization: Bearer`" + ` with the token. It speaks for its
run alone and dies with it. Requests of another user, of a web page (` + "`Origin`, `Referer`" + `), or to another host are refused. Bodies are
` + "`application/json`" + `. Unknown fields are ignored on both sides; an unknown word of an enumeration is the absence of news, never permission.

` + "```sh" + `
curl --unix-socket "$GC_WORKER_SOCKET" -H "Authorization: Bearer $GC_WORKER_TOKEN" --json '{"event":"ready"}' http://city/lifecycle
` + "```" + `

## Routes

| route | who | what it does | body up to |
|---|---|---|---|
`

const referenceStream = `
## Stream

` + "`GET /stream`" + ` answers with server-sent events, one for each message: its ` + "`id`" + ` is the message's ` + "`seq`" + `, its ` + "`event`" + ` the kind, its ` + "`data`" + `
the message as JSON on one line. After a broken connection the reader comes again with ` + "`Last-Event-ID`" + `. A message is sent again to
each new reader until ` + "`POST /ack`" + ` has named its ` + "`id`" + `: who gets one twice acts once, and repeats its last word. A silent stream has a
comment every 15 s. One worker reads the stream of a run: a second one is ` + "`unavailable`" + ` until the first has gone, for two would work on each prompt twice.

| event | data | the worker |
|---|---|---|
| ` + "`prompt`" + ` | Prompt | hands it to the agent; ` + "`submitted`" + ` when that has taken it, ` + "`consumed`" + ` when a turn worked on it, ` + "`refused`" + ` if it provably did not get it |
| ` + "`context`" + ` | Context | puts the sections into the conversation; ` + "`consumed`" + ` with the nonces that it has seen there |
| ` + "`identity`" + ` | Identity | applies it without a restart; from then on uses ` + "`token`" + `, if there is one |
| ` + "`interrupt`" + ` | Interrupt | ends the turn; ` + "`consumed`" + ` when nothing of it goes on |
| ` + "`compact`" + ` | Compact | makes its context smaller |
| ` + "`health`" + ` | none | answers by ` + "`POST /health`" + ` with ` + "`question`" + ` |
| ` + "`reply`" + ` | Reply | has the answer to a question that it raised |
| ` + "`snapshot`" + ` | Snapshot | may decide these tools by itself while the city cannot be reached |
| ` + "`gap`" + ` | Gap | nothing: what it has not acknowledged is sent again |
| ` + "`lagged`" + ` | {} | was too slow and is cut off; it connects again |
| ` + "`end`" + ` | {} | ends: its run is over |

A message of a kind that a worker does not know it acknowledges as ` + "`refused`" + `.

## Problems

Errors are RFC 9457 problem documents (` + "`application/problem+json`" + `) with the members type, title, status, detail and code. The code
is stable; in Go it matches the sentinel.

| code | status | sentinel |
|---|---|---|
`

// referenceHTTP is what is answered before there is a request.
const referenceHTTP = `
What is no request of HTTP/1.1 is answered by HTTP itself, before there is one: with a status alone or with a line of plain text, on a connection that is
closed then. It reaches no handler, is about no run, and is not logged. Who asked for an authorization and gets any answer that is no decision has received
a denial.

| status | what was sent |
|---|---|
| 400 | no request line, no or two ` + "`Host`" + `, a header that is none, two lengths |
| 417 | ` + "`Expect`" + ` with anything but ` + "`100-continue`" + ` |
| 431 | a path and headers of together more than 20 KiB |
| 501 | a ` + "`Transfer-Encoding`" + ` other than chunked |
| 505 | another version than HTTP/1 |
| none | headers that take longer than 10 s; nothing for 2 minutes |
`

// referenceLoad is what was measured.
const referenceLoad = `
## Load

1,000 workers with the Go client over one socket, each with 48 prompts (one for every half hour of a day, without the waiting), on the engine with a
real store: 288,000 requests and 48,000 prompts, each in the time line once. With all clients in the same process, on two cores with a load of 6 to 10
by others, it took 70 s, 4,792 calls a second. At saturation each request waits for a processor behind those of the 999 others (1,000 callers at 4,792
calls a second are 209 ms each); nothing is written to a disk on the way:

| call | p50 | p99 |
|---|---|---|
| ` + "`" + `POST /lifecycle` + "`" + ` | 168 ms | 0.71 s |
| ` + "`" + `POST /ack` + "`" + ` | 160 ms | 0.82 s |
| ` + "`" + `POST /authorize` + "`" + ` | 157 ms | 0.92 s |
| ` + "`" + `POST /telemetry` + "`" + ` | 161 ms | 0.80 s |
| a prompt, until the worker has it | 173 ms | 0.70 s |

The heap, clients included, was 75 MiB with all connected, and 105, 113 and 117 MiB after each third: the last third adds 3%. What is left of it are the 64 newest
messages of each run that have ended, and the clients' own. The same again, ` + "`" + `GC_LOAD_RATE` + "`" + ` for so many prompts a second:
` + "`" + `GC_LOAD_WORKERS=1000 GC_LOAD_TURNS=48 go test -run TestLoad -v ./bench/worker` + "`" + `.
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

// TestEveryBodyHasAnExampleThatIsOne: it has each field that its type knows, and no other,
// as the description says; and every code is described with what it means.
func TestEveryBodyHasAnExampleThatIsOne(t *testing.T) {
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
