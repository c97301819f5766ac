// Package agent computes the names of agents' sessions. Only this package maps (city, agent) to a
// session name and back.
//
// # The default scheme
//
// A session is called gc-{city}-{agent}. Lower-case letters and digits stay unchanged, and so do
// "-" and "_" inside a part before a lower-case letter or a digit. A "/" of the agent that is not
// its first byte becomes "--". So most names are easy to read. In the name of an agent without a
// directory but with a dash, the boundary is escaped, see below.
//
//	city           agent               session
//	city           hello-world/worker  gc-city-hello-world--worker
//	bright-lights  mayor               gc-bright-lights-mayor
//
// Everything else begins with "__", which the rules above never produce:
//
//	__2e       any other byte, in lower-case hex; this one is "."
//	__z        an empty part
//	__-        the boundary between city and agent, where it must be said
//	__h<hash>  the end of a name that would be too long; see below
//
// # The boundary
//
// "a" + "b-x" and "a-b" + "x" would produce the same name, so one of them must mark its boundary. A
// reader considers the single dashes before the first "--" (the first "/"). The boundary is the
// first of them if there is a "--", and the last of them if there is none. A pair that would be
// read differently gets "__-" as its boundary:
//
//	bright         lights-mayor        gc-bright__-lights-mayor
//	bright-lights  rig/worker          gc-bright-lights__-rig--worker
//
// Only the pair decides that, never the other agents, so a name is stable.
//
// # What it guarantees
//
// Two different pairs never have the same name, whatever their bytes. All names are lower case, so
// this also holds on file systems that ignore case, where "Worker" (gc-city-__57orker) and "worker"
// would clash otherwise. Each name satisfies [runtime.ValidateName].
//
// A name of more than [runtime.MaxNameLen] bytes is cut and ends in "__h" and the SHA-256 of the
// pair. Such names are distinct as far as SHA-256 is, and are the only ones that [ParseSessionName]
// cannot reverse.
//
// A common prefix does not identify a city: the names of city "a-b" also begin with "gc-a-". Use
// [ParseSessionName] to find the agent of a session.
//
// # Templates
//
// A user's template is Go text/template with City, Agent, Dir (the part before the last "/", or
// empty) and Name (the part after it), each encoded like a part of the default name. A template may
// produce equal names; [Distinct] checks them.
package agent
