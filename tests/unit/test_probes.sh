#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The static probes of the executor: each that docs/observing.md names is in the program's file,
# with as many arguments; no other is; and the scripts in docs/examples/bpftrace use those alone,
# with arguments that there are.
#   test_probes.sh SOURCE_ROOT EXECUTOR CC
set -u
root=$1 executor=$2 cc=$3
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
count=0 failed=0

result() { # STATUS NAME
    count=$((count + 1))
    [ "$1" -eq 0 ] && echo "ok $count - $2" && return
    failed=$((failed + 1)) && echo "not ok $count - $2"
}

# NAME ARGUMENTS, a line each
sed -n 's/^| `\([a-z_]*\)(\(.*\))` |.*/\1 \2/p' "$root/docs/observing.md" |
    awk '{ name = $1; $1 = ""; print name, split($0, arguments, ",") }' |
    sort -u >"$scratch/documented"
[ "$(wc -l <"$scratch/documented")" -ge 10 ]
result $? "the page has a table of probes"

if ! printf '#include <sys/sdt.h>\n' | $cc -E - >"$scratch/header" 2>&1; then
    echo "ok 2 - the notes # SKIP there is no <sys/sdt.h>, and so there are no probes"
    echo "1..2"
    [ "$failed" -eq 0 ]
    exit
fi
readelf -n "$executor" 2>"$scratch/errors" | awk '
    /Provider:/ { provider = $2 }
    /Name:/ { name = $2 }
    /Arguments:/ { sub(/ *Arguments: */, ""); print provider, name, split($0, arguments, " ") }' |
    sort -u >"$scratch/noted"
[ -s "$scratch/noted" ] && ! grep -v '^odeon ' "$scratch/noted" >&2
result $? "the program has probes, all of one provider"
sed 's/^odeon //' "$scratch/noted" | diff "$scratch/documented" - >&2
result $? "they are those of the page, with their arguments"

used=0
for script in "$root"/docs/examples/bpftrace/*.bt; do
    used=$((used + 1))
    awk -v script="${script##*/}" '
        FNR == NR { has[$1] = $2; next }
        /^usdt:/ { n = split($0, part, ":"); probe = part[n]
            if (!(probe in has)) { print script ": no probe " probe; bad = 1 } }
        { rest = $0
          while (match(rest, /arg[0-9]/)) {
            if (substr(rest, RSTART + 3, 1) + 0 >= has[probe]) {
                print script ": " probe " has no " substr(rest, RSTART, 4); bad = 1 }
            rest = substr(rest, RSTART + 4) } }
        END { exit bad }' "$scratch/documented" "$script" >&2
    result $? "${script##*/} asks for what there is"
done
[ "$used" -ge 4 ]
result $? "the scripts are there"
echo "1..$count"
[ "$failed" -eq 0 ]
