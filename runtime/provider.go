package runtime

// Provider manages agent sessions in one kind of place. It is the contract that
// every driver keeps; the package documentation explains how its seven facets
// fit together.
//
// Implementations must be safe for concurrent use. Callers may call any
// method from many goroutines at once. Calls for distinct names do not wait
// for each other; calls for one name keep the documented semantics however
// they race (of twenty concurrent Starts of one name exactly one succeeds and
// nineteen return [ErrSessionExists]).
//
// The method set is that of the source document seeds/runtime.go.txt, name by
// name and signature by signature. What a driver can do beyond it are
// extensions: one file each in this package, reached by its helper and never
// by a type assertion.
type Provider interface {
	Runner
	Inspector
	Input
	Output
	MetaStore
	Stager
	Describer
}
