// Package e2e proves the product from outside: the real program, real
// controllers that are really killed, real sessions and processes.
package e2e
