// Package questions keeps the questions and permissions that block agents: it
// raises them from what the controller reads, notifies people, accepts one
// answer, and applies the policy when no answer arrives.
//
// # Episodes
//
// An episode is one question of one instance, from the first reading that
// shows it to its end. It is durable and has an ID. [Fold] is the whole life of
// an episode as a pure function of readings:
//
//   - A reading that shows a question raises it.
//   - It ends when a newer reading of the same instance does not show it any
//     more: answered or expired if an answer had been handed over, else resolved.
//   - The first reading of a new controller may show that the agent waits and not yet for what:
//     it ends nothing.
//   - It is gone when its instance is over.
//   - A reading that cannot be had changes nothing, and neither does an older one.
//   - The same question after its end is a new episode.
//   - A dialog that shows a time ("29s left") is one episode while only that changes.
//
// # Answers
//
// An answer belongs to the episode and so to the instance. It accepts one answer:
// a second caller gets an error that names the first. That it was handed over
// proves nothing; the session is read again, and only that reading ends the
// episode. A question that still stands then can be answered again.
//
// # Cost
//
// Everything is driven by [Service.SessionChanged] and by deadlines of open episodes: one
// goroutine for the city, none for a session. A desk without questions does nothing.
package questions
