# Made by gc. It runs the hook that decides about a tool, and passes on what that says only if
# it is a decision of gc's: every other end is a failure, for which the tool must not run. What
# hangs is ended well before the agent CLI's own limit, which lets the tool run.
limit=$1
shift
if command -v timeout >/dev/null 2>&1; then
	set -- timeout -k 1 "$limit" "$@"
fi
said=$("$@")
status=$?
case $status$said in
"0gc decides:"*) printf '%s' "${said#gc decides:}" ;;
"2gc decides:") exit 2 ;; # it has said why
*)
	echo "gc: tool call not authorized (hook exit status $status)" >&2 # some agent CLIs take a denial without a reason for permission
	exit 2
	;;
esac
