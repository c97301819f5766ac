// Package cluster tests the agents in pods on a real Kubernetes of one node, which setup
// and cluster make on this machine.
package cluster
