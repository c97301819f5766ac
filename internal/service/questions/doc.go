// Package questions manages the questions and permission requests that block agents. It records
// them from readings of the controller, notifies people, accepts one answer, and applies the policy
// if no answer arrives.
//
// # Episodes
//
// An episode is one question of one instance, from the first reading that shows it until it ends.
// It is stored and has an ID. [Fold] implements all changes of an episode as a function without
// side effects:
//
//   - A reading that shows a question starts an episode.
//   - It ends when a newer reading of the same instance does not show the
//     question. It is then answered or expired if an answer was sent, and
//     otherwise resolved.
//   - The first readings of a new controller may show that the agent waits, or
//     that its activity is unknown, but not what it asks. For 30 seconds such
//     a reading ends no episode.
//   - It is gone when its instance has stopped.
//   - A failed reading and an older reading change nothing.
//   - The same question after its end is a new episode.
//   - A dialog that shows a time ("29s left") is one episode while only that
//     time changes.
//
// # Answers
//
// An answer belongs to the episode, and so to the instance. An episode accepts one answer; a second
// caller gets an error that names the first responder. Sending an answer does not prove that it had
// an effect: gc reads the session again, and only that reading ends the episode. If the question is
// still open then, it can be answered again.
//
// # Cost
//
// All work is triggered by [Service.SessionChanged] and by deadlines of open episodes. There is one
// goroutine for the city and none for a session. A service without open questions does no work.
package questions
