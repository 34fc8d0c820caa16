#!/bin/sh
# Does one task of the demonstration. A coding agent could stand here instead:
#   anthill worker run ant-1 --until-empty --agent claude
set -eu
cat > /dev/null                       # the task's prompt comes on stdin; a script knows what to do without it
sleep "${DEMO_PAUSE:-1}"              # so that there is something to watch

done_with() {                         # the last line of the output is the report
    printf '{"summary": "%s", "files_created": ["%s"]}\n' "$1" "$2"
}

case "$ANTHILL_TASK_ID" in
sample)
    mkdir -p data
    printf '%s\n' 'The ant carries a leaf.' 'The leaf is larger than the ant.' 'Another ant helps.' > data/sample.txt
    done_with "Wrote a sample of $(wc -w < data/sample.txt | tr -d ' ') words" data/sample.txt
    ;;
library)
    mkdir -p lib
    cat > lib/tally.sh <<'END'
# tally [N]: the N most frequent words of stdin, most frequent first
tally() {
    tr -cs '[:alpha:]' '\n' | tr '[:upper:]' '[:lower:]' | sed '/^$/d' |
        sort | uniq -c | sort -k1,1nr -k2 | head -n "${1:-5}" | awk '{ print $1, $2 }'
}
END
    sh -n lib/tally.sh
    done_with "Wrote the counting function" lib/tally.sh
    ;;
tool)
    mkdir -p bin
    cat > bin/tally <<'END'
#!/bin/sh
# usage: tally FILE [N]
. "$(dirname "$0")/../lib/tally.sh"
tally "${2:-5}" < "$1"
END
    chmod +x bin/tally
    bin/tally data/sample.txt > /dev/null
    done_with "Wrote the command and ran it once" bin/tally
    ;;
tests)
    mkdir -p tests
    cat > tests/run.sh <<'END'
. lib/tally.sh
passed=0
check() {
    found=$(printf '%s\n' "$1" | tally "$2")
    [ "$found" = "$3" ] || { echo "FAILED: '$1' gave '$found', expected '$3'"; exit 1; }
    passed=$((passed + 1))
}
check 'b a b' 1 '2 b'
check 'one ONE One' 5 '3 one'
check 'x, y! x' 2 "$(printf '2 x\n1 y')"
echo "$passed checks passed"
END
    done_with "Wrote three checks" tests/run.sh
    ;;
check)
    result=$(sh tests/run.sh)
    echo "$result" > tests/report.txt
    done_with "$result" tests/report.txt
    ;;
readme)
    { echo '# tally'; echo; echo 'The most frequent words of a text:'; echo
      echo '    $ bin/tally data/sample.txt 3'; bin/tally data/sample.txt 3 | sed 's/^/    /'; } > README.md
    done_with "Wrote the README with real output" README.md
    ;;
release)
    mkdir -p dist
    cksum bin/tally lib/tally.sh README.md > dist/CHECKSUMS
    done_with "Released $(wc -l < dist/CHECKSUMS | tr -d ' ') files" dist/CHECKSUMS
    ;;
*)
    echo "this script does not know the task $ANTHILL_TASK_ID" >&2
    exit 1
    ;;
esac
