package runtime

// Provider manages agent sessions of one backend. Every driver must implement it as documented. The
// package documentation explains its seven interfaces.
//
// Implementations must be safe for concurrent use. Callers may call any method from many goroutines
// at once. Calls for different names do not wait for each other. Calls for one name keep the
// documented behavior in any order: of twenty concurrent Starts of one name exactly one succeeds
// and nineteen return [ErrSessionExists].
//
// The methods have the names and signatures of the source document seeds/runtime.go.txt. Further
// abilities of a driver are extensions: one file each in this package, used through its helper and
// never through a type assertion.
type Provider interface {
	Runner
	Inspector
	Input
	Output
	MetaStore
	Stager
	Describer
}
