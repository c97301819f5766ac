package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"gascity/internal/config"
)

var update = flag.Bool("update", false, "write the generated files")

// validate compares a value with a JSON Schema and returns the differences. It knows the keywords
// that [Schema] uses and fails on any other.
func validate(root, schema map[string]any, value any, path string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return validate(root, root["$defs"].(map[string]any)[name].(map[string]any), value, path)
	}
	var wrong []string
	for word, rule := range schema {
		switch word {
		case "$schema", "$defs", "description", "title", "default", "patternProperties", "minProperties":
		case "type":
			if got := typeOf(value); got != rule {
				wrong = append(wrong, fmt.Sprintf("%s is %s, want %s", path, got, rule))
			}
		case "pattern":
			if !regexp.MustCompile(rule.(string)).MatchString(fmt.Sprint(value)) {
				wrong = append(wrong, fmt.Sprintf("%s: %v does not match", path, value))
			}
		case "enum":
			if !slices.Contains(rule.([]any), value) {
				wrong = append(wrong, fmt.Sprintf("%s: %v is not one of %v", path, value, rule))
			}
		case "minimum":
			if i, ok := value.(int64); ok && i < 0 {
				wrong = append(wrong, path+" is negative")
			}
		case "additionalProperties":
			table, _ := value.(map[string]any)
			inner, every := rule.(map[string]any)
			for key, item := range table {
				if every {
					wrong = append(wrong, validate(root, inner, item, path+"."+key)...)
				}
			}
		case "maxProperties":
			if len(value.(map[string]any)) > int(rule.(float64)) {
				wrong = append(wrong, path+" has too many keys")
			}
		case "items":
			list, _ := value.([]any)
			for i, item := range list {
				wrong = append(wrong, validate(root, rule.(map[string]any), item, fmt.Sprintf("%s[%d]", path, i))...)
			}
		case "properties":
			wrong = append(wrong, validateTable(root, schema, value, path)...)
		case "oneOf":
			matching := 0
			for _, one := range rule.([]any) {
				if one := one.(map[string]any); one["type"] == typeOf(value) && len(validate(root, one, value, path)) == 0 {
					matching++
				}
			}
			if matching != 1 {
				wrong = append(wrong, fmt.Sprintf("%s matches %d of the alternatives", path, matching))
			}
		default:
			wrong = append(wrong, "the schema uses the word "+word)
		}
	}
	return wrong
}

func validateTable(root, schema map[string]any, value any, path string) []string {
	table, _ := value.(map[string]any)
	properties := schema["properties"].(map[string]any)
	var wrong []string
	for key, inner := range table {
		if property, ok := properties[key].(map[string]any); ok {
			wrong = append(wrong, validate(root, property, inner, path+"."+key)...)
			continue
		}
		patterns, _ := schema["patternProperties"].(map[string]any)
		matched := false
		for pattern := range patterns {
			matched = matched || regexp.MustCompile(pattern).MatchString(key)
		}
		if !matched && schema["additionalProperties"] == false {
			wrong = append(wrong, fmt.Sprintf("%s has no %q", path, key))
		}
	}
	return wrong
}

func typeOf(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case int64:
		return "integer"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// judgeBySchema returns the mistakes that the schema finds in a city.toml.
func judgeBySchema(t *testing.T, text string) []string {
	t.Helper()
	var schema, value map[string]any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if err := toml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return validate(schema, schema, value, "city")
}

// TestSchemaAcceptsWhatTheLoaderAccepts checks that the schema accepts the files that the loader
// accepts.
func TestSchemaAcceptsWhatTheLoaderAccepts(t *testing.T) {
	texts := map[string]string{"full": full, "template": config.Template(config.Starter{City: "x"})}
	examples, err := filepath.Glob("../../examples/*/city.toml")
	if err != nil || len(examples) < 2 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, path := range examples {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(data)
	}
	for name, text := range texts {
		if wrong := judgeBySchema(t, text); len(wrong) > 0 {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// TestSchemaRefusesMistakes checks mistakes that the schema must find.
func TestSchemaRefusesMistakes(t *testing.T) {
	for _, text := range []string{
		"wrkspace = {}", "[workspace]\nnaem = 'x'", "[session]\nstartup_timeout = '1 min'", "[session]\nstartup_timeout = 5",
		"[[agents]]\nprompt_mode = 'args'", "[[agent]]\nready_delay_ms = -1", "[upstreams.a]\napi_key = {envv = 'X'}",
		"[[agents]]\nargs = 'x'", "[[agents]]\nenv = {A = 1}", "[providers.a]\ncopy_files = []",
	} {
		if len(judgeBySchema(t, text)) == 0 {
			t.Errorf("the schema accepts %q", text)
		}
	}
}

// TestSchemaDescribesEveryKey checks that the schema has a description for every key.
func TestSchemaDescribesEveryKey(t *testing.T) {
	var schema struct {
		Schema      string `json:"$schema"`
		Definitions map[string]struct {
			Properties map[string]struct {
				Description string
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("the schema is of %q", schema.Schema)
	}
	for name, definition := range schema.Definitions {
		for key, property := range definition.Properties {
			if property.Description == "" && name != "Secret" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	const path = "../../docs/reference/config.md"
	want := config.Reference()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not current (%v): run go test ./internal/config -run Reference -update", path, err)
	}
	for _, word := range []string{"start_command", "nudge_dispatcher", "session_circuit_breaker*", "api_key"} {
		if !strings.Contains(string(want), "`"+word+"`") {
			t.Errorf("the reference does not name %s", word)
		}
	}
}
