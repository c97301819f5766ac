// Package agent names the sessions of agents. It is the single source of truth
// for the way from (city, agent) to a session name and back.
//
// # The default scheme
//
// A session is called gc-{city}-{agent}. Lower-case letters and digits stand for themselves, and so do
// "-" and "_" inside a part when a lower-case letter or a digit follows. A "/" of the agent that is not
// its first byte is "--". Names read as they are, except an agent without a directory whose name holds
// a dash: there the boundary is escaped, see below.
//
//	city           agent               session
//	city           hello-world/worker  gc-city-hello-world--worker
//	bright-lights  mayor               gc-bright-lights-mayor
//
// Everything else begins with "__", which nothing above produces:
//
//	__2e       any other byte, in lower-case hex; this one is "."
//	__z        an empty part
//	__-        the boundary between city and agent, where it must be said
//	__h<hash>  the end of a name that would be too long; see below
//
// # The boundary
//
// "a" + "b-x" and "a-b" + "x" would read the same, so one of them must say
// where its city ends. A reader takes as the boundary, of the single dashes
// before the first "--" (the first "/"), the first one if there is a "--" and
// the last one if there is none. A pair that would be read otherwise gets "__-"
// as its boundary:
//
//	bright         lights-mayor        gc-bright__-lights-mayor
//	bright-lights  rig/worker          gc-bright-lights__-rig--worker
//
// That is decided from the pair alone, never from what other agents exist: a
// name is stable.
//
// # What it guarantees
//
// Two different pairs never get the same name, whatever their bytes. All names
// are lower case, so this holds on file systems that ignore case too, where
// "Worker" (gc-city-__57orker) and "worker" would meet otherwise. Each name
// satisfies [runtime.ValidateName].
//
// A name of more than [runtime.MaxNameLen] bytes is cut and ends in "__h" and
// the SHA-256 of the pair. That form is injective as far as SHA-256 is, and the
// only one that [ParseSessionName] cannot reverse.
//
// A common prefix proves nothing: "gc-a-" is also how the sessions of city
// "a-b" begin. Ask [ParseSessionName] whose session it is.
//
// # Templates
//
// A user's template is Go text/template with City, Agent, Dir (what is before
// the last "/", or empty) and Name (what is after it), each encoded like a part
// of the default. It cannot promise distinct names; [Distinct] checks them.
package agent
