// Package runtimetest proves that a driver keeps the contract of package
// runtime. It is for everybody who writes a driver, a router or a wrapper.
//
// The contract is a table of cases ([Cases]); each has an ID, the sentence of
// the contract that it proves, and a function. The table has three readers:
//
//   - [Run], for a driver's TestConformance;
//   - [Check], for people who want to know without a Go toolchain;
//   - docs/reference/contract.md, which is made from it.
//
// # A driver's test
//
//	func TestConformance(t *testing.T) {
//		runtimetest.Run(t, runtimetest.Harness{
//			New:    func(t runtimetest.T, dir string) runtime.Provider { return open(t, dir) },
//			Reopen: func(t runtimetest.T, dir string) runtime.Provider { return open(t, dir) },
//			Agent:  runtimetest.Program{Path: build.Build(t)}.Agent,
//		})
//	}
//
// Each case gets a world of its own: an empty folder and a provider that New
// opened over it. At the end of the case everything that it started is stopped
// and a provider with a Close method is closed.
//
// # Not applicable, skipped, passed
//
// A case that needs an extension or a capability which the provider does not
// have is not applicable; [runtime.As] and Capabilities decide, never a name. A
// case that a driver cannot keep is listed in Harness.Skip with the reason, and
// the list belongs to the driver's documentation. A key of Skip that is no case
// fails. Both are reported apart from passed.
//
// # Doubles
//
// Package fake has a provider in memory that implements everything and passes
// the suite, and a wrapper that injects faults into any provider.
//
// # A new case
//
// Write the sentence first. Wait for events with the methods of [World], never
// for time. Then write the mutant: a provider that breaks that sentence only.
// The package's tests fail for a case that has none, and for a mutant that the
// case does not notice.
package runtimetest
