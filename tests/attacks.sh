#!/usr/bin/env bash
# Tries from outside what a repository, a document, another user or a small machine may do to us; each must be refused or harmless.
# usage: tests/attacks.sh path/to/anthill   (run by ./test; as root it acts as two ordinary users)
# One line for each: `ok  what` or `FAILED what`.
set -uo pipefail
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
install -m 755 "$1" "$here/anthill" && chmod 755 "$here" && cd "$here" || exit 1
failed=0 me=4301 other=4302

as() { # user command...: with nothing of ours in the environment, and never for ever
    local user=$1 switch=()
    shift
    [ "$(id -u)" != 0 ] || switch=(setpriv --reuid "$user" --regid "$user" ${group:+--groups "$group"})
    [ -n "${group-}" ] || switch+=(--clear-groups)
    timeout 15 "${switch[@]}" env -i PATH="$here:$PATH" HOME="$here/$user" bash -c "$@"
}
sh() { out=$(cd "$work" && as "$me" "$*" 2>&1 </dev/null); }
# A project and a home of our own for each case.
fresh() {
    rm -rf "${here:?}/$me" "$here/work"
    mkdir -p "$here/$me" "$here/work/.git"
    work=$here/work
    owned "$me" "$here/$me" "$work"
}
owned() { [ "$(id -u)" != 0 ] || chown -R "$1:$1" "${@:2}"; }
# what, exit codes that are right, text that must be there, commands
try() {
    local what=$1 codes=$2 text=$3 rc=0
    shift 3
    sh "$*" || rc=$?
    if [[ " $codes " == *" $rc "* && $out == *"$text"* && ! -e $work/PWNED && ! -e $here/PWNED ]]; then
        echo "ok  $what"
    else
        failed=1
        printf 'FAILED %s: exit %s\n%.600s\n' "$what" "$rc" "$out"
    fi
}
# What must be so before a case means anything.
given() { sh "$*" || { failed=1; printf 'FAILED to prepare: %s\n%.600s\n' "$*" "$out"; }; }

# 1. Nothing from a repository runs without consent.
fresh
given 'mkdir .claude; printf "[gates.test]\nrun = \"touch PWNED\"\n" >.claude/anthill.toml; anthill loop start goal'
try 'a gate of a clone does not run' 1 'anthill trust --project' 'anthill loop gate test'
try 'nor in a loop by itself' 1 'anthill trust --project' 'anthill loop run --agent true'
try 'an agent cannot give consent' 1 'ask your user' 'CLAUDECODE=1 anthill trust --project'
try 'nor a hook, by the document' 1 'ask your user' \
    "ANTHILL_HOOK_DEPTH=1 anthill append trusted trusted '{\"command\": \"touch PWNED\", \"sha256\": \"00\"}'"
given 'rm .claude/anthill.toml; mkfifo .claude/anthill.toml'
try 'a FIFO as gates hangs nobody' 6 'it is a pipe' 'timeout 5 anthill loop gate --all'
for file in package.json pyproject.toml go.mod; do
    given "rm -f .claude/anthill.toml; ln -s /dev/zero $file"
    try "$file that never ends is not read for ever" 1 'no gate is configured' 'ulimit -v 2000000; timeout 5 anthill loop gate --all'
    given "rm $file"
done
given 'mkfifo CLAUDE.md'
try 'a FIFO as CLAUDE.md hangs nobody' 6 'it is a pipe' 'timeout 5 anthill init --scope project'
given 'rm CLAUDE.md; mkdir ~/elsewhere'
for link in .claude .claude/skills .gitignore; do
    given "rm -rf .claude .gitignore; mkdir -p \$(dirname $link); ln -s ~/elsewhere $link"
    try "init does not follow $link out of the project" '1 6' '' 'anthill init --scope project; code=$?; ! ls -A ~/elsewhere | grep . || exit 99; exit $code'
    given 'rm -rf .claude .gitignore'
done
given 'anthill init --scope project; rm CLAUDE.md; mkfifo CLAUDE.md'
try 'a FIFO does not hold up uninstall' '0 1 6' 'CLAUDE.md' 'timeout 5 anthill uninstall --scope project'
given 'rm CLAUDE.md; anthill session start s'
for line in './x.sh' 'FOO=1 ./x.sh' 'exec ./x.sh' 'sh ./x.sh' 'cd . && bash -e x.sh'; do
    given "echo true >x.sh; chmod +x x.sh; anthill on epics --run '$line' --session-id s; anthill trust '$line'; echo 'touch PWNED' >x.sh"
    try "a script that was changed since is not trusted: $line" 0 'changed' "anthill append epics epics '{\"id\": \"e\", \"title\": \"x\", \"status\": \"pending\"}' --project-id p; anthill delete epics 'epics[id=e]' --project-id p; anthill doctor"
    given 'anthill on --remove epics-1 --session-id s'
done
given 'mkfifo plan'
try 'validate does not wait for a FIFO' 2 'it is a pipe' 'timeout 5 anthill validate --file plan --as epics'
try 'nor read /dev/zero to its end' 2 'is no valid queue' 'ulimit -v 2000000; timeout 5 anthill validate --file /dev/zero --as queue'
given 'anthill leader init goal; truncate -s 6G .coordination/.anthill/journal.jsonl'
try 'a journal of 6 GB is read in bounds' '0 7' '' 'ulimit -v 2000000; timeout 10 anthill leader status'
given 'rm -r .coordination; anthill leader init goal; anthill leader add-task x; truncate -s 6G .coordination/.anthill/head.json'
try 'and a head' '0 7' '' 'ulimit -v 2000000; timeout 10 anthill leader status && timeout 10 anthill leader add-task y'
try 'a hook ends though its input does not' 0 '' 'mkfifo in; timeout 12 anthill hook <>in'

# 2. Ids, names, characters.
fresh
given 'anthill leader init goal; anthill leader add-task fine --id fine'
for id in '$(touch PWNED)' '`touch PWNED`' '../../../PWNED' '--help' 'a b' 'x|sh' ''; do
    given "jq --arg id '$id' '.tasks += [.tasks[0] | .id = \$id | .title = \"odd\" | .priority = 1]' .coordination/tasks.json >new && mv new .coordination/tasks.json"
    try "a task named '$id' is found" 7 'not valid' 'anthill validate'
    try "and not handed out" '0 4' '' "anthill worker claim w --json >got; code=\$?; ! grep -q odd got || exit 99; anthill worker release w fine >/dev/null; exit \$code"
    given "jq '.tasks |= map(select(.title != \"odd\"))' .coordination/tasks.json >new && mv new .coordination/tasks.json"
done
try 'new ids do not begin with a dash' 2 'is not a valid id' 'anthill leader add-task x --id=-rf'
try 'a session is no path' 2 'is not a valid session id' 'anthill session start --session-id ../../PWNED x'
given 'anthill leader add-task "$(printf "a\U200B\U202E\U2028\U000E0041\033[2Jb")" --id hidden'
try 'nothing invisible is shown' 0 'hidden' \
    'anthill leader status >shown; ! LC_ALL=C grep -qP "\xE2\x80[\x8B\xAE\xA8]|\xF3\xA0|\x1B" shown || exit 99; cat shown'
fresh
given 'anthill loop start goal; anthill loop add one; jq ".items[0].id = \"x; touch PWNED #\"" .claude/state/loop/work_queue.json >new; mv new .claude/state/loop/work_queue.json'
try 'nor is an item of the loop' 4 '' 'anthill loop take'
try 'which is found' 7 'not valid' 'anthill doctor'
given 'mkdir "d; touch PWNED"; cd "d; touch PWNED"; mkdir .git; anthill leader init goal; rm .coordination/tasks.json; mkdir .coordination/tasks.json'
try 'a path is quoted where it is to be typed' '6 7 8' '' 'cd "d; touch PWNED"; anthill leader status 2>&1 | sed -n "s/.*: \(anthill .*\)/\1/p" | while read -r line; do bash -c "$line"; done >/dev/null 2>&1; anthill leader status'

# 3. Secrets.
fresh
given 'git init -q . && anthill leader init goal && anthill leader add-task one --id one'
try 'what should not be committed is named' 0 '.coordination/logs/' 'rm -r .coordination; anthill leader init goal; anthill leader add-task one --id one'
token=ghp_CANARYcanary0123456789abcdefghij12
given "printf '#!/bin/sh\necho SMTP_PASS=CANARY1; echo \"it is done with $token\"; echo $token >&2\n' >~/agent; chmod +x ~/agent; anthill worker run w --agent ~/agent || true"
given "anthill loop start goal; anthill loop gate test -- 'echo FAILED $token; false' || true; anthill error record -m 'refused: $token'"
given "anthill leader add-task two --id two; anthill worker claim v; anthill worker fail v two 'with $token' || true"
given "CLAUDECODE=1 ANTHILL_SESSION_ID=s anthill message send s t note '\"$token\"'"
try 'no secret that an agent or a program says is kept' 0 '' '! grep -rl CANARY . ~/.claude'

# 4. Limits of the machine.
fresh
given 'anthill leader init goal; anthill message send a b note 1 --id first'
try 'no room in a file is exit 6' 6 '' 'ulimit -f 0; anthill leader add-task x'
try 'and nothing is broken by it' 0 'all is well' 'anthill doctor'
try 'the year 9999 is a year' '0 4' '' 'ANTHILL_NOW=9999-12-31T23:59:59Z anthill worker claim w --lease 9999999'
if [ "$(cat /proc/sys/fs/inotify/max_user_instances)" -le 200 ]; then
    given 'for n in $(seq 210); do anthill worker claim w$n --wait 30 & done >/dev/null 2>~/said; jobs -p >~/waiters; disown -a; until grep -q max_user_instances ~/said; do sleep 0.1; done'
    try 'who waits without file events looks' 0 'late' '{ sleep 0.2; anthill message send b c note 1 --id late; } >/dev/null 2>&1 & anthill message poll c --wait 10'
    try 'so does who watches' 0 'snapshot' 'timeout 2 anthill watch queue; test $? = 124'
else
    echo 'skipped: this machine has more file events than one may use up'
fi
given 'test ! -e ~/waiters || kill $(cat ~/waiters); chmod -R a-w .coordination ~/.claude'
for read in 'leader status' 'get queue' 'message poll b --no-mark-read' 'log' 'validate' 'doctor' 'status' 'session list'; do
    try "where nothing can be written one can read: $read" 0 '' "anthill $read"
done
given 'chmod -R u+w .coordination ~/.claude'
given 'cd ~/.claude/orchestration/messages/b/inbox; mkdir d.json; mkfifo f.json; ln -s /dev/zero z.json; truncate -s 3G big.json'
try 'odd files in an inbox keep nobody from reading' 0 'first' 'ulimit -v 2000000; timeout 10 anthill message poll b'
try 'and are named' '6 7' 'f.json' 'timeout 10 anthill doctor'
given 'rm -rf .coordination/.anthill/twin-tasks.json; mkdir .coordination/.anthill/twin-tasks.json'
try 'a directory as a twin is mended' 0 '' 'rm -rf ~/.claude/orchestration/messages; anthill doctor --repair; anthill leader add-task y'

# 5. History that can be trusted.
fresh
given 'anthill leader init goal; anthill leader add-task x --id x; ANTHILL_SESSION_ID=s1 anthill worker claim w1'
try "another one's change is not taken back" 1 '--force' 'ANTHILL_SESSION_ID=s2 anthill undo queue'
given 'anthill undo queue --force; anthill worker claim w2 --json >claim'
try 'a lease number never comes again' 0 '' 'test "$(jq .lease.epoch claim)" = 2'
try 'a sleeper is fenced off' 3 'belongs now to' 'anthill worker complete w1 x done --epoch 1'
try 'dependencies in a circle are refused' '1 2' 'in a circle' 'anthill set queue "tasks[0].dependencies" "[\"x\"]"'
try 'a number out of its range is refused' '1 2' 'must be more than 0' 'anthill set config global.max_parallel_agents -7'
try 'what we stamp is not set' '1 2' 'kept by anthill' 'anthill set queue revision 99'
try 'a list of nobody takes nothing' '1 2' 'has no list' 'anthill append queue others 1'
try 'an id is there once' '1 2' 'there twice' "anthill append queue tasks '{\"id\": \"x\", \"description\": \"again\", \"status\": \"available\"}'"
given 'anthill session start victim; ANTHILL_SESSION_ID=me anthill set session context.note \"x\" --session-id victim'
try 'the author is who acts' 0 '"me"' 'anthill get session --session-id victim --field updated_by'
given 'anthill set config features.enable_state_sharing false'
try 'a setting without effect is named' 0 'has no effect' 'anthill doctor'
given 'cp -a . ~/copy; echo "{broken" >~/copy/.coordination/tasks.json'
try 'a damaged edit in a copy is put aside with a word' 0 'quarantine' 'cd ~/copy; anthill leader add-task y'
given 'anthill loop start goal; rm -r .claude/state/loop'
try 'where removing is the reset, it is one' 0 'anthill undo work_queue' 'anthill loop start again'
given 'rm .coordination/tasks.json'
try 'a lost document is damage' 7 'anthill doctor --repair' 'anthill leader add-task z'
try 'and named by validate' 7 'is gone' 'anthill validate'
given 'anthill doctor --repair; anthill message send a b note 1 --id m; anthill message poll b'
try 'a sender sees what was read' 0 '"read": true' 'anthill message outbox a m'

# 6. Small ones.
fresh
try 'an error repeats little of what was typed' 0 '' 'test "$(anthill get "$(printf "%05000d" 7)" 2>&1 | wc -c)" -lt 1000'
given 'anthill set config global.default_project \"a\"; cd ~/.claude/orchestration/.anthill; ln journal.jsonl ~/copy; cp ~/copy ~/before'
try 'the other name of a journal does not change' 0 '' 'anthill set config global.default_project \"b\" && cmp ~/copy ~/before'
given 'cd ~/.claude/orchestration/.anthill; tail -n 1 journal.jsonl | sed "s#config.json#../../PWNED.json#g" >>journal.jsonl'
try 'a forged line blocks nothing' 0 '' 'anthill set config global.default_project \"c\"'
given 'printf "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n" >~/.claude/orchestration/config.json'
try 'marks of a merge get a hint' 7 'merge' 'anthill get config'
fresh
try 'who is not there leaves no lock' 0 '' 'anthill message poll ghost; anthill session end ghost 2>&1 | grep -q "no session" && ! find ~ . -name "*ghost*" | grep .'
try 'what init leaves is ours alone' 0 '' 'umask 000; anthill init >/dev/null 2>&1 && test -n "$(find ~ . -name ".anthill-install*")" && ! find ~ . -name ".anthill-install*" -perm /022 | grep .'

# Another user.
if [ "$(id -u)" = 0 ]; then
    fresh
    mkdir -p "$here/other/.claude" "$here/other/mine" "$here/$other"
    printf '[gates.test]\nrun = "touch %s/PWNED"\n' "$here" >"$here/other/.claude/anthill.toml"
    owned "$other" "$here/other" "$here/$other"
    owned "$me" "$here/other/mine"
    chmod 777 "$here/other"
    work=$here/other/mine
    try "another user's directory above is no project" 1 "belongs to user $other" 'anthill loop gate test'
    try 'which status says once' 0 'cannot look at the project' 'anthill status >/dev/null 2>said; cat said; test "$(wc -l <said)" = 1'
    try 'nor to plan in' 1 "belongs to user $other" 'anthill leader init goal'
    fresh
    given 'anthill leader init goal'
    HOME=$here/$me "$here/anthill" --root "$work" leader add-task 'by root' --id root >/dev/null 2>&1 || failed=1
    try 'after a command of root we are not locked out' 0 '' 'anthill leader add-task mine && anthill worker claim w'
    groups=$me
    fresh
    chgrp 4300 "$work" && chmod 2770 "$work" && rm -rf "$work/.git"
    group=4300
    try 'a project is shared with a group' 0 '' 'umask 022; mkdir .git; anthill leader init goal && anthill leader add-task one --id one'
    me=$other
    try 'and used by its other members' 0 '' 'anthill leader add-task two --id two && anthill worker claim w'
    me=$groups
    try 'after which its owner goes on' 0 'all is well' 'anthill leader add-task three && anthill doctor'
    group=
    fresh
    given 'anthill leader init goal'
    me=$other
    try 'another user reads who owns it, and changes nothing' '1 6' "$((other - 1))" "anthill --root $work leader add-task theirs"
else
    echo 'skipped: a second user needs root'
fi
exit "$failed"
