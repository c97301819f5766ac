// Package notify notifies people about agents that need them, have finished or have failed.
//
// # Data flow
//
// The engine is a consumer of the event log with a cursor of its own. One goroutine applies the events to a
// [notification.State], plans what is due by the rules, and saves each [notification.Delivery] before it gives the message to
// the queue of its sink. Each sink has one goroutine, so a sink that does not answer delays no other one. It saves the
// delivery again after the sink has confirmed the message. After a kill in between, the next controller sends the message
// again, with the same id. A confirmed message is never sent again.
//
// Events only trigger: when the engine starts, it compares the open questions with its state, because a kill may lose the last
// events. Before each request it checks that the agent still needs a person.
//
// Without a sink the engine reads no events, has no timer and one goroutine that waits for a configuration.
package notify
