#!/bin/sh
# A complete worker of the Factory Worker API, with curl and jq.
set -u

# The token goes by a file that only we can read: arguments are seen by everybody.
umask 077
config=$(mktemp) || exit 1
trap 'rm -f "$config"' EXIT
printf 'header = "Authorization: Bearer %s"\nheader = "Content-Type: application/json"\n' "$GC_WORKER_TOKEN" >"$config"

call() { curl -s --show-error --fail-with-body --unix-socket "$GC_WORKER_SOCKET" -K "$config" "$@"; }
post() { # post PATH JSON
	jq -cn --arg run "$GC_RUN_ID" "$2 + {run_id: \$run}" | call --data-binary @- "http://city$1"
}

post /lifecycle '{event: "started", metadata: {agent: "shell"}}' >/dev/null || exit 1
post /lifecycle '{event: "ready"}' >/dev/null || exit 1

call -N "http://city/stream?run_id=$GC_RUN_ID" 2>/dev/null | while IFS= read -r line; do
	case $line in
	'event: end') exit 0 ;;
	'event: '*) kind=${line#event: } && continue ;;
	'data: '*) message=${line#data: } ;;
	*) continue ;;
	esac
	[ "$kind" = prompt ] || continue
	id=$(printf '%s' "$message" | jq -r .id)
	content=$(printf '%s' "$message" | jq -r .data.content)
	post /lifecycle "{event: \"busy\", metadata: {prompt_id: \"$id\"}}" >/dev/null
	post /ack "{id: \"$id\", state: \"submitted\"}" >/dev/null
	case $content in
	'run: '*)
		input=$(jq -cn --arg c "${content#run: }" '{command: $c}')
		content=$(post /authorize "{tool: \"Bash\", input: $input}" | jq -r '"allowed: \(.allowed) \(.reason // "")"')
		;;
	esac
	printf 'answer: %s\n' "$content"
	post /lifecycle "{event: \"idle\", metadata: {prompt_id: \"$id\"}}" >/dev/null
	post /ack "{id: \"$id\", state: \"consumed\"}" >/dev/null
done
