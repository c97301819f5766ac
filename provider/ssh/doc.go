// Package ssh is the driver that runs agents on another host. It runs the user's own ssh, with the
// user's configuration, keys, ssh agent and known hosts. The other host needs only an ssh server
// and a POSIX shell. gc copies its own program there, named by its checksum, and runs agents in its
// embedded terminals on that host (package remote). Sessions continue to run when the connection is
// lost, and gc finds them after the next connection. Until then their state is unknown.
//
// All operations go through one ssh process. Attaching shares its connection.
package ssh
