#!/bin/sh
# A complete worker of the Factory Worker API, with curl and jq.
set -u

# The token goes by a file that only we can read: arguments are seen by everybody.
umask 077
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf 'header = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\n' "$GC_WORKER_TOKEN" >"$dir/config"
mkdir "$dir/acks" # the last word on each message

call() { curl -s --fail-with-body --unix-socket "$GC_WORKER_SOCKET" -K "$dir/config" "$@"; }
post() { # post PATH JSON [NAME VALUE]...: until the city answers, which may be restarted at any time
	path=$1 json=$2 && shift 2
	body=$(jq -cn --arg run "$GC_RUN_ID" "$@" "$json + {run_id: \$run}")
	until printf '%s' "$body" | call --data-binary @- "http://city$path"; do
		case $? in 22) return 22 ;; esac # it has answered no
		sleep 0.1
	done
}
ack() { # ack ID STATE
	printf '%s' "$2" >"$dir/acks/$1"
	post /ack '{id: $id, state: $state}' --arg id "$1" --arg state "$2" >/dev/null
}

work() { # work ID CONTENT
	post /lifecycle '{event: "busy", metadata: {prompt_id: $id}}' --arg id "$1" >/dev/null
	ack "$1" submitted
	answer=$2
	case $2 in
	'run: '*)
		answer=$(post /authorize '{tool: "Bash", input: {command: $c}}' --arg c "${2#run: }" | jq -r '"allowed: \(.allowed) \(.reason // "")"')
		;;
	esac
	printf 'answer: %s\n' "$answer"
	post /lifecycle '{event: "idle", metadata: {prompt_id: $id}}' --arg id "$1" >/dev/null
	ack "$1" consumed
}

take() { # take KIND MESSAGE
	id=$(printf '%s' "$2" | jq -r .id)
	printf '%s' "$2" | jq -r .seq >"$dir/last"
	if [ -e "$dir/acks/$id" ]; then # one that comes twice is acted on once
		ack "$id" "$(cat "$dir/acks/$id")"
	elif [ "$1" = prompt ]; then
		work "$id" "$(printf '%s' "$2" | jq -r .data.content)"
	else
		ack "$id" refused
	fi
}

post /lifecycle '{event: "started", metadata: {agent: "shell"}}' >/dev/null || exit 1
post /lifecycle '{event: "ready"}' >/dev/null || exit 1
echo 0 >"$dir/last"
until [ -e "$dir/end" ]; do # a stream that breaks goes on where it was
	kind=
	call -N -H "Last-Event-ID: $(cat "$dir/last")" "http://city/stream?run_id=$GC_RUN_ID" | while IFS= read -r line; do
		case $line in
		'event: end') : >"$dir/end" ;;
		'event: '*) kind=${line#event: } ;;
		'data: '*) case $kind in gap | lagged | '') ;; *) take "$kind" "${line#data: }" ;; esac ;;
		'{'*'"fenced"'*) : >"$dir/end" ;; # its run is over
		'') kind= ;;
		esac
	done
	sleep 0.1
done
