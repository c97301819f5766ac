// Package k8s runs each agent in a pod of a Kubernetes cluster. Kubernetes schedules, isolates and
// removes pods. In the pod, gc serves the agent's terminal (package remote), and the driver
// connects to it through an exec into the container. An image needs a shell, but no part of gc.
//
// One watch reports all pods of the city, and the driver answers from it whether a session exists.
// A session that the watch cannot see is unknown, and the driver stops nothing because of that.
//
// The agent's start configuration, including its environment, is sent over the exec connection. It
// is never stored in the cluster.
package k8s
