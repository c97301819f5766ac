// Package mockmodel is a model server without a model, for tests of real agent CLIs. It
// speaks the Anthropic Messages, OpenAI Responses, OpenAI Chat and Gemini interfaces on a
// loopback address, and it is the oracle of what reached a model: every request is kept with
// its body, and [Server.Prompts] gives what the user said, in order.
//
// What it answers is in the newest prompt of the conversation:
//
//	[[text:WORDS]]      answer with these words
//	[[count:N]]         answer word-1 word-2 ... word-N, words that the prompt does not have
//	[[tool:COMMAND]]    call the caller's shell tool, then answer; repeat for more turns
//	[[tools:A;;B]]      several calls in one response
//	[[steps:N:COMMAND]] N turns with the same call
//	[[call:NAME:JSON]]  call the tool NAME with these arguments
//	[[delay:SECONDS]]   wait before the first byte of the turn's first response
//	[[slow:SECONDS]]    stream the words of the answer over this time
//	[[usage:IN,OUT,READ,WRITE]] report these numbers of tokens for each response
//
// It also answers the question of gc doctor --ask, see package doctor.
//
// A caller's base URL is [Server.URL] with a name of its own, so that several agents can
// share a server. A main loop offers tools and asides (titles, summaries, routing) offer
// none: only requests with tools count as prompts, and of those none for a summary of the conversation.
package mockmodel
