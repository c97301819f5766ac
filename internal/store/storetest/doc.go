// Package storetest proves stores and breaks them.
//
// [Run] holds every store to the rules that its interface states, whatever it is
// made of. [Faulty] stands between a store and its user and fails, hangs or
// returns old results, so that the user can be held to its own rules.
package storetest
