// Package driver contains what several runtime providers share: the start sequence, the fan-out of events, and the part of the contract
// that is the same for each driver on this machine.
//
// [Local] implements that part over the driver's own type of a session, a [LocalSession]. [Terminals] adds what only agents with a
// terminal can do. [ScreenStream] makes a live view of complete screens. [Forwarder] is for providers of providers, which pass the calls
// for a session to the provider that has it.
//
// A driver whose agents run on this machine provides a [Backend]. The [StartSequence] runs the steps that package runtime
// documents in their order, and undoes them when a step fails or the caller's context ends.
//
// A [Broadcaster] sends the events of a driver to its consumers. A consumer that reads too slowly loses events and then gets a
// resync event: it must observe all sessions again.
package driver
