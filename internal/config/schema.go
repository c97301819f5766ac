package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// Schema returns the JSON Schema (2020-12) of city.toml, which editors use to suggest and check
// keys. It describes the keys, their types and the allowed values. What depends on several keys or
// on files, only [Load] checks.
func Schema() []byte {
	reflector := &jsonschema.Reflector{
		Anonymous:                  true,
		FieldNameTag:               "toml",
		RequiredFromJSONSchemaTags: true,
		LookupComment:              comment,
		Mapper:                     mapSchema,
	}
	schema := reflector.Reflect(&City{})
	schema.Title = "city.toml"
	sections := map[string]reflect.Type{}
	addSections(sections, reflect.TypeFor[City]())
	for name, definition := range schema.Definitions {
		refine(definition, sections[name])
	}
	data, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // the types are part of the program
	}
	return append(data, '\n')
}

// comment returns the description of the Go field with a name, from its doc tag.
func comment(t reflect.Type, name string) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	f, ok := t.FieldByName(name)
	if !ok {
		return ""
	}
	return describe(field{doc: f.Tag.Get("doc"), preset: f.Tag.Get("default")})
}

// describe returns the description of a key, including its default.
func describe(f field) string {
	text := f.doc
	if f.preset != "" {
		text += " Default: " + f.preset + "."
	}
	return strings.TrimSpace(text)
}

// durationPattern is the pattern of a Go duration.
const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$`

// mapSchema returns the schema of a Go type for which the library would generate a wrong one, such
// as a duration; nil for any other type.
func mapSchema(t reflect.Type) *jsonschema.Schema {
	switch t {
	case keysType:
		return &jsonschema.Schema{}
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern + "|^0$"}
	case reflect.TypeFor[OptionalDuration]():
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern + "|^0$|^off$"}
	case reflect.TypeFor[Amount]():
		number := &jsonschema.Schema{Type: "number", ExclusiveMinimum: json.Number("0")}
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{number, {Type: "string", Pattern: durationPattern}}}
	case reflect.TypeFor[Secret]():
		return secretSchema()
	case reflect.TypeFor[map[string][]string]():
		list := &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
		either := &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, list}}
		return &jsonschema.Schema{Type: "object", AdditionalProperties: either}
	}
	if allowed := words(t); allowed != nil {
		values := make([]any, len(allowed))
		for i, w := range allowed {
			values[i] = w
		}
		return &jsonschema.Schema{Type: "string", Enum: values}
	}
	if t.Kind() == reflect.Int {
		return &jsonschema.Schema{Type: "integer", Minimum: json.Number("0")}
	}
	return nil
}

// secretSchema returns the schema of a [Secret]: a string, or a table with one key.
func secretSchema() *jsonschema.Schema {
	one := uint64(1)
	properties := jsonschema.NewProperties()
	for _, kind := range []SecretKind{SecretEnv, SecretFile, SecretCommand, SecretCredential} {
		properties.Set(string(kind), &jsonschema.Schema{Type: "string"})
	}
	table := &jsonschema.Schema{
		Type: "object", Properties: properties, MinProperties: &one, MaxProperties: &one,
		AdditionalProperties: jsonschema.FalseSchema,
	}
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, table}}
}

// addSections adds the section with the Go type t, and those that it contains, by the names of
// their types.
func addSections(sections map[string]reflect.Type, t reflect.Type) {
	sections[t.Name()] = t
	for _, f := range fieldsOf(t) {
		if inner := elem(f.typ); isSection(inner) {
			addSections(sections, inner)
		}
	}
}

// refine adds to the schema of a section what the library does not read from the struct tags:
// second names, keys without effect and defaults.
func refine(definition *jsonschema.Schema, section reflect.Type) {
	if section == nil || definition.Properties == nil {
		return
	}
	for _, group := range Ignored() {
		if group.section != section {
			continue
		}
		for _, key := range group.Keys {
			property := &jsonschema.Schema{Description: "No effect: " + group.Why + ".", Deprecated: true}
			if prefix, ok := strings.CutSuffix(key, "*"); ok { // all keys that begin with it
				if definition.PatternProperties == nil {
					definition.PatternProperties = map[string]*jsonschema.Schema{}
				}
				definition.PatternProperties["^"+prefix] = property
			} else {
				definition.Properties.Set(key, property)
			}
		}
	}
	for _, f := range fieldsOf(section) {
		property, ok := definition.Properties.Get(f.name)
		if !ok {
			continue
		}
		if f.preset != "" {
			property.Default = f.preset
			switch f.typ.Kind() {
			case reflect.Int:
				property.Default = json.Number(f.preset)
			case reflect.Bool:
				property.Default = f.preset == "true"
			default:
			}
		}
		if f.alias != "" {
			same := *property
			same.Description = "The same as " + f.name + "."
			definition.Properties.Set(f.alias, &same)
		}
	}
}
