#!/bin/sh
# What gc-session-screen and gc-session-docker share. They read this file; it does nothing by itself.
# The first part also runs in the containers of gc-session-docker.
# shellcheck disable=SC2034,SC2154 # the scripts set and read these variables, too

# --- beside the agent: begin

umask 077
unset CDPATH
letters=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789
me=''

warn() { printf '%s\n' "$*" >&2; }

# fail WORD TEXT...: says which failure it is, for gc, and why, for people.
fail() {
	[ "$1" = other ] || warn "gc-error: $1"
	shift
	warn "$program: $*"
	exit 1
}

need() {
	for tool; do
		command -v "$tool" >/dev/null 2>&1 || fail unavailable "$tool is not installed, or not in PATH=$PATH"
	done
}

# A name with any other character is the name of no session.
valid_name() {
	case $1 in
	'' | -* | *[!"$letters"_-]*) return 1 ;;
	esac
	[ "${#1}" -le 128 ]
}

# quote TEXT: one word of sh.
quote() { printf '%s\n' "$1" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/"; }

# as_json TEXT: a JSON string. Control characters are left out.
as_json() {
	case $1 in
	*[!"$letters"0-9_-]*) ;;
	*)
		printf '"%s"' "$1"
		return
		;;
	esac
	printf '"%s"' "$(printf '%s' "$1" | LC_ALL=C tr -d '\000-\037\177' | sed 's/[\\"]/\\&/g')"
}

# moment SECONDS: a time since 1970 as RFC 3339.
moment() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r "$1" +%Y-%m-%dT%H:%M:%SZ; }

now() { date -u +%s; }

# private FOLDER: makes it, for the user only.
private() {
	[ -d "$1" ] || mkdir -p -- "$1" || fail unavailable "cannot make the folder $1"
	[ -n "${me:-}" ] || me=$(id -u)
	[ -z "$(find "$1" -prune -type d -user "$me" -perm 0700 2>/dev/null)" ] || return 0
	# shellcheck disable=SC2012 # the mode and the owner are wanted
	set -- "$1" "$(ls -ldn -- "$1" | awk '{ print substr($1, 1, 10), $3 }')"
	[ "$2" = "drwx------ $me" ] || fail unavailable "$1 must be a folder of yours with mode 0700, it is: $2"
}

# open_state NAME: sets $state to the folder of this script.
open_state() {
	if [ -n "${GC_EXEC_STATE_DIR:-}" ]; then
		[ -d "$GC_EXEC_STATE_DIR" ] || mkdir -p -- "$GC_EXEC_STATE_DIR" || fail unavailable "cannot make GC_EXEC_STATE_DIR $GC_EXEC_STATE_DIR"
		state=$GC_EXEC_STATE_DIR/$1
	else
		state=${TMPDIR:-/tmp}/gc-session-$1-$(id -u)
	fi
	private "$state"
	state=$(cd -- "$state" && pwd -P) || exit 1
	{ [ -d "$state/sessions" ] && [ -d "$state/locks" ]; } || mkdir -p -- "$state/sessions" "$state/locks" || exit 1
}

# identity PID: distinguishes a process from another one that gets its number later.
identity() {
	if [ -r "/proc/$1/stat" ]; then
		awk '{ sub(/.*\)/, ""); print pid "." $20 }' pid="$1" "/proc/$1/stat" 2>/dev/null
	else
		kill -0 "$1" 2>/dev/null && echo "$1"
	fi
}

# lock NAME: one at a time may start, stop or type. The lock of a process that is
# gone is broken, by one process at a time.
lock() {
	held=$state/locks/$1
	lock_until=$(($(now) + 25))
	until ln -s "$(identity $$)" "$held" 2>/dev/null; do
		owner=$(readlink "$held") || continue
		if [ "$(identity "${owner%%.*}")" != "$owner" ] && mkdir "$held.break" 2>/dev/null; then
			[ "$(readlink "$held")" != "$owner" ] || rm -f -- "$held"
			rmdir "$held.break"
			continue
		fi
		[ "$(now)" -lt "$lock_until" ] || fail session-initializing "another operation on $1 does not end"
		sleep 0.05
	done
	locked=$held
}

unlock() {
	[ -z "${locked:-}" ] || rm -f -- "$locked"
	locked=''
}

# processes: number, parent, state and name of each process.
processes() {
	if [ -r /proc/self/stat ]; then
		cat /proc/[0-9]*/stat 2>/dev/null | awk '{
			name = $0
			sub(/^[^(]*\(/, "", name)
			rest = name
			while ((at = index(rest, ")")) > 0) rest = substr(rest, at + 1)
			name = substr(name, 1, length(name) - length(rest) - 1)
			split(rest, field, " ")
			print $1, field[2], field[1], name
		}'
	else
		ps -A -o pid= -o ppid= -o stat= -o comm=
	fi
}

# tree PID...: the living processes among these and what descends from them,
# without this script and its own.
tree() {
	processes | awk -v roots=" $* " -v self="${tree_without:-$$}" '
		{ parent[$1] = $2; state[$1] = substr($3, 1, 1) }
		END {
			for (pid in parent) {
				below = 0
				for (p = pid; p > 0 && p in parent; p = parent[p]) {
					if (p == self) { below = 0; break }
					if (index(roots, " " p " ")) below = 1
				}
				if (below && state[pid] != "Z" && state[pid] != "X") print pid
			}
		}'
}

# marked MARK: the processes that have the mark of a session in their environment,
# also those that have left its tree.
marked() {
	if [ -r /proc/self/environ ]; then
		grep -lF "GC_EXEC_MARK=$1" /proc/[0-9]*/environ 2>/dev/null | sed 's#^/proc/\([0-9]*\)/environ#\1#'
	else
		ps -A -E -ww -o pid= -o command= 2>/dev/null | awk -v mark="GC_EXEC_MARK=$1" 'index($0, mark) { print $1 }'
	fi
}

# session_processes MARK PID...: prints the living processes of a session.
session_processes() {
	census_mark=$1
	shift
	# shellcheck disable=SC2046 # a list of numbers
	tree "$@" $(marked "$census_mark") | sort -un
}

# end_processes MARK PID: stops the processes of a session, by SIGTERM, then by SIGKILL. It fails
# and names them if some do not exit.
end_processes() {
	end_mark=$1 end_known=$2 end_signal=TERM
	end_until=$(($(now) + 3))
	while :; do
		# What was seen once is looked for again, even if its parent is gone.
		end_left=$(session_processes "$end_mark" "$end_known" | tr '\n' ' ')
		[ -n "$end_left" ] || return 0
		end_known="$end_known $end_left"
		if [ "$end_signal" != 0 ]; then
			# shellcheck disable=SC2086 # a list of numbers
			kill -s "$end_signal" $end_left 2>/dev/null
			[ "$end_signal" = KILL ] || end_signal=0
		fi
		if [ "$(now)" -ge "$end_until" ]; then
			[ "$end_signal" != KILL ] || break
			end_signal=KILL
			end_until=$(($(now) + 5))
		fi
		sleep 0.05
	done
	warn "$program: these processes do not end: $end_left"
	return 1
}

# names_of PID...: what these processes are called: by the kernel, by themselves, and,
# for an interpreter, by their script. One name in each line.
names_of() {
	processes | awk -v pids=" $* " 'index(pids, " " $1 " ") { $1 = $2 = $3 = ""; sub(/^ +/, ""); sub(/.*\//, ""); print }'
	for pid; do
		if [ -r "/proc/$pid/cmdline" ]; then
			tr '\000' '\n' <"/proc/$pid/cmdline" 2>/dev/null
		else
			ps -o args= -p "$pid" | tr ' ' '\n'
		fi | awk '
			{ name = $0; sub(/.*\//, "", name) }
			NR == 1 { print name; if (name !~ /^(node|bun|npx|deno|python[0-9.]*)$/) exit; next }
			/^-/ || /^(run|exec|x)$/ { next }
			{ print name; sub(/\.[A-Za-z0-9]*$/, "", name); print name; exit }'
	done
}

# has_name FILE PID...: whether a process has one of the names in the lines of FILE.
has_name() {
	names_file=$1
	shift
	names_of "$@" | awk 'NR == FNR { if ($0 != "") wanted[$0]; next } $0 in wanted { hit = 1; exit } END { exit !hit }' "$names_file" -
}

# all_of FILE: whether the standard input that was read into it had its end. Its writer
# may have died in the middle, which looks like an end.
all_of() { [ -z "${GC_EXEC_STDIN_BYTES:-}" ] || [ "$(wc -c <"$1")" -eq "$GC_EXEC_STDIN_BYTES" ]; }

# meta_file KEY: the file of a key, whose name may hold anything. Keys of capitals, as gc's own, cost
# no program; any other letter would make two keys one file where folders do not distinguish a from A.
meta_file() {
	case $1 in
	'' | *[!ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_]*) ;;
	*) [ "${#1}" -gt 200 ] || {
		printf '%s' "$dir/meta/_$1.value"
		return
	} ;;
	esac
	meta_name=$(printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n' | sed 's/.\{200\}/&\//g')
	[ -n "$meta_name" ] || fail other 'the key is empty'
	printf '%s' "$dir/meta/$meta_name.value"
}

set_meta() {
	meta=$(meta_file "$1") || exit 1
	{ { [ -d "${meta%/*}" ] || mkdir -p -- "${meta%/*}"; } && cat >"$meta.$$"; } || fail other "cannot keep the value of $1"
	all_of "$meta.$$" || {
		rm -f -- "$meta.$$"
		fail other "the value of $1 was cut off"
	}
	mv -f -- "$meta.$$" "$meta" || fail other "cannot keep the value of $1"
}

get_meta() {
	meta=$(meta_file "$1") || exit 1
	[ ! -e "$meta" ] || { cat -- "$meta" && echo; }
}

remove_meta() {
	meta=$(meta_file "$1") || exit 1
	rm -f -- "$meta"
}

# new_mark: a random value that cannot be guessed.
new_mark() { od -An -v -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# only_passed: takes away of our environment what agents are not to have, if gc says what they may have.
only_passed() {
	[ -n "${GC_EXEC_PASS:-}" ] || return 0
	passed=" $GC_EXEC_PASS SHELLOPTS BASHOPTS UID EUID PPID "
	# shellcheck disable=SC2013 # a name has no spaces
	for variable in $(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name }'); do
		case $passed in
			*" $variable "*) ;;
			*) unset "$variable" ;;
		esac
	done
}

# write_launcher FILE: a program for sh that removes itself, sets the environment
# and runs the command. Nothing of it is ever in an argument.
write_launcher() {
	launcher=$(quote "$1")
	{
		printf 'rm -f -- %s\n' "$launcher"
		(
			unset TMUX TMUX_PANE STY WINDOW TERMCAP TERM COLUMNS LINES SHLVL PWD OLDPWD SCREENDIR _
			unset GC_EXEC_STATE_DIR GC_EXEC_MARK GC_EXEC_STDIN_BYTES
			only_passed
			export -p
		)
		printf 'unset TERMCAP\nexport GC_EXEC_MARK=%s\n' "$mark"
		printf '%s\n' "${environment:-}"
		[ -z "$work_dir" ] || printf 'cd -- %s || exit 1\n' "$(quote "$work_dir")"
		# shellcheck disable=SC2016 # expanded by the launcher
		[ -n "$command" ] || command='exec "${SHELL:-/bin/sh}"'
		printf '%s\n' "$command"
	} >"$1"
}

# step KIND COMMAND: runs a command of the start document where the agent runs.
step() {
	(
		[ ! -d "${work_dir:-/}" ] || cd -- "${work_dir:-.}" || exit 1
		set -- "$session" "$2" "${environment:-}"
		only_passed
		eval "$3"
		export GC_SESSION="$1"
		exec sh -c "$2"
	) </dev/null >"$dir/output" 2>&1 && return
	step_code=$?
	warn "$program: $1 failed with exit code $step_code: $2"
	tail -c 4096 "$dir/output" >&2
	return 1
}

# copy_tree FOLDER TARGET keep|replace: copies what is in the folder.
copy_tree() (
	cd -- "$1" || exit 1
	# shellcheck disable=SC2016 # expanded by the inner sh
	find . -exec sh -c '
		target=$1 mode=$2
		shift 2
		for path; do
			to=$target/$path
			if [ -d "$path" ] && [ ! -L "$path" ]; then
				mkdir -p -- "$to" || exit 1
			elif [ "$mode" = keep ] && { [ -e "$to" ] || [ -L "$to" ]; }; then
				:
			elif [ -f "$path" ] || [ -L "$path" ]; then
				rm -f -- "$to" && cp -pP -- "$path" "$to" || exit 1
			fi
		done' sh "$2" "$3" {} +
)

# inside FOLDER PATH: makes the folders of a relative path and prints the last; fails
# if the path leaves the folder, also by a symbolic link.
inside() (
	cd -- "$1" || exit 1
	root=$(pwd -P)
	IFS=/
	set -f
	for part in $2; do
		case $part in
		'' | .) continue ;;
		..) exit 1 ;;
		esac
		[ -e "$part" ] || mkdir -- "$part" || exit 1
		cd -P -- "$part" 2>/dev/null || exit 1
		case $(pwd -P)/ in
		"${root%/}"/*) ;;
		*) exit 1 ;;
		esac
	done
	pwd -P
)

# put SOURCE FOLDER RELATIVE: copies a file or folder to RELATIVE below FOLDER.
put() {
	case $3 in
	/* | .. | ../* | */.. | */../*) return 1 ;;
	esac
	put_path=${3%/}
	if [ -d "$1" ]; then
		put_to=$(inside "$2" "$put_path") || return 1
		copy_tree "$1" "$put_to" replace
		return
	fi
	if [ -z "$put_path" ] || [ -d "$2/$put_path" ]; then
		put_path=${put_path:+$put_path/}${1##*/}
	fi
	case $put_path in
	*/*) put_to=$(inside "$2" "${put_path%/*}") ;;
	*) put_to=$2 ;;
	esac || return 1
	put_to=$put_to/${put_path##*/}
	rm -f -- "$put_to" && cp -p -- "$1" "$put_to"
}

# stage FOLDER: copies the prepared files of FOLDER into the working directory: overlays
# where no file exists, other files to their own path.
stage() {
	[ -d "$1" ] && [ -n "$work_dir" ] || return 0
	[ ! -d "$1/overlay" ] || copy_tree "$1/overlay" "$work_dir" keep || return 1
	for entry in "$1"/copy/*; do
		[ -d "$entry" ] || continue
		staged=$(cat "$entry/path" && echo x)
		for source in "$entry/what"/* "$entry/what"/.[!.]* "$entry/what"/..?*; do
			[ ! -e "$source" ] || put "$source" "$work_dir" "${staged%x}" || warn "$program: cannot copy to ${staged%x}"
		done
	done
}

# text_file FILE: whether a terminal can take the text in it as text. Control characters
# and carriage returns would be keys.
text_file() {
	[ "$(LC_ALL=C tr -d '\011\012\040-\176\200-\377' <"$1" | wc -c)" -eq 0 ] &&
		! LC_ALL=C grep -q "$(printf '\302[\200-\237]')" "$1"
}

# outcome STATE [DETAIL]: the outcome of a prompt.
outcome() { printf '{"state":"%s"%s}\n' "$1" "${2:+,\"detail\":$(as_json "$2")}"; }

# refuse REASON TEXT: not a byte was sent. A caller that does not read the outcome sees
# the failure.
refuse() {
	printf '{"state":"refused","reason":"%s","detail":%s}\n' "$1" "$(as_json "$2")"
	fail "refused $1" "$2"
}

# What follows drives a multiplexer by these functions, which each script defines: open_backend,
# named NAME, inspect, attachments, text_of [all], shown, whole,
# input_line, paste_file FILE, enter, press KEY..., create
# LAUNCHER, remove, list_running PREFIX, list_all PREFIX, activity, forget_history, interrupt_agent, reap,
# last_input, screen_rows, agent_pid.
# inspect sets dead (0 or 1), pid, code, signal, ended and began.

running() { valid_name "$1" && named "$1" && inspect && [ "$dead" = 0 ]; }

# need_session: the session, dead or alive, or the end of the script.
need_session() {
	{ valid_name "$1" && named "$1" && inspect; } || fail session-not-found "there is no session $1"
}

has_prefix() { [ -s "$dir/prefix" ]; }

# behind FILE: of a screen, what stands in the last line that begins with the prefix in the
# file; fails if there is none.
behind() {
	prefix=$(cat "$1" 2>/dev/null) awk '
		BEGIN { prefix = ENVIRON["prefix"]; sub(/[ \t]+$/, "", prefix) }
		{ gsub(/\302\240/, " "); line = $0; sub(/^ *(│|┃|\|) ?/, "", line) }
		prefix != "" && index($0, prefix) == 1 { found = 1; rest = substr($0, length(prefix) + 1); next }
		prefix != "" && index(line, prefix) == 1 { found = 1; rest = substr(line, length(prefix) + 1) }
		END { if (!found) exit 1; gsub(/^[ \t]+|[ \t]+$/, "", rest); print rest }'
}

# input_box: prints the text in the agent's input box.
input_box() { text_of | behind "$dir/prefix"; }

# await_input_box SECONDS: waits for the agent's input box.
await_input_box() {
	has_prefix || return 0
	await_until=$(($(now) + $1))
	until input_box >/dev/null; do
		inspect && [ "$dead" = 0 ] && [ "$(now)" -lt "$await_until" ] || return 1
		sleep 0.1
	done
}

# settled BEFORE SECONDS: waits until the text has appeared and nothing changes any more.
settled() {
	settle_until=$(($(now) + $2)) settle_last=$1 settle_same=0
	while [ "$(now)" -lt "$settle_until" ]; do
		settle_now=$(shown)
		if [ "$settle_now" = "$1" ] || [ "$settle_now" != "$settle_last" ]; then
			settle_same=0
		else
			settle_same=$((settle_same + 1))
		fi
		[ "$settle_same" -lt 4 ] || return 0
		settle_last=$settle_now
		sleep 0.05
	done
	return 1
}

# typing: whether a person types at the moment, as far as the backend shows it.
typing() {
	typed_at=$(last_input)
	[ -n "$typed_at" ] && [ "$(now)" -lt $((typed_at + 3)) ]
}

# type_text FILE: one prompt and its Enter. Prints the outcome.
type_text() {
	[ -s "$1" ] || return 0
	text_file "$1" || refuse content 'the text has a control character that would act as a key'
	! typing || refuse human_typing 'a person typed a moment ago'
	await_input_box 5 || refuse not_ready "no line begins with the agent's prompt: $(cat "$dir/prefix")"
	type_before=$(shown)
	type_empty=$(input_line)
	# From here on the end of the caller ends nothing: a text without its Enter would be the
	# beginning of the next one.
	trap '' INT TERM HUP
	paste_file "$1" || {
		outcome unconfirmed 'the text was not taken'
		return
	}
	settled "$type_before" 8
	type_full=$(input_line)
	# What changed may have been the end of the turn before, and a busy agent shows the text later.
	if has_prefix && [ "$type_full" = "$type_empty" ]; then
		type_until=$(($(now) + 3))
		while [ "$type_full" = "$type_empty" ] && [ "$(now)" -lt "$type_until" ]; do
			sleep 0.05
			type_full=$(input_line)
		done
		[ "$type_full" = "$type_empty" ] || settled "$type_before" 8
		type_full=$(input_line)
	fi
	type_screen=$(whole)
	enter || {
		outcome unconfirmed 'the Enter was not taken'
		return
	}
	if ! has_prefix || [ "$type_full" = "$type_empty" ]; then
		outcome unconfirmed 'typed; the screen does not show whether the agent accepted it'
		return
	fi
	# An Enter that the agent lost leaves everything as it was, and only then is repeated: what
	# looks like the input box may be the prompt in the conversation, above a menu.
	for type_try in 1 2 3; do
		type_until=$(($(now) + 3))
		while [ "$(now)" -lt "$type_until" ]; do
			type_now=$(input_line) && [ "$type_now" = "$type_empty" ] && {
				printf '{"state":"submitted","evidence":"composer"}\n'
				return
			}
			sleep 0.05
		done
		if [ "$type_now" != "$type_full" ] || [ "$type_try" = 3 ] || [ "$(whole)" != "$type_screen" ]; then
			break
		fi
		enter
	done
	outcome unconfirmed 'typed; the input box did not become empty again'
}

# start_session FOLDER: runs the start document, which is in the shell's variables. In
# FOLDER is what is to be staged.
start_session() {
	lock "$session"
	if inspect; then
		[ "$dead" = 1 ] || fail session-exists "the session $session already exists"
	fi
	clear_session || fail other "what is left of $session cannot be removed"
	mkdir -p -- "$dir/meta" || fail other "cannot make $dir"
	started=no
	mark=$(new_mark)
	printf '%s' "$mark" >"$dir/mark"
	printf '%s' "${token:-}" >"$dir/token"
	printf '%s' "${work_dir:-}" >"$dir/work_dir"
	printf '%s' "${ready_prompt_prefix:-}" >"$dir/prefix"
	now >"$dir/began"
	steps "${pre_start:-}" || fail other 'the start was given up'
	[ -z "$work_dir" ] || [ -d "$work_dir" ] || fail other "the working directory $work_dir does not exist"
	stage "$1" || fail other "cannot copy files into $work_dir"
	write_launcher "$dir/launch"
	create "$dir/launch" || fail other 'the session could not be made'
	await_life
	steps "${session_setup:-}"
	run_setup_script
	failed=''
	steps "${session_live:-}"
	[ -z "$nudge" ] || first_prompt
	started=yes
}

steps() { eval "$1"; }

# await_life: waits for the first sign of life, which is that the launcher has been read.
await_life() {
	life_until=$(($(now) + 40))
	while [ -e "$dir/launch" ]; do
		{ inspect && [ "$dead" = 0 ]; } || break
		[ "$(now)" -lt "$life_until" ] || fail other 'the session was made and its shell does not begin'
		sleep 0.02
	done
	[ ! -e "$dir/launch" ] || fail session-died 'the session ended at once'
	inspect || fail session-died 'the session ended at once'
	how_it_ended
	# An agent that ends is its caller's to judge. These two codes say that none began.
	if [ "$dead" = 1 ] && { [ "$code" = 126 ] || [ "$code" = 127 ]; }; then
		text_of all | last_lines 20 >&2
		fail session-died "the command cannot be run, exit code $code"
	fi
}

# The set-up script is on the machine of gc: a container gets its text, for sh.
run_setup_script() {
	if [ -n "${session_setup_text:-}" ]; then
		printf '%s' "$session_setup_text" >"$dir/setup"
		step session_setup_script "sh $(quote "$dir/setup")"
		rm -f -- "$dir/setup"
	elif [ -n "${session_setup_script:-}" ]; then
		step session_setup_script "$(quote "$session_setup_script")"
	fi
}

first_prompt() {
	text=$dir/text
	printf '%s' "$nudge" >"$text"
	await_input_box 60 || warn "$program: the agent did not become ready"
	has_prefix || case ${ready_delay_ms:-} in
	'' | *[!0-9]*) ;;
	*) sleep "$((ready_delay_ms / 1000)).$(printf %03d "$((ready_delay_ms % 1000))")" ;;
	esac
	if ! inspect || [ "$dead" = 1 ] || ! (type_text "$text" >/dev/null); then
		warn "$program: the first prompt was not typed"
	fi
}

# clear_session: ends the session and all of its processes, also of one that is half made.
clear_session() {
	pid=0
	inspect || [ -d "$dir" ] || return 0
	[ "$dead" = 0 ] || pid=0 # the number may be another process's now
	clear_mark=$(cat "$dir/mark" 2>/dev/null)
	end_processes "${clear_mark:-none}" "${pid:-0}" && remove && rm -rf -- "$dir"
}

# stop_session [fenced]
stop_session() {
	lock "$session"
	inspect || [ -d "$dir" ] || return 0
	[ "${1:-}" != fenced ] || fenced
	clear_session || fail other "the session $session is not stopped"
}

# fenced: the token on standard input is that of the session, or the script ends.
fenced() {
	{ [ -s "$dir/token" ] && [ "$(cat "$dir/token")" = "$(cat)" ]; } || fail stale-instance "the session $session has another instance"
}

# last_lines COUNT: without blanks at the ends of lines and blank lines at the end; all
# for 0.
last_lines() {
	case $1 in
	'' | *[!0-9]*) set -- 0 ;;
	esac
	awk -v want="$1" '
		{ sub(/[ \t\r]+$/, ""); line[NR] = $0; if ($0 != "") last = NR }
		END { first = want > 0 && last > want ? last - want + 1 : 1; for (i = first; i <= last; i++) print line[i] }'
}

signal_word() {
	case $1 in
	1) echo hangup ;; 2) echo interrupt ;; 3) echo quit ;; 4) echo 'illegal instruction' ;; 6) echo aborted ;; 7) echo 'bus error' ;;
	8) echo 'floating point exception' ;; 9) echo killed ;; 11) echo 'segmentation fault' ;; 13) echo 'broken pipe' ;;
	14) echo 'alarm clock' ;; 15) echo terminated ;; *) echo "signal $1" ;;
	esac
}

# how_it_ended: of an agent that is dead, this may be known a moment later.
how_it_ended() {
	ended_looks=0
	while [ "$dead" != 0 ] && [ -z "$code$signal" ] && [ "$ended_looks" -lt 10 ]; do
		ended_looks=$((ended_looks + 1))
		reap
		sleep 0.1
		inspect || break
	done
}

# the_exit: how the agent ended, as a field of JSON.
the_exit() {
	case $signal in
	'' | *[!0-9]*) [ -z "$code" ] || printf ',"exit":{"code":%s,"at":"%s"}' "$code" "$(moment "$ended")" ;;
	*) printf ',"exit":{"code":-1,"signal":"%s","at":"%s"}' "$(signal_word "$signal")" "$(moment "$ended")" ;;
	esac
}

# observation: prints the state of the session as JSON.
observation() {
	at=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	if ! inspect; then
		printf '{"name":"%s","session":"dead","agent":"dead","attached":0,"at":"%s"}\n' "$session" "$at"
		return
	fi
	how_it_ended
	printf '{"name":"%s","session":"alive","instance":%s,"attached":%s' "$session" "$(as_json "$(cat "$dir/token" 2>/dev/null)")" "$(attachments)"
	printf ',"started_at":"%s","last_activity":"%s"' "$(moment "$began")" "$(activity)"
	observed_input=$(last_input)
	[ -z "$observed_input" ] || printf ',"last_input":"%s"' "$(moment "$observed_input")"
	if [ "$dead" = 0 ]; then
		printf ',"agent":"alive","pid":%s' "$(agent_pid)"
	else
		printf ',"agent":"dead"'
		the_exit
	fi
	printf ',"at":"%s"}\n' "$at"
}

process_alive() {
	text=$(mktemp "$state/names.XXXXXX") && cat >"$text" || exit 1
	all_of "$text" || fail other 'the names were cut off'
	# shellcheck disable=SC2046 # a list of numbers
	if running "$1" && { [ ! -s "$text" ] || has_name "$text" $(tree "$(agent_pid)"); }; then echo true; else echo false; fi
}

nudge_session() {
	text=$(mktemp "$state/text.XXXXXX") && cat >"$text" || exit 1
	all_of "$text" || refuse not_ready 'the text was cut off on its way'
	if running "$1" && lock "$session" && running "$1"; then
		type_text "$text"
	else
		outcome absent
	fi
}

# copy_into NAME FOLDER RELATIVE: FOLDER has one thing in it.
copy_into() {
	incoming=$2
	valid_name "$1" && named "$1" && inspect || return 0
	work_dir=$(cat "$dir/work_dir" && echo x)
	work_dir=${work_dir%x}
	[ -n "$work_dir" ] || fail other "the session $1 has no working directory"
	for source in "$2"/* "$2"/.[!.]* "$2"/..?*; do
		[ ! -e "$source" ] || put "$source" "$work_dir" "$3" || fail other "cannot copy to $3 in $work_dir"
	done
}

# receive COUNT: unpacks the copied files from standard input, expects COUNT files and folders, and prints the
# folder. It is removed by the operation that uses it.
receive() {
	need tar
	received=$(mktemp -d "$state/incoming.XXXXXX") || exit 1
	if ! tar -xf - -C "$received" || [ "$(find "$received" | wc -l)" -ne "$1" ]; then
		rm -rf -- "$received"
		fail other 'the files were cut off on their way'
	fi
	printf '%s\n' "$received"
}

# hold_on: stops this operation when standard input ends, which is when the process outside the container
# exits. The commands of a start get SIGTERM, and SIGKILL after 2 s, so that the start is undone.
hold_on() {
	exec 3<&0 </dev/null
	{
		trap '' TERM
		while read -r holds; do :; done
		read -r tree_without holds </proc/self/stat || tree_without=$(sh -c 'echo "$PPID"')
		# A command that is about to make another one ends with its group, where that is ours.
		# shellcheck disable=SC2046 # a list of numbers
		kill -TERM -$$ || kill -s TERM $(tree $$)
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do sleep 0.1; done
		# shellcheck disable=SC2046 # a list of numbers
		kill -s KILL $(tree $$ | grep -vx $$)
	} <&3 >/dev/null 2>&1 &
	holds=$!
	exec 3<&-
}

# clean_up: what must not outlast an operation.
clean_up() {
	clean_code=$?
	trap '' INT TERM HUP
	[ -z "${holds:-}" ] || kill -s KILL "$holds"
	[ "${started:-}" != no ] || clear_session
	[ -z "${text:-}" ] || rm -f -- "$text"
	case ${incoming:-} in
	"$state"/incoming.*) rm -rf -- "$incoming" ;;
	esac
	unlock
	exit "$clean_code"
}

# run_operation OPERATION ARGUMENT...: the operations where the agents run.
run_operation() {
	operation=$1
	shift
	open_backend
	trap clean_up EXIT
	trap 'exit 1' INT TERM HUP
	case $operation in
	start)
		incoming=${2:-}
		valid_name "$1" || fail invalid-name "a session cannot have the name $1"
		named "$1"
		start_session "$incoming"
		;;
	stop | stop-instance)
		valid_name "$1" || exit 0
		named "$1"
		if [ "$operation" = stop ]; then stop_session; else stop_session fenced; fi
		;;
	interrupt) ! running "$1" || interrupt_agent ;;
	interrupt-instance)
		need_session "$1"
		lock "$session"
		need_session "$1"
		fenced
		[ "$dead" = 1 ] || interrupt_agent
		;;
	is-running) if running "$1"; then echo true; else echo false; fi ;;
	is-attached) if running "$1" && [ "$(attachments)" != 0 ]; then echo true; else echo false; fi ;;
	process-alive) process_alive "$1" ;;
	nudge) nudge_session "$1" ;;
	send-keys)
		if running "$1"; then
			lock "$session"
			shift
			press "$@"
		fi
		;;
	peek)
		need_session "$1"
		peek_text=$(text_of all) || fail unavailable "the screen of $1 could not be read"
		printf '%s\n' "$peek_text" | last_lines "${2:-0}"
		;;
	screen)
		need_session "$1"
		printf '{"instance":%s,' "$(as_json "$(cat "$dir/token" 2>/dev/null)")"
		screen_rows || fail unavailable "the screen of $1 could not be read"
		;;
	clear-scrollback) ! running "$1" || forget_history ;;
	list-running) list_running "${1:-}" ;;
	get-last-activity) if valid_name "$1" && named "$1" && inspect; then activity; fi ;;
	set-meta)
		need_session "$1"
		set_meta "$2"
		;;
	get-meta)
		need_session "$1"
		get_meta "$2"
		;;
	remove-meta)
		need_session "$1"
		remove_meta "$2"
		;;
	copy-to) copy_into "$@" ;;
	run-live)
		running "$1" || fail session-not-found "there is no running session $1"
		failed=''
		steps "${session_live:-}"
		[ -z "$failed" ] || exit 1
		;;
	observe)
		if valid_name "$1"; then
			named "$1"
			observation
		else
			printf '{"session":"dead","agent":"dead","attached":0,"at":"%s"}\n' "$(moment "$(now)")"
		fi
		;;
	observe-all)
		list_all "${1:-}" | while read -r name; do
			named "$name"
			observation
		done
		;;
	receive) receive "$1" ;;
	*) exit 2 ;;
	esac
}

# --- beside the agent: end

# The rest runs where gc runs, and needs jq there.

# answer: the handshake.
answer() {
	printf '{"version":0,"capabilities":['
	comma=''
	for word in $capabilities; do
		printf '%s"%s"' "$comma" "$word"
		comma=,
	done
	printf ']}\n'
}

# no_document: prints an empty start document. If a size was announced, its sender died: then prints an error.
no_document() {
	if [ "${GC_EXEC_STDIN_BYTES:-0}" = 0 ]; then echo '{}'; else echo 'the start document was cut off'; fi
}

# document: reads the start JSON and prints it as assignments for sh.
document() {
	jq -r '
		def text(f): if f == null then "" elif (f | type) == "string" then f else (f | tostring) end;
		def list(f): f // [];
		def names: if test("\\A[A-Za-z_][A-Za-z0-9_]*\\z") then . else error("not a variable name: \(.)") end;
		if ([.. | strings | select(explode | any(. == 0))] | length) > 0 then error("a text has a NUL in it") else . end |
		"work_dir=\(text(.work_dir) | @sh)",
		"command=\(text(.command) | @sh)",
		"ready_prompt_prefix=\(text(.ready_prompt_prefix) | @sh)",
		"ready_delay_ms=\(text(.ready_delay_ms) | @sh)",
		"lifecycle=\(text(.lifecycle) | @sh)",
		"nudge=\(text(.nudge) | @sh)",
		"token=\(text(.env.GC_INSTANCE_TOKEN) | @sh)",
		"environment=\((((.env // {}) | to_entries | map("export \(.key | names)=\(text(.value) | @sh)"))
			+ (list(.unset_env) | map("unset \(names)"))) | join("\n") | @sh)",
		"pre_start=\(list(.pre_start) | map("step pre_start \(@sh) || return 1") | join("\n") | @sh)",
		"session_setup=\(list(.session_setup) | map("step session_setup \(@sh)") | join("\n") | @sh)",
		"session_live=\(list(.session_live) | map("step session_live \(@sh) || failed=1") | join("\n") | @sh)",
		"session_setup_script=\(text(.session_setup_script) | @sh)"'
}

# lay_out JSON: copies what is to be staged into the folder $laid, so that it can be brought
# into a container. Later overlays win.
lay_out() {
	eval "$(printf '%s' "$1" | jq -r '
		([.provider_overlay_name // empty] + (.install_agent_hooks // [])) as $slots |
		((.pack_overlay_dirs // []) + [.overlay_dir // empty] | .[] | "lay_overlay \(@sh) \($slots | map(@sh) | join(" "))"),
		((.copy_files // []) | to_entries[] | "lay_copy \(.key) \(.value.src | @sh) \(.value.rel_dst // "" | @sh)")')"
}

lay_overlay() {
	if [ ! -d "$1" ]; then
		warn "$program: the overlay $1 is not a folder"
		return
	fi
	overlay=$1
	shift
	mkdir -p -- "$laid/overlay" "$laid/slots"
	copy_tree "$overlay" "$laid/slots" replace || fail other "cannot read the overlay $overlay"
	rm -rf -- "$laid/slots/per-provider"
	for slot; do
		case $slot in
		'' | . | .. | */*) continue ;;
		esac
		[ ! -d "$overlay/per-provider/$slot" ] || copy_tree "$overlay/per-provider/$slot" "$laid/slots" replace || exit 1
	done
	copy_tree "$laid/slots" "$laid/overlay" replace && rm -rf -- "$laid/slots"
}

lay_copy() {
	if [ ! -e "$2" ]; then
		warn "$program: there is no $2 to copy"
		return
	fi
	mkdir -p -- "$laid/copy/$1/what" && printf '%s' "$3" >"$laid/copy/$1/path" || exit 1
	cp -Rp -- "$2" "$laid/copy/$1/what/" || fail other "cannot read $2"
}
