package engine

import (
	"fmt"
	"reflect"
)

// Required returns the options of an engine. It panics if a function or an interface in them is nil: each is required, and what was
// forgotten would otherwise end the engine when it is used for the first time.
func Required[T any](opts T) T {
	v := reflect.ValueOf(opts)
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Func, reflect.Interface:
			if f.IsNil() {
				panic(fmt.Sprintf("%T has no %s", opts, v.Type().Field(i).Name))
			}
		default: // others may be zero
		}
	}
	return opts
}
