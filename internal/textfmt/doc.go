// Package textfmt lays out text for people: tables, ages, numbers with their noun,
// and text of strangers made safe for a terminal.
package textfmt
