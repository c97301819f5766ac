// Package storetest contains tests for stores and a store that fails.
//
// [Run] tests whether a store follows the rules of its interface. [Faulty] wraps a store and
// fails, hangs or returns old results, so that the code that uses a store can be tested.
package storetest
