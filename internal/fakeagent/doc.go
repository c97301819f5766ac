// Package fakeagent implements an interactive agent for tests. It does what its flags and prompts say and records in a ledger
// what it received. It shares no code with the product, so tests compare the product's claims with its ledger.
//
//	fakeagent [flags] [first prompt]
//	fakeagent ledger FILE    print a ledger as a table
//	fakeagent verify FILE    check that a ledger has no gap
//
// Flags may also be in the environment variable FAKEAGENT_ARGS (split at blanks; quotes protect blanks). Flags on the command
// line override them.
//
// # The screen
//
// It puts the terminal in raw mode, enables bracketed paste, prints a banner and then draws at the bottom: a rule, the prompt
// line "❯ ", a rule, and the footer "? for shortcuts". While it is busy there is a line "✽ Simmering… (esc to interrupt)" above
// them. The title is "✳ fakeagent" when idle or blocked and "◐ fakeagent" when busy. Answers ("● You said (N bytes, sha256
// xxxxxxxx): first line") scroll up above the input box.
//
// # Keys
//
// Text is inserted, including tabs. A bracketed paste is inserted byte for byte. A paste of more than 800 characters or at
// least 4 lines is shown as [Pasted text #1 +N lines] and is deleted as one character. Enter (CR) submits text that is not
// empty; LF and Alt-Enter are newlines. Backspace, Delete, C-u (clear), C-w, arrows, Home and End edit. Other control
// characters and sequences do nothing. While the agent is busy, C-c and Escape interrupt, and Enter queues. While it is idle,
// C-c clears the input box; a second C-c exits with 0. The parts of an escape sequence may arrive up to 150 ms apart.
//
// # The ledger
//
// --ledger FILE appends JSON lines (see package internal/fakeagent/ledger), each with one write(2) and an fsync. A prompt
// record is on disk before any answer is drawn. A record of kind exit is written at every exit except by SIGKILL; it has the
// text that was left in the input box.
//
//	--name NAME              in the records (fakeagent)
//	--ledger-env KEY,KEY     environment variables to put into the start record
//	--ledger-keys            record every chunk of raw input as hex
//	--print-env-to FILE      write the environment, entries ended by NUL
//
// # Start and input
//
//	--think D                time to answer (20ms)
//	--slow-start D           time between banner and input box
//	--hang                   never become ready
//	--ignore-input-until-ready  throw away what comes before; otherwise it waits
//	--ignore-first-enter     swallow the first Enter that would submit
//	--slow-read D            wait so long before each read from the terminal
//	--newline-within D       an Enter this soon after text is a newline
//	--draft TEXT             text in the input box at start
//	--prompt TEXT            first prompt, as the arguments are
//	--redraw-flood SIZE      emit redraws of this size (1GB) before becoming ready
//	--alt-screen  --no-bracketed-paste  --ready-prefix TEXT
//	--ui V                   another version: new-spinner, new-box, bare (no footer, no title)
//	--conversations DIR      keep conversations there, one file each, locked while open. A
//	                         new one takes --session-id ID ("already in use" if there is one),
//	                         --resume ID goes on ("No conversation found" if there is none);
//	                         both failures are reported on standard error, exit code 1
//	--limit WHEN             "You've hit your limit · resets WHEN", then exit 1; "never" has no time
//	--osc7501                status by OSC 7501: status=idle|working|blocked|done[;kind=K]
//	--osc9                   progress by OSC 9;4 (state 3 busy, 0 idle)
//	--osc133                 A and B at ready, C at the start of a turn, D;0 at its end
//
// # Dialogs
//
// --dialog NAME[,NAME...] shows dialogs before the input box, with the text of real agents. Arrows move, Enter confirms, Escape
// and C-c cancel; in numbered dialogs a digit chooses. A wrong choice exits with 1 and prints the real agent's message on
// standard error. The names are:
//
//	trust               Yes first, cursor on Yes
//	trust-no-first      No first, cursor on No
//	trust-reversed      No first, cursor on Yes
//	trust-extra         No first, cursor on No, two different Yes
//	trust-numbered      Yes first, cursor on Yes, numbered
//	bypass              No first, cursor on No
//	apikey              Yes first, cursor on No (recommended)
//	update-default-now  numbered, cursor on Update now
//	unknown             an unknown layout, cursor on a harmful option
//	late-NAME:D         the same, but D after the input box is ready (late-trust: No first)
//
// # Processes
//
//	--exit-after D --exit-code N --stderr TEXT
//	--max-life D             exit 1 after this (1h), helpers too
//	--ignore-sigterm         only record it
//	--ignore-sighup          only record it, and outlive the terminal
//	--rename NAME            argv[0] and the kernel's name; same process
//	--double-fork            the agent is an orphaned grandchild on the same terminal; the first
//	                         process waits and exits with the agent's code
//	--spawn-setsid N         deaf children in own sessions that hold the standard output
//	--spawn-daemon           the same, forked twice
//
// On SIGTERM and SIGHUP it resets the terminal and exits with 0. If it is blocked in a write to a terminal that is not read, it
// exits after a second.
//
// # Pipes
//
// With --plain there is no terminal. It prints "fakeagent ready"; each line of standard input is a prompt; answers are written
// to standard output. At the end of input it exits when everything is answered. --framed reads LENGTH, newline and that many
// bytes instead of lines.
//
// With --acp it uses the Agent Client Protocol instead. Sessions may be new or loaded, a menu is a permission request, and a
// turn begins with a plan. --acp-fault NAME[,NAME] makes it behave wrongly:
//
//	no-initialize    never answer initialize
//	auth             require a sign-in by the method "key"
//	odd-permission   options without what they need, and of unknown kinds
//	extra            unknown members and kinds of updates
//	load-fails       refuse session/load
//	no-load          do not offer session/load
//	silent           no sign at the beginning of a turn, and no answer at its end
//	deaf             ignore session/cancel
//	internal-error   answer each prompt with -32603
//	partial          write in pieces of seven bytes
//	long-line        a line of 65 MiB before each turn
//	string-ids       ids of requests are strings
//
// With --worker it uses the worker API of the city that started it, which GC_WORKER_SOCKET (or GC_WORKER_URL), GC_WORKER_TOKEN
// and GC_RUN_ID name. It does not read standard input: prompts arrive over the stream, a menu is an interaction, tools are
// authorized by the city, and each turn has a usage of 10 and 5 tokens. It offers all optional features. Each message is
// recorded in the ledger before it is handled; of a credential only the hash is recorded.
//
// # Directives
//
// Directives inside a prompt are carried out in order before the answer:
//
//	[[busy:2s]]          work that long instead of --think
//	[[forever]]          never end the turn
//	[[exit:3]]  [[crash]]
//	[[flood:100MB]]      emit redraws of this size
//	[[spawn:setsid]]     also child, daemon
//	[[echo:TEXT]]        print TEXT; [[lines:N]] prints N numbered lines
//	[[ask:Question?|A|B]]  a menu; the choice goes to the ledger. On a pipe the next line answers
//	[[askfor:2s|Question?|A|B]]  the same, gone by itself after that time; the choice is (gone)
//	[[permit:Bash|rm -rf x]]  a permission for a tool with its input; options may follow
//	[[reply:Question?]]  a question in the conversation: what is submitted next answers it
//	[[tool:Bash|rm -rf x]]  ask whether a tool may be used; it does nothing
//	[[touch:FILE]]       the same for the tool Write, which makes the file
//	[[limit:3pm]]        the turn ends with a usage limit; [[limit]] has no time, |exit exits 1
//	[[osc:7501;status=error]]  emit an OSC sequence
package fakeagent
