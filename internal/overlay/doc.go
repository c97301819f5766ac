// Package overlay puts overlays and files into a session's working directory without
// ever harming what is there.
//
// # Rules
//
// An overlay is additive. A file that exists is left as it is, with two
// exceptions: one that is byte for byte as an earlier staging wrote it is
// brought up to date, and a known JSON settings file is merged: keys and list
// items that are missing are added, everything of the user's stays, order and
// formatting included. Settings that are no valid JSON are left alone with a
// warning. Copied files follow the same rule; [CopyTo], an order of a person,
// replaces.
//
// In an overlay folder everything is for everybody, except per-provider/<slot>/,
// whose contents are for that slot only and go where they would go without these
// two folders. Later folders win over earlier ones, slots over the rest. A
// top-level .gc and special files are left out. A symbolic link to a file inside
// the overlay is copied as that file; any other link is left out with a warning.
//
// Every write is a new file in the same folder, synced and then moved into
// place: a reader sees the old file or the new one, and after a failure the old
// one. Permissions are kept. No write leaves the working directory, neither by ".."
// nor through a symbolic link.
//
// # What is remembered
//
// What was staged is noted in .gc/staged.json in the working directory, which [Unstage]
// needs to take it all back. The notes are not in the settings themselves: some
// agent CLIs refuse a settings file with keys that they do not know. Losing the
// notes loses nothing of the user's: everything then counts as the user's.
//
// Stagings of one working directory exclude each other, across processes too.
package overlay
