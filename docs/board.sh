# Makes the board that README.md shows; a test runs this and compares. usage: sh docs/board.sh, in an empty project
at() { time=$1; shift; ANTHILL_NOW=2026-11-18T10:$time.000Z anthill "$@" >/dev/null 2>&1; }
at 00:00 add "Create the User model" --id model -p 1 --files src/models/
at 00:01 add "Hash passwords" --id hashing -p 1 --files src/utils/
at 00:02 add "POST /users" --id register --depends model hashing
at 00:03 add "Describe the API" --id docs
at 00:05 claim --worker terminal-2
at 00:06 claim --worker terminal-3
at 00:08 worker start terminal-3 hashing
at 04:10 "done" model "Added the model" --worker terminal-2
ANTHILL_NOW=2026-11-18T10:05:12.000Z anthill leader status
