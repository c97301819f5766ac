// Package overlay copies overlays and files into a session's working directory and never destroys files of the user.
//
// # Rules
//
// An overlay only adds. An existing file is not changed, with two exceptions. A file that has exactly the content that an
// earlier staging wrote is updated. A known JSON settings file is merged: missing keys and list items are added, and everything
// of the user stays, including order and formatting. Settings that are not valid JSON are not changed, and a warning is
// reported. Copied files follow the same rule. Only [CopyTo], which a person requests, replaces files.
//
// The files of an overlay folder are for all agents, except per-provider/<slot>/: its content is for that slot only, and is
// copied as if it were in the overlay folder itself. Later folders override earlier ones, and slots override the rest. A
// top-level .gc folder and special files are skipped. A symbolic link to a file inside the overlay is copied as that file; any
// other link is skipped with a warning.
//
// Every write creates a new file in the same folder, syncs it and renames it. A reader sees the old file or the new one; after
// a failure the old file is unchanged. Permissions are preserved. No write goes outside the working directory, neither by ".."
// nor through a symbolic link.
//
// # The ledger
//
// The file .gc/staged.json in the working directory, the ledger, records what was staged, so that a later staging
// replaces it. The records are not in the settings files, because some agent CLIs refuse unknown keys. If the ledger is
// lost, no file of the user is lost: everything then counts as the user's.
//
// A working directory is locked during a staging, also against other processes.
package overlay
