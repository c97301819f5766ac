// Package bench measures the product's budgets (docs/design.md, Budgets) beside
// what a user would otherwise run, both in one run, so that the ratio holds on any
// machine. Nothing here runs without being asked for:
//
//	go test -run '^$' -bench . ./bench/...
//
// Figures are reported as metrics named after their unit.
package bench
