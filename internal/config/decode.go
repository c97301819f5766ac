package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decoder fills a [City] with the values of a parsed city.toml and collects the mistakes.
type decoder struct {
	city   *City
	errs   []*Error
	fields map[reflect.Type][]field // the keys of the sections that were decoded, by their type
}

// decode parses and decodes the text of a city.toml. A value with a mistake is not in the city that
// it returns.
func decode(path string, source []byte) (*City, []*Error) {
	d := &decoder{city: &City{Path: path, source: source}, fields: map[reflect.Type][]field{}}
	root, err := parseTree(path, source)
	if err != nil {
		d.errs = append(d.errs, err)
		root = &node{}
	}
	d.table(root, reflect.ValueOf(d.city).Elem(), "")
	return d.city, d.errs
}

// fail adds a mistake at a position.
func (d *decoder) fail(at Origin, hint, format string, args ...any) {
	e := d.city.ErrorAt(at, format, args...)
	e.Hint = hint
	d.errs = append(d.errs, e)
}

// table decodes a table into the struct of its section. label names the section in messages, for
// example "[session]"; it is empty for the top level of the file.
func (d *decoder) table(n *node, section reflect.Value, label string) {
	fields, known := d.fields[section.Type()]
	if !known {
		fields = fieldsOf(section.Type())
		d.fields[section.Type()] = fields
	}
	keys := section.Addr().Interface().(interface{ keys() *Keys }).keys()
	keys.at = n.at
	for _, e := range n.entries {
		i := slices.IndexFunc(fields, func(f field) bool { return f.matches(e.name) })
		if i < 0 {
			if why := reasonIgnored(section.Type(), e.name); why != "" {
				d.city.Notes = append(d.city.Notes, d.city.ErrorAt(e.at, "%s has no effect: %s", e.name, why))
				continue
			}
			d.unknownKey(e, fields, label)
			continue
		}
		d.entry(e, fields[i], section, keys, label)
	}
	for _, f := range fields {
		if keys.Has(f.name) {
			continue
		}
		target := section.FieldByIndex(f.index)
		if f.preset != "" {
			if err := setScalar(target, f.preset); err != nil {
				panic("config: bad default of " + f.name + ": " + err.Error())
			}
		} else if isSection(target.Type()) {
			d.table(&node{}, target, f.name)
		}
	}
}

// keys returns k itself, so that code with only a section can get the Keys that are embedded in it.
func (k *Keys) keys() *Keys { return k }

// isSection reports whether t is the struct of a section: it has a field of the type [Keys].
func isSection(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	f, ok := t.FieldByName("Keys")
	return ok && f.Type == keysType
}

// unknownKey adds the mistake that a section has no such key, and suggests a similar one.
func (d *decoder) unknownKey(e *entry, fields []field, label string) {
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
	}
	d.fail(e.at, suggest(e.name, names), "unknown key %q%s", e.name, inSection(label))
}

// inSection returns the end of a message that says in which section something is.
func inSection(label string) string {
	if label == "" {
		return " at the top level"
	}
	return " in " + label
}

// entry decodes one key of a section and records its position. A key that is also written under its
// second name is a mistake.
func (d *decoder) entry(e *entry, f field, section reflect.Value, keys *Keys, label string) {
	appends := f.typ.Kind() == reflect.Slice && isSection(f.typ.Elem())
	if keys.Has(f.name) && !appends {
		d.fail(e.at, "write one of them", "%s and %s are the same key%s", f.name, f.alias, inSection(label))
		return
	}
	at := e.value.at
	if e.value.kind == tableKind {
		at = e.at
	}
	keys.record(f.name, at)
	target := section.FieldByIndex(f.index)
	d.value(e, f, target, keys)
}

// value decodes the value of a key into target, the field for it.
func (d *decoder) value(e *entry, f field, target reflect.Value, keys *Keys) {
	n := e.value
	switch t := target.Type(); {
	case t == reflect.TypeFor[Secret]():
		d.secret(e, target)
	case t == reflect.TypeFor[Amount]():
		target.Set(reflect.ValueOf(d.amount(n, f.name)))
	case isSection(t):
		if d.want(e, tableKind) {
			d.table(n, target, "["+e.name+"]")
		}
	case t.Kind() == reflect.Map:
		d.mapping(e, target, keys)
	case t.Kind() == reflect.Slice:
		d.list(e, target, keys)
	default:
		d.scalar(n, f.name, target)
	}
}

// want reports whether the value of a key has the kind k, and adds a mistake if not.
func (d *decoder) want(e *entry, k kind) bool {
	if e.value.kind == k {
		return true
	}
	d.fail(e.value.at, "", "%s must be %s, not %s", e.name, k, e.value.kind)
	return false
}

// mapping decodes a TOML table with any names into a Go map.
func (d *decoder) mapping(e *entry, target reflect.Value, keys *Keys) {
	if !d.want(e, tableKind) {
		return
	}
	t := target.Type()
	target.Set(reflect.MakeMap(t))
	for _, inner := range e.value.entries {
		value := reflect.New(t.Elem()).Elem()
		switch {
		case isSection(t.Elem()):
			if !d.want(inner, tableKind) {
				continue
			}
			d.table(inner.value, value, fmt.Sprintf("[%s.%s]", e.name, inner.name))
		case t.Elem().Kind() == reflect.Slice && inner.value.kind == stringKind:
			value.Set(reflect.ValueOf(strings.Fields(inner.value.text)))
		case t.Elem().Kind() == reflect.Slice:
			d.list(inner, value, &Keys{})
		default:
			d.scalar(inner.value, e.name+"."+inner.name, value)
			keys.record(e.name+"."+inner.name, inner.value.at)
		}
		target.SetMapIndex(reflect.ValueOf(inner.name), value)
	}
}

// list decodes a TOML array into a Go slice.
func (d *decoder) list(e *entry, target reflect.Value, keys *Keys) {
	t := target.Type()
	if isSection(t.Elem()) && e.value.kind == tableKind {
		d.fail(e.value.at, fmt.Sprintf("write [[%s]]", e.name), "%s must be an array, not a table", e.name)
		return
	}
	if !d.want(e, arrayKind) {
		return
	}
	if target.IsNil() {
		target.Set(reflect.MakeSlice(t, 0, len(e.value.items)))
	}
	origins := make([]Origin, 0, len(e.value.items))
	for _, item := range e.value.items {
		value := reflect.New(t.Elem()).Elem()
		switch {
		case !isSection(t.Elem()):
			d.scalar(item, "each item of "+e.name, value)
		case item.kind != tableKind:
			d.fail(item.at, "", "each item of %s must be a table, not %s", e.name, item.kind)
			continue
		default:
			d.table(item, value, "[["+e.name+"]]")
		}
		target.Set(reflect.Append(target, value))
		origins = append(origins, item.at)
	}
	keys.recordItems(e.name, origins)
}

// secret decodes a credential: a string, or a table with exactly one key, such as {env = "NAME"}.
func (d *decoder) secret(e *entry, target reflect.Value) {
	switch n := e.value; {
	case n.kind == stringKind:
		target.Set(reflect.ValueOf(ParseSecret(n.text)))
	case n.kind != tableKind:
		d.fail(n.at, `write "env:NAME" or {env = "NAME"}`, "%s must be a string or a table, not %s", e.name, n.kind)
	case len(n.entries) != 1:
		d.fail(e.at, "write env, file, command or credential", "%s needs exactly one reference, not %d", e.name, len(n.entries))
	default:
		ref := n.entries[0]
		kinds := []string{string(SecretEnv), string(SecretFile), string(SecretCommand), string(SecretCredential)}
		switch {
		case !slices.Contains(kinds, ref.name):
			d.fail(ref.at, suggest(ref.name, kinds), "unknown kind of reference %q in %s", ref.name, e.name)
		case d.want(ref, stringKind):
			target.Set(reflect.ValueOf(NewSecret(SecretKind(ref.name), ref.value.text)))
		}
	}
}

// scalar decodes a value that is neither a table nor an array.
func (d *decoder) scalar(n *node, name string, target reflect.Value) {
	want := wantedKind(target.Type())
	if n.kind != want {
		hint := ""
		if target.Type() == reflect.TypeFor[time.Duration]() {
			hint = `a duration is a string such as "30s"`
		}
		d.fail(n.at, hint, "%s must be %s, not %s", name, want, n.kind)
		return
	}
	if allowed := words(target.Type()); allowed != nil && !slices.Contains(allowed, n.text) {
		d.fail(n.at, suggest(n.text, allowed), "%s cannot be %q", name, n.text)
		return
	}
	if err := setScalar(target, n.text); err != nil {
		hint := ""
		if strings.HasSuffix(err.Error(), "is not a valid duration") {
			hint = `write it like "30s", "5m" or "1h30m"`
		}
		d.fail(n.at, hint, "%s: %v", name, err)
	}
}

// wantedKind returns the kind of TOML value that a field of the type t is decoded from.
func wantedKind(t reflect.Type) kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Bool:
		return boolKind
	case t.Kind() == reflect.Int:
		return integerKind
	}
	return stringKind // durations among them
}

// setScalar parses text as the type of target and sets target to the result.
func setScalar(target reflect.Value, text string) error {
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	switch target.Interface().(type) {
	case time.Duration:
		d, err := parseDuration(text)
		target.SetInt(int64(d))
		return err
	case OptionalDuration:
		d, err := parseOptionalDuration(text)
		target.Set(reflect.ValueOf(d))
		return err
	}
	switch target.Kind() {
	case reflect.Bool:
		target.SetBool(text == "true")
	case reflect.Int:
		i, err := strconv.ParseInt(cmp.Or(text, "0"), 0, 32)
		if err != nil {
			return fmt.Errorf("%s is not a number in the valid range", text)
		}
		if i < 0 {
			return fmt.Errorf("a count cannot be negative: %d", i)
		}
		target.SetInt(i)
	default:
		target.SetString(text)
	}
	return nil
}
