package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// writeTypes writes src/types.d.ts: the types of the control API for editors and for type checks of
// the pages' sources.
func writeTypes(folder string) error {
	text, err := apiTypes(folder)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "src", "types.d.ts"), text, 0o644)
}

// schema is the part of a JSON schema that the types use.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a string or a list
	Enum       []any              `json:"enum"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Items      *schema            `json:"items"`
	Additional json.RawMessage    `json:"additionalProperties"`
}

// apiTypes returns the types of docs/reference/openapi.json as TypeScript declarations.
func apiTypes(folder string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(folder, "..", "..", "..", "docs", "reference", "openapi.json"))
	if err != nil {
		return nil, err
	}
	var doc struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("// Generated from docs/reference/openapi.json by make web; do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		fmt.Fprintf(&out, "\nexport interface %s %s\n", name, doc.Components.Schemas[name].object(""))
	}
	return out.Bytes(), nil
}

// object returns the members of an object as a type.
func (s *schema) object(indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		if strings.HasPrefix(key, "$") {
			continue
		}
		optional := "?"
		if slices.Contains(s.Required, key) {
			optional = ""
		}
		fmt.Fprintf(&b, "%s\t%s%s: %s;\n", indent, key, optional, s.Properties[key].typeName(indent+"\t"))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func (s *schema) typeName(indent string) string {
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	if len(s.Enum) > 0 {
		var words []string
		for _, v := range s.Enum {
			words = append(words, fmt.Sprintf("%q", v))
		}
		return strings.Join(words, " | ")
	}
	var kinds []string
	switch t := s.Type.(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, v := range t {
			kinds = append(kinds, fmt.Sprint(v))
		}
	}
	var words []string
	for _, kind := range kinds {
		words = append(words, s.kindName(kind, indent))
	}
	if len(words) == 0 {
		return "unknown"
	}
	return strings.Join(words, " | ")
}

func (s *schema) kindName(kind, indent string) string {
	switch kind {
	case "integer", "number":
		return "number"
	case "array":
		item := s.Items.typeName(indent)
		if strings.Contains(item, "|") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		if len(s.Properties) > 0 {
			return s.object(indent)
		}
		value := &schema{}
		if json.Unmarshal(s.Additional, value) == nil && (value.Type != nil || value.Ref != "") {
			return "Record<string, " + value.typeName(indent) + ">"
		}
		return "Record<string, unknown>"
	}
	return kind
}
