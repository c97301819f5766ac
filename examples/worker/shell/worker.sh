#!/bin/sh
# A complete worker of the Factory Worker API, with curl and jq.
set -u

# The token goes by a file that only we can read: arguments are seen by everybody.
umask 077
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
printf 'header = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\n' "$GC_WORKER_TOKEN" >"$folder/config"

call() { curl -s --fail-with-body --unix-socket "$GC_WORKER_SOCKET" -K "$folder/config" "$@"; }
post() { # post PATH JSON: until it is taken, for the city's controller may be restarted at any moment
	jq -cn --arg run "$GC_RUN_ID" "$2 + {run_id: \$run}" >"$folder/body"
	until said=$(call --data-binary "@$folder/body" "http://city$1"); do
		case $?$said in
		22*'"code":"unavailable"'*) sleep 0.1 ;; # the controller is ending: the next one is asked
		22*) return 22 ;;                        # the city has answered: no
		*) sleep 0.1 ;;
		esac
	done
	printf '%s' "$said"
}
say() { post "$@" >/dev/null; }

ask() { # ask COMMAND: every error is a no; a city that restarts is waited for, and one that asks a person
	jq -cn --arg run "$GC_RUN_ID" --arg c "$1" '{run_id: $run, tool: "Bash", input: {command: $c}, wait_seconds: 60}' >"$folder/body"
	tries=0
	until decision=$(call --max-time 70 --data-binary "@$folder/body" http://city/authorize); do
		case $? in
		7 | 52 | 56) [ $((tries += 1)) -lt 30 ] && sleep 0.1 && continue ;; # it is not there
		esac
		break
	done
	printf '%s' "${decision:-null}" | jq -er '"allowed: \(.allowed == true) \(.reason // .detail // "the city does not answer")"' 2>/dev/null || echo 'allowed: false the city talks nonsense'
}

prompt() { # prompt ID CONTENT
	say /lifecycle "{event: \"busy\", metadata: {prompt_id: \"$1\"}}"
	say /ack "{id: \"$1\", state: \"submitted\"}"
	answer=$2
	case $2 in
	'run: '*) answer=$(ask "${2#run: }") ;;
	esac
	printf 'answer: %s\n' "$answer"
	usage="{input_tokens: ${#2}, output_tokens: ${#answer}, model: \"echo\", source: \"estimate\"}"
	say /telemetry "{events: [{type: \"turn_complete\", timestamp: \"$(date -u +%FT%TZ)\", message_id: \"$1\", usage: $usage}]}"
	say /lifecycle "{event: \"idle\", metadata: {prompt_id: \"$1\"}}"
}

message() { # message JSON
	id=$(printf '%s' "$1" | jq -r .id)
	case $id in */*) return ;; esac
	if [ "$(printf '%s' "$1" | jq -r .kind)" != prompt ]; then
		say /ack "{id: \"$id\", state: \"refused\"}"
		return
	fi
	if ! [ -e "$folder/$id" ]; then # one that comes twice is acted on once
		: >"$folder/$id"
		prompt "$id" "$(printf '%s' "$1" | jq -r .data.content)"
	fi
	say /ack "{id: \"$id\", state: \"consumed\"}"
}

say /lifecycle '{event: "started", metadata: {agent: "shell"}}' || exit 1
say /authorize '{tool: "gc.canary"}' || exit 1 # it shows that we ask: without it a city with a guard gives no work
say /lifecycle '{event: "ready"}' || exit 1
until [ -e "$folder/end" ]; do # a stream that breaks is opened again
	call -N "http://city/stream?run_id=$GC_RUN_ID" | while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'{'*'"code":"unauthorized"'* | '{'*'"code":"fenced"'*) : >"$folder/end" && exit ;; # the city has another one
		'event: end') : >"$folder/end" && exit ;;
		'event: '*) kind=${line#event: } ;;
		'data: '*) case $kind in gap | lagged) ;; *) message "${line#data: }" ;; esac ;;
		esac
	done
	sleep 0.1
done
