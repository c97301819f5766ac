// Package k8s runs each agent in a pod of a Kubernetes cluster. Kubernetes schedules,
// isolates and ends pods; inside, gc itself serves the agent's terminal (package remote),
// reached through an exec into the container. An image needs a shell, and nothing of ours.
//
// One watch shows all pods of the city: whether a session is there is answered from it.
// What cannot be seen is unknown, and nothing is ended for it.
//
// What an agent is started with, its environment included, travels in the connection and
// never reaches the cluster's store.
package k8s
