// Package app connects all packages of the program: it reads the configuration, opens the
// providers, runs the controller with its API, and implements what the command line needs from the
// machine. It is the only package that imports every other one.
package app
