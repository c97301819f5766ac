// Package fakecodex is a stand-in for codex in tests: its server, its terminal client, or the
// program without a server.
package fakecodex

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// The environment variables of the stand-in.
const (
	LogVariable  = "FAKE_LOG"  // the file in which it writes what it does
	UserVariable = "FAKE_USER" // the text that its terminal's user sends first
)

// GateSuffix after the name of the log is that of a file. While it exists, the stand-in asks its
// hook about no tool.
const GateSuffix = ".gate"

// Called reports whether this process is to be the stand-in.
func Called() bool { return os.Getenv(LogVariable) != "" }

// Main is the stand-in. It exits with 4 if it runs without a server.
func Main() {
	log := os.Getenv(LogVariable)
	switch {
	case slices.Contains(os.Args, "app-server"):
		serve(log)
		os.Exit(0)
	case slices.Contains(os.Args, "--remote"):
		connect(log)
	default:
		appendLine(log, "alone "+strings.Join(os.Args[1:], " "))
		os.Exit(4)
	}
}

// appendLine writes one line into the log.
func appendLine(log, line string) {
	f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = f.WriteString(line + "\n")
		_ = f.Close()
	}
}

type object map[string]any

// serve is a server of one thread. A turn ends at once, one with "hold" when it is interrupted;
// "crash" ends the process, and "fail" the turn with an error. At "tool COMMAND" the hook
// decides about a command.
func serve(log string) {
	appendLine(log, "server "+os.Getenv("GC_HOOK_DIR")+" "+os.Getenv("GC_BIN"))
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	turns := 0
	for in.Scan() {
		var m struct {
			ID     any
			Method string
			Params struct {
				ClientUserMessageID string
				TurnID              string
				Input               []struct{ Text string }
			}
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		answer := func(result any) { _ = out.Encode(object{"id": m.ID, "result": result}) }
		tell := func(method string, params object) {
			params["threadId"] = "t1"
			_ = out.Encode(object{"method": method, "params": params})
		}
		end := func(id, status string) {
			tell("turn/completed", object{"turn": object{"id": id, "status": status, "error": object{"message": "the model is away"}}})
		}
		switch m.Method {
		case "hooks/list":
			answer(object{"data": []object{{"hooks": []object{{"source": "sessionFlags", "trustStatus": "untrusted"}, {"source": "user", "trustStatus": "untrusted"}}}}})
		case "thread/start":
			runHook("SessionStart", object{"source": "startup"})
			answer(object{"thread": object{"id": "t1"}})
		case "turn/start":
			turns++
			id, text := fmt.Sprintf("turn%d", turns), m.Params.Input[0].Text
			raw, _ := json.Marshal(text)
			appendLine(log, "text "+string(raw))
			if text == "refuse" {
				_ = out.Encode(object{"id": m.ID, "error": object{"code": -1, "message": "not now"}})
				continue
			}
			answer(object{"turn": object{"id": id, "status": "inProgress"}})
			if text == "crash" {
				fmt.Fprintln(os.Stderr, "it fell over")
				os.Exit(3)
			}
			runHook("UserPromptSubmit", object{"prompt": text})
			tell("turn/started", object{"turn": object{"id": id}})
			tell("item/started", object{"turnId": id, "item": object{"type": "userMessage", "clientId": m.Params.ClientUserMessageID}})
			if command, ok := strings.CutPrefix(text, "tool "); ok {
				waitGate(log + GateSuffix)
				decision := runHook("PreToolUse", object{"tool_name": "Bash", "tool_use_id": "u1", "tool_input": object{"command": command}})
				appendLine(log, "tool "+decision)
			}
			switch {
			case strings.Contains(text, "hold"):
			case strings.Contains(text, "fail"):
				end(id, "failed")
			default:
				runHook("Stop", object{})
				end(id, "completed")
			}
		case "turn/interrupt":
			answer(object{})
			end(m.Params.TurnID, "interrupted")
		default:
			answer(object{})
		}
	}
	appendLine(log, "server ends")
}

// waitGate waits until a file does not exist, at most a minute.
func waitGate(path string) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if _, err := os.Stat(path); err != nil {
			return
		}
	}
}

// runHook runs the hook of its command line for an event, and returns what it decides.
func runHook(event string, call object) string {
	for _, arg := range os.Args {
		value, ok := strings.CutPrefix(arg, "hooks."+event+`=[{hooks=[{type="command",command=`)
		var hook string
		if !ok || json.NewDecoder(strings.NewReader(value)).Decode(&hook) != nil {
			continue
		}
		call["session_id"], call["hook_event_name"] = "t1", event
		input, _ := json.Marshal(call)
		cmd := exec.Command("/bin/sh", "-c", hook) //nolint:noctx // the hook has its own deadline
		cmd.Stdin = bytes.NewReader(input)
		text, err := cmd.CombinedOutput()
		if err != nil {
			return "denied: " + strings.TrimSpace(string(text))
		}
		return "allowed"
	}
	return "without a hook"
}

// connect opens a thread, and a turn if [UserVariable] or the command line has a text, and exits
// when a turn has failed.
func connect(log string) {
	path := strings.TrimPrefix(os.Args[slices.Index(os.Args, "--remote")+1], "unix://")
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	conn, res, err := d.Dial("ws://localhost/", nil)
	if err != nil {
		appendLine(log, "client: "+err.Error())
		os.Exit(9)
	}
	_ = res.Body.Close()
	fmt.Print("› \r\n\r\n  gpt · ~/work\x1b[2A") // its input box and its status line
	for i, method := range []string{"initialize", "hooks/list", "thread/start"} {
		_ = conn.WriteJSON(object{"id": i, "method": method, "params": object{}})
	}
	user, first := os.Getenv(UserVariable), os.Args[len(os.Args)-1]
	if text := cmp.Or(user, first); user != "" || strings.HasPrefix(first, "[") { // it begins with its city
		for {
			_, line, err := conn.ReadMessage()
			if err != nil || bytes.Contains(line, []byte(`"t1"`)) {
				break
			}
		}
		_ = conn.WriteJSON(object{"id": 9, "method": "turn/start", "params": object{"threadId": "t1", "input": []object{{"type": "text", "text": text}}}})
	}
	if user != "" {
		time.AfterFunc(500*time.Millisecond, func() {
			_ = conn.WriteJSON(object{"id": 10, "method": "turn/interrupt", "params": object{"threadId": "t1", "turnId": "turn1"}})
		})
	}
	for {
		_, line, err := conn.ReadMessage()
		if err != nil {
			appendLine(log, "client is cut off")
			select {} // as a program that does not notice: it has to be ended
		}
		if bytes.Contains(line, []byte("trustStatus")) {
			appendLine(log, "hooks "+string(line))
		}
		if bytes.Contains(line, []byte(`"failed"`)) {
			os.Exit(7)
		}
	}
}
