#!/usr/bin/env bash
# Checks what is special about the static binary: the system can start it as it is, it prepares for closed files and pipes itself
# (cli `start.rs`), and hot commands keep within their budgets of instructions (tests/budgets.txt), which a busy machine does not
# blur as it does time.
# usage: tests/static.sh path/to/anthill   (run by ./test)
set -euo pipefail
anthill=$(realpath "$1")
budgets=$(realpath "$(dirname "$0")/budgets.txt")
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT

has() { command -v "$1" >/dev/null; }

has readelf || { echo "skipped: the static checks need readelf"; exit 0; }
refuse() { # pattern why readelf-option...
    local pattern=$1 why=$2
    shift 2
    if readelf -W "$@" "$anthill" | grep -E "$pattern"; then
        echo "$anthill: $why" >&2
        exit 1
    fi
}
refuse '^ *INTERP|^ *DYNAMIC' "it needs a loader" --program-headers
refuse '^ *LOAD .* RWE ' "a segment is writable and executable" --program-headers
refuse '^Relocation section' "it has relocations" --relocs
echo "static binary: $(stat -c %s "$anthill") bytes, $(readelf -lW "$anthill" | grep -c '^ *LOAD') segments, no relocations"

# Nothing of the caller's environment, which every command reads through.
clean=(env -i "USER=tester" "ANTHILL_HOME=$here/home" "ANTHILL_ROOT=$here/project")
mkdir "$here/project"
"${clean[@]}" "$anthill" set config features.x true 0<&- 1>&- 2>&-
"${clean[@]}" "$anthill" doctor 2>&1 | grep -q "all is well" || { echo "closed standard files spoilt the state" >&2; exit 1; }
{ sleep 0.3; "${clean[@]}" "$anthill" get config; echo $? >"$here/code"; } | true
[ "$(cat "$here/code")" = 0 ] || { echo "a closed pipe killed it: exit $(cat "$here/code")" >&2; exit 1; }

if ! has valgrind || [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: budgets of instructions need valgrind and an x86-64 machine"
    exit 0
fi
for number in $(seq 1000); do
    echo "{\"id\": \"task-$number\", \"description\": \"Write part $number\", \"context\": {\"files\": [\"src/part-$number/\"]}}"
done | "${clean[@]}" "$anthill" leader import - >/dev/null 2>&1
# The first claim of a worker also registers it.
"${clean[@]}" "$anthill" worker claim w1 >/dev/null 2>&1

printf '%12s %12s  %s\n' measured budget command
over=0
while read -r budget command; do
    # shellcheck disable=SC2086 # a command line
    if ! "${clean[@]}" "$(command -v valgrind)" --tool=callgrind --callgrind-out-file=/dev/null --log-file="$here/log" \
        "$anthill" $command >"$here/out" 2>&1; then
        cat "$here/log" "$here/out" >&2
        exit 1
    fi
    measured=$(sed -n 's/.*Collected : //p' "$here/log")
    printf '%12d %12d  anthill %s%s\n' "$measured" "$budget" "$command" "$([ "$measured" -le "$budget" ] || echo "  <- over the budget")"
    [ "$measured" -le "$budget" ] || over=1
done < <(grep -v '^#' "$budgets")
if [ "$over" = 1 ]; then
    echo "over the budget: find out why (callgrind_annotate), or raise it in tests/budgets.txt and say why in the commit" >&2
    exit 1
fi
