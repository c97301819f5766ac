package guard

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

//go:embed sets/*.toml
var shipped embed.FS

// Shipped returns the names of the sets that come with the product.
func Shipped() []string {
	entries, err := shipped.ReadDir("sets")
	if err != nil {
		return nil // the folder is in the binary
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// ShippedSet returns a set that comes with the product. An unknown name is an error
// that lists the known.
func ShippedSet(name string) (Set, error) {
	if !slices.Contains(Shipped(), name) {
		return Set{}, fmt.Errorf("there is no rule set %q; known are: %s", name, strings.Join(Shipped(), ", "))
	}
	data, err := shipped.ReadFile("sets/" + name + ".toml")
	if err != nil {
		return Set{}, err
	}
	return Decode(name, data)
}

// Decode reads a set from TOML. name is its name if it gives none, and names it in
// errors, which have line and column.
func Decode(name string, data []byte) (Set, error) {
	var set Set
	if err := strict(name, data, &set); err != nil {
		return Set{}, err
	}
	if set.Name == "" {
		set.Name = name
	}
	return set, nil
}

// strict reads TOML; an unknown key is an error.
func strict(name string, data []byte, into any) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(into)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(unknown.Errors) > 0 {
		row, column := unknown.Errors[0].Position()
		return fmt.Errorf("%s:%d:%d: unknown key %q", name, row, column, strings.Join(unknown.Errors[0].Key(), "."))
	}
	if fault, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := fault.Position()
		return fmt.Errorf("%s:%d:%d: %s", name, row, column, strings.TrimPrefix(fault.Error(), "toml: "))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
