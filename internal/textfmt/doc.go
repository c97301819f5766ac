// Package textfmt formats text for people: tables, ages, numbers with their noun. It also makes untrusted text safe for a
// terminal, or one word of a shell.
package textfmt
