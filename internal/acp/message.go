package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// message is one JSON-RPC message. A request has ID and Method, a notification only Method, a response only ID.
type message struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

const rpcVersion = "2.0"

// parse parses a line and returns its messages: one, or several if the line is a batch, or none if it is empty.
func parse(line []byte) ([]message, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, nil
	}
	if line[0] == '[' {
		var batch []json.RawMessage
		if err := json.Unmarshal(line, &batch); err != nil {
			return nil, err
		}
		all := make([]message, 0, len(batch))
		for _, raw := range batch {
			m, err := parseOne(raw)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		return all, nil
	}
	m, err := parseOne(line)
	if err != nil {
		return nil, err
	}
	return []message{m}, nil
}

// parseOne parses one JSON-RPC message.
func parseOne(raw []byte) (message, error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	if isNull(m.ID) {
		m.ID = nil
	}
	if m.Method == "" && m.ID == nil && m.Error == nil {
		return m, fmt.Errorf("not a JSON-RPC message")
	}
	return m, nil
}

// isNull reports whether a JSON value is missing or null.
func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// idKey returns the ID of a request as text. The IDs 7 and "7" give the same text, because some peers answer a number as a
// string.
func idKey(raw json.RawMessage) string { return strings.Trim(string(bytes.TrimSpace(raw)), `"`) }
