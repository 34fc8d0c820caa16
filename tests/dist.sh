#!/usr/bin/env bash
# Packs a binary as a release, unpacks it into an empty prefix, and runs the demonstration from there.
# usage: tests/dist.sh path/to/anthill   (run by ./test)
set -euo pipefail
binary=$(realpath "$1")
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
archive=$(realpath "$(./dist "$binary" | tail -n 1)")
(cd "$(dirname "$archive")" && sha256sum --check --quiet SHA256SUMS)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
tar -xzf "$archive" -C "$prefix" --strip-components=1

for file in bin/anthill share/man/man1/anthill.1 share/man/man1/anthill-worker-claim.1 share/doc/anthill/{LICENSE-MIT,LICENSE-APACHE,README.md} \
    share/bash-completion/completions/anthill share/zsh/site-functions/_anthill share/fish/vendor_completions.d/anthill.fish; do
    if [ ! -s "$prefix/$file" ]; then
        echo "the archive has no $file" >&2
        exit 1
    fi
done
bash -n "$prefix/share/bash-completion/completions/anthill"
mkdir "$prefix/home"
# Nothing but what was unpacked, and what every system has.
told=$(cd "$prefix/home" && env -i HOME="$prefix/home" PATH="$prefix/bin:/usr/bin:/bin" DEMO_PAUSE=1 anthill demo --dir "$prefix/demo" --json)
if [[ $told != *'"epoch": 2'* ]] || ! grep -q "3 checks passed" "$prefix/demo/tests/report.txt"; then
    printf 'the demonstration went wrong:\n%s\n' "$told" >&2
    exit 1
fi
echo "release archive: $(stat -c %s "$archive") bytes, $(find "$prefix/share/man" -type f | wc -l) manual pages; the demonstration ran"
