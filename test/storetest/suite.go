package storetest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Harness creates the stores to test.
type Harness struct {
	// New returns empty stores.
	New func(t *testing.T) Stores
	// Reopen returns the same stores as after a restart of the program; nil: they lose their
	// contents.
	Reopen func(t *testing.T) Stores
}

// suite is the state of one test case.
type suite struct {
	Stores

	t      *testing.T
	ctx    context.Context //nolint:containedctx // the context of the test
	reopen func(t *testing.T) Stores
}

// Run tests whether the stores follow every rule of their interfaces.
func Run(t *testing.T, h Harness) {
	cases := map[string]func(*suite){
		"record.kept":             recordKept,
		"record.sorted":           recordSorted,
		"record.secret":           recordSecret,
		"record.copy":             recordCopy,
		"pending.kept":            pendingKept,
		"wait.kept":               waitKept,
		"receipt.kept":            receiptKept,
		"receipt.content":         receiptContent,
		"receipt.key":             receiptKey,
		"receipt.key.concurrent":  receiptKeyConcurrent,
		"receipt.id":              receiptID,
		"receipt.save":            receiptSave,
		"receipt.final":           receiptFinal,
		"receipt.ended":           receiptEnded,
		"receipt.forget":          receiptForget,
		"receipt.order":           receiptOrder,
		"usage.kept":              usageKept,
		"usage.merged":            usageMerged,
		"usage.since":             usageSince,
		"usage.concurrent":        usageConcurrent,
		"notification.kept":       notificationKept,
		"notification.deleted":    notificationDeleted,
		"event.order":             eventOrder,
		"event.after":             eventAfter,
		"event.stale":             eventStale,
		"event.since":             eventSince,
		"event.wait":              eventWait,
		"event.follow.concurrent": eventFollow,
	}
	for name, check := range cases {
		t.Run(name, func(t *testing.T) {
			s := &suite{t: t, ctx: t.Context(), Stores: h.New(t), reopen: h.Reopen}
			check(s)
		})
	}
}

// recheck runs the check now and, if Reopen is set, again after a restart.
func (s *suite) recheck(check func()) {
	s.t.Helper()
	check()
	if s.reopen != nil {
		s.Stores = s.reopen(s.t)
		check()
	}
}

// must fails the test if err is not nil.
func (s *suite) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// wantSame fails the test if want and got differ.
func (s *suite) wantSame(what string, want, got any) {
	s.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("%s is not what was stored (-want +got):\n%s", what, diff)
	}
}

// start returns the base time of the test cases.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC) }

// filled returns a value with every field set to something other than zero, so that a test detects
// a field that is not stored. Different seeds give different values.
func filled[T any](seed int) T {
	var value T
	fill(reflect.ValueOf(&value).Elem(), &seed)
	return value
}

// fill sets v, and every field and element in it, to a value that is not zero. n counts the values,
// so that each is different.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString("text ✓ <&> \"" + string(rune('a'+*n%26)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n)) //nolint:gosec // small and positive
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, n)
		v.SetMapIndex(reflect.ValueOf("key"), value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(start().Add(time.Duration(*n) * time.Second)))
			return
		}
		for _, field := range v.Fields() {
			fill(field, n)
		}
	default:
		panic("storetest: cannot fill a " + v.Kind().String())
	}
}
