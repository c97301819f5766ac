// Package tui is the terminal dashboard: the agents of a city, the live screen of the selected one, and what a person
// does with them.
//
//   - [Model] is the state. It has no effects: Update folds a message into the state and returns the effects to carry out,
//     and View draws a [Frame] of a given size.
//   - The table of keys in keymap.go is the only place that binds a key. The dispatcher, the help and the footer read it.
//   - [Run] connects a Model to a terminal and to a [City]: it reads keys, follows the city, carries out effects, and
//     writes the rows of a frame that have changed.
//
// A frame consists of cells. Text of agents reaches the terminal only as cells of the screen model or through
// [textfmt.OneLine], so no control sequence of an agent gets there.
package tui
