// Package runtimetest tests whether a driver implements the contract of package
// runtime. It is for authors of drivers, routers and wrappers.
//
// The contract is a table of cases ([Cases]); each has an ID, the sentence of
// the contract that it tests, and a function. The table has three uses:
//
//   - [Run], for a driver's TestConformance;
//   - [Check], for programs such as gc provider check, without a Go toolchain;
//   - docs/reference/contract.md, which is generated from it.
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
// Each case gets its own world: an empty directory and a provider that New
// opened over that directory. After the case everything that it started is stopped
// and a provider with a Close method is closed.
//
// # Not applicable, skipped, passed
//
// A case that needs an extension or a capability which the provider does not
// have is not applicable; [runtime.As] and Capabilities decide, never a name. A
// case that a driver cannot pass is listed in Harness.Skip with the reason, and
// the list belongs to the driver's documentation. A key of Skip that is no case
// fails. Both results are reported separately from passed.
//
// # Fakes
//
// Package fake has a provider in memory that implements everything and passes
// the suite, and a wrapper that injects faults into any provider.
//
// # A new case
//
// Write the sentence first. Wait for events with the methods of [World], and never
// for a fixed time. Then write the mutant: a provider that breaks only this sentence.
// The package's tests fail for a case without a mutant, and for a mutant that the
// case does not detect.
package runtimetest
