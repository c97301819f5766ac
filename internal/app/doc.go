// Package app puts the product together. It is the one package that knows
// every other: it reads the configuration, opens the providers, runs the
// controller with its API, and lends the command line what needs the machine.
package app
