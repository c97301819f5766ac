package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gascity/runtime"
)

// Value is one value of the configuration, as text for people.
type Value struct {
	Key    string // "session.provider", "agents.worker.env.HOME"
	Value  string // as TOML; credentials are masked with asterisks
	Origin Origin
}

// Values returns the values that are in the file and the defaults of the sections, in the order of
// the sections and their keys. What an agent inherits from the profile of its agent CLI is not
// included; plan.Values has it.
func (c *City) Values() []Value {
	var values []Value
	add := func(prefix string, section any) {
		values = append(values, sectionValues(prefix, reflect.ValueOf(section).Elem())...)
	}
	if !c.Workspace.Has("name") {
		values = append(values, Value{"workspace.name", QuoteTOML(c.Workspace.Name), Origin{Source: "the folder's name"}})
	}
	add("workspace", &c.Workspace)
	add("session", &c.Session)
	add("daemon", &c.Daemon)
	add("delivery", &c.Delivery)
	if c.Guarded() {
		add("guard", &c.Guard)
		for _, pattern := range c.Guard.Patterns() {
			section := c.Guard.Roles[pattern]
			add("guard.roles."+pattern, &section)
		}
		for i := range c.Guard.Rules {
			add("guard.rules."+c.Guard.Rules[i].ID, &c.Guard.Rules[i])
		}
	}
	addNamed(add, "providers.", c.Providers)
	addNamed(add, "upstreams.", c.Upstreams)
	addNamed(add, "credentials.", c.Credentials)
	add("web", &c.Web)
	add("top", &c.Top)
	add("usage", &c.Usage)
	for i := range c.Usage.Budgets {
		add("usage.budgets."+c.Usage.Budgets[i].Name, &c.Usage.Budgets[i])
	}
	for i := range c.Notify {
		add("notify."+c.Notify[i].Name, &c.Notify[i])
	}
	for i := range c.Rigs {
		add("rigs."+c.Rigs[i].Name, &c.Rigs[i])
	}
	for i := range c.Agents {
		add("agents."+c.Agents[i].QualifiedName(), &c.Agents[i])
	}
	return values
}

// addNamed calls add for each section of a map, sorted by name.
func addNamed[T any](add func(prefix string, section any), prefix string, sections map[string]T) {
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		section := sections[name]
		add(prefix+name, &section)
	}
}

// sectionValues returns the values of one section that are in the file, and its defaults. prefix is
// the name of the section in keys.
func sectionValues(prefix string, section reflect.Value) []Value {
	keys := section.Addr().Interface().(interface{ keys() *Keys }).keys()
	var values []Value
	for _, f := range fieldsOf(section.Type()) {
		value := section.FieldByIndex(f.index)
		path := prefix + "." + f.name
		switch {
		case isSection(f.typ):
			values = append(values, sectionValues(path, value)...)
		case !keys.Has(f.name) && f.preset == "":
		case isSection(elem(f.typ)) && f.typ != reflect.TypeFor[[]CopyEntry](): // listed as its own section
		case f.typ == reflect.TypeFor[map[string]string]():
			for _, name := range slices.Sorted(maps.Keys(value.Interface().(map[string]string))) {
				shown := Mask(name, value.Interface().(map[string]string)[name])
				values = append(values, Value{path + "." + name, QuoteTOML(shown), keys.Origin(f.name + "." + name)})
			}
		case f.name == "command" && f.typ.Kind() == reflect.String:
			values = append(values, Value{path, QuoteTOML(maskCommand(value.String())), keys.Origin(f.name)})
		default:
			values = append(values, Value{path, FormatValue(value.Interface()), keys.Origin(f.name)})
		}
	}
	return values
}

// Mask returns the value of an environment variable, or asterisks if its name shows that the value
// is a credential.
func Mask(name, value string) string {
	if value != "" && runtime.CredentialName(name) {
		return Masked
	}
	return value
}

// FormatValue returns the Go value of a key as it would be written in TOML.
func FormatValue(value any) string {
	switch v := value.(type) {
	case Secret, time.Duration, OptionalDuration:
		return QuoteTOML(fmt.Sprint(v))
	case CopyEntry:
		return fmt.Sprintf("{src = %s, rel_dst = %s}", QuoteTOML(v.Src), QuoteTOML(v.RelDst))
	}
	r := reflect.ValueOf(value)
	switch r.Kind() {
	case reflect.Pointer:
		if r.IsNil() {
			return `""`
		}
		return FormatValue(r.Elem().Interface())
	case reflect.Slice:
		items := make([]string, r.Len())
		for i := range items {
			items[i] = FormatValue(r.Index(i).Interface())
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Map:
		return formatTable(r)
	case reflect.String:
		return QuoteTOML(r.String())
	default:
		return fmt.Sprint(value)
	}
}

// formatTable returns a Go map as an inline TOML table, with asterisks instead of credentials.
func formatTable(table reflect.Value) string {
	values := make(map[string]string, table.Len())
	for k, value := range table.Seq2() {
		values[k.String()] = FormatValue(value.Interface())
		if runtime.CredentialName(k.String()) {
			values[k.String()] = QuoteTOML(Masked)
		}
	}
	items := make([]string, 0, len(values))
	for _, k := range slices.Sorted(maps.Keys(values)) {
		items = append(items, QuoteTOML(k)+" = "+values[k])
	}
	return "{" + strings.Join(items, ", ") + "}"
}

// QuoteTOML returns a text as a TOML string in one line.
func QuoteTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// elem returns the element type of a slice or map, and every other type unchanged.
func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		return t.Elem()
	}
	return t
}
