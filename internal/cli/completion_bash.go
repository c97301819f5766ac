package cli

// bashCompletion is the completion script for bash 3.2 or later. It does not need the
// package bash-completion, which many machines lack. The script calls gc for the
// candidates. gc prints one candidate per line, then a line with a colon and a number:
// the bits of a cobra.ShellCompDirective.
const bashCompletion = `# bash completion for gc; in ~/.bashrc: eval "$(gc completion bash)"

__gc_complete() {
    local word=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~\//$HOME/} answer bits line
    COMPREPLY=()
    answer=$("$program" __completeNoDesc "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return 0
    bits=${answer##*:}
    case $bits in '' | *[!0-9]*) return 0 ;; esac
    while IFS= read -r line; do
        if [[ -n $line && $line == "$word"* ]]; then
            COMPREPLY+=("$line")
        fi
    done <<<"${answer%:*}"
    if ((bits & 2)); then
        compopt -o nospace 2>/dev/null
    fi
    if ((bits & 4)); then
        compopt +o default 2>/dev/null
    elif ((bits & 16)); then
        compopt -o plusdirs 2>/dev/null
    fi
    return 0
}

complete -o default -F __gc_complete gc
`
