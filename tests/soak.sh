#!/usr/bin/env bash
# A team at work for an hour: does anything grow, does anything slow down?
# Three workers, a leader who adds tasks, a runner, hooks of a client, messages; meanwhile two boards, a watch and two waiters stay
# open. Their clock runs 288 times as fast as ours, a day in five minutes, and what is over leaves after a day, so that retention is seen at
# work. Prints memory and disk use each minute, then the first and the last minute side by side. Exits 1 if the disk use without the
# archives grew by more than a quarter in the last third of the run (from half an hour on: sooner nothing has left yet), if a process that stays
# open has more than 32 MB, or grew by more than 8 MB after the first sixth of the run (until the queue is long, `watch` tells all of
# it each time), or if a command takes more than 1.5 times as long as at first (medians; if
# `anthill --version` got slower too, the machine did, and that is taken out).
# usage: tests/soak.sh [MINUTES] [path/to/anthill]   (not part of ./test)
set -euo pipefail
minutes=${1:-60}
anthill=$(realpath "${2:-target/x86_64-unknown-linux-musl/release/anthill}")
((minutes >= 2)) || { echo "at least 2 minutes: the first and the last are compared" >&2; exit 2; }
here=$(mktemp -d)
pids=()
cleanup() {
    trap - EXIT
    kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$here"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
mkdir "$here/project" "$here/times"
# Nothing of the caller's environment; PATH for the runner's command.
run=(env -i "PATH=$PATH" "ANTHILL_HOME=$here/home" "ANTHILL_ROOT=$here/project" "ANTHILL_NOW=$(date -u +%FT%TZ)*288" "$anthill")
quiet() { "${run[@]}" "$@" >/dev/null 2>>"$here/errors"; }

# ---- what is measured

# Takes the time of a command that is to succeed; its standard output stays.
timed() { # name command...
    local name=$1 from=${EPOCHREALTIME/./}
    shift
    "${run[@]}" "$@" 2>>"$here/errors" || {
        [ "$?:$1 $2" = "4:worker claim" ] || echo "$*" >>"$here/failed"
        return 0
    }
    echo "$((${EPOCHREALTIME/./} - from))" >>"$here/times/$(cat "$here/minute")-$name"
}

event() { # session name fields
    local name=$2 fields=$3
    printf '{"session_id":"%s","transcript_path":"/none.jsonl","cwd":"%s","hook_event_name":"%s"%s}' \
        "$1" "$here/project" "$name" "$fields" | timed "hook-$name" hook >/dev/null
}

# ---- who is at work

worker() { # name
    local task
    while :; do
        task=$(timed claim worker claim "$1" --json | sed -n 's/^ *"id": "\(part-[0-9]*\)".*/\1/p' | head -1)
        if [ -n "$task" ]; then
            timed start worker start "$1" "$task" >/dev/null
            timed complete worker complete "$1" "$task" "wrote it" --modified "src/$task.rs" >/dev/null
        fi
        sleep 0.7
    done
}

leader() {
    local number=0
    while :; do
        number=$((number + 1))
        timed add-task leader add-task "Write part $number" --id "part-$number" --needs soak --files "src/part-$number/" >/dev/null
        ((number % 5)) || quiet leader add-task "Run $number" --id "run-$number" --needs run
        ((number % 10)) || timed board leader status >/dev/null
        timed send message send lead w1 note "\"part $number\"" >/dev/null
        sleep 0.4
    done
}

reader() {
    local id
    while :; do
        for id in $(timed poll message poll w1 --json | sed -n 's/^ *"id": "\(.*\)",\?$/\1/p'); do
            timed done message "done" w1 "$id" >/dev/null
        done
        sleep 1
    done
}

client() {
    local number=0 session
    while :; do
        number=$((number + 1)) session="client-$((number / 50))"
        timed floor --version >/dev/null
        event "$session" SessionStart ',"source":"startup"'
        event "$session" UserPromptSubmit ',"prompt":"Go on"'
        event "$session" PreToolUse ',"tool_name":"Edit","tool_input":{"file_path":"src/main.rs"}'
        event "$session" PostToolUse ',"tool_name":"Edit","tool_input":{"file_path":"src/main.rs"},"tool_response":{}'
        event "$session" PostToolUseFailure ",\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"make\"},\"error\":\"error $number: no rule\""
        event "$session" SubagentStart ",\"agent_id\":\"a$number\",\"agent_type\":\"reviewer\""
        event "$session" SubagentStop ",\"agent_id\":\"a$number\",\"agent_type\":\"reviewer\",\"last_assistant_message\":\"Fine.\""
        ((number % 10)) || event "$session" PreCompact ',"trigger":"auto"'
        ((number % 50 != 49)) || event "$session" SessionEnd ',"reason":"other"'
        sleep 1
    done
}

names=()
stay() { # name command...: a process that stays open
    names+=("$1")
    shift
    "${run[@]}" "$@" </dev/null >/dev/null 2>>"$here/errors" &
    pids+=($!)
}

disk() { # names: KB of the files in these directories
    du -sck "$@" 2>/dev/null | tail -1 | cut -f1 || true
}

memory() { # pid: resident memory in KB, 0 if it is gone
    awk '$1 == "VmRSS:" { found = $2 } END { print found + 0 }' "/proc/$1/status" 2>/dev/null || echo 0
}

# ---- the run

echo 1 >"$here/minute"
for kind in sessions messages tasks; do quiet set config "retention.${kind}_days" 1; done
quiet set config journal.kept_segments 4
quiet leader init "Soak"
for name in w1 w2 w3; do quiet worker register "$name" --capabilities soak; done
quiet worker register runner --capabilities run
quiet worker register idle
stay watch watch queue
stay board leader status --watch
stay board-json leader status --watch --json
stay claim-wait worker claim idle --wait
stay poll-wait message poll nobody --wait
stay runner worker run runner --forever -- sh -c 'echo ran'
open=${#pids[@]}
for name in w1 w2 w3; do worker "$name" & pids+=($!); done
leader & pids+=($!)
reader & pids+=($!)
client & pids+=($!)

first=() settled=() last=() disks=()
archives=("$here/home/orchestration/archive" "$here/project/.coordination/archive" "$here/project/.claude/state/archive")
printf '%6s %9s %10s %7s' minute "disk KB" "archive KB" files
printf ' %11s' "${names[@]}"
printf '   (memory in KB)\n'
for ((minute = 1; minute <= minutes; minute++)); do
    echo "$minute" >"$here/minute"
    sleep 60
    last=()
    for ((at = 0; at < open; at++)); do last+=("$(memory "${pids[at]}")"); done
    ((minute > 1)) || first=("${last[@]}")
    ((minute > 1 && minute > minutes / 6)) || settled=("${last[@]}")
    archived=$(disk "${archives[@]}")
    disks[minute]=$(($(disk "$here/home" "$here/project") - archived))
    printf '%6d %9d %10d %7d' "$minute" "${disks[minute]}" "$archived" "$(find "$here/home" "$here/project" -type f | wc -l)"
    printf ' %11d' "${last[@]}"
    echo
done

# ---- the verdict

bad=0
complain() { echo "  <- $*"; bad=1; }
printf '\n%-12s %10s %10s %10s\n' memory "first KB" "settled KB" "last KB"
for ((at = 0; at < open; at++)); do
    printf '%-12s %10d %10d %10d' "${names[at]}" "${first[at]}" "${settled[at]}" "${last[at]}"
    if ((last[at] == 0)); then complain "it has ended"
    elif ((last[at] > 32768)); then complain "more than 32 MB"
    elif ((last[at] - settled[at] > 8192)); then complain "grew by more than 8 MB"
    else echo; fi
done

printf '\n%-12s %10d %10d %10d' "disk KB" "${disks[1]}" "${disks[minutes * 2 / 3]}" "${disks[minutes]}"
if ((minutes >= 30 && 4 * disks[minutes] > 5 * disks[minutes * 2 / 3])); then complain "grew by more than a quarter"; else echo; fi

percentile() { # file percent
    sort -n "$1" | awk -v percent="$2" '{ all[NR] = $1 } END { at = int((NR * percent + 99) / 100); print all[at < 1 ? 1 : at] }'
}
floor_was=$(percentile "$here/times/1-floor" 50) floor_is=$(percentile "$here/times/$minutes-floor" 50)
((floor_is > floor_was)) || floor_is=$floor_was
printf '\n%-24s %8s %8s %8s %8s %8s %8s\n' "latency (microseconds)" count p50 p95 count p50 p95
for file in "$here/times/1-"*; do
    name=${file##*/1-} end="$here/times/$minutes-${file##*/1-}"
    [ -f "$end" ] || continue
    was=$(percentile "$file" 50) is=$(percentile "$end" 50)
    printf '%-24s %8d %8d %8d %8d %8d %8d' "$name" "$(wc -l <"$file")" "$was" "$(percentile "$file" 95)" \
        "$(wc -l <"$end")" "$is" "$(percentile "$end" 95)"
    if ((2 * is * floor_was > 3 * was * floor_is)) && (($(wc -l <"$end") >= 10)); then complain "more than 1.5 times"; else echo; fi
done
if [ -s "$here/failed" ]; then
    echo "commands that failed:" && sort "$here/failed" | uniq -c | sort -rn | head && tail -5 "$here/errors" && bad=1
fi
[ "$bad" = 0 ] && echo "nothing grew, nothing slowed down" || exit 1
