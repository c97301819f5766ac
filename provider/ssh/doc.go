// Package ssh runs agents on another host, by the user's own ssh: their configuration,
// keys, agent and known hosts. Nothing needs to be there but an ssh server and a POSIX
// shell: gc brings its own program, named by its checksum, and runs its own embedded
// terminals there (package remote). Sessions live on when the link is lost, and are found
// again; until then they are unknown.
//
// One ssh process holds the connection; everything goes through it, and attaching shares
// it.
package ssh
