#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh - the figures of a tree's text, as a row of a table, so that two trees can be compared.
#
#   figures.sh SOURCE...
#
# Of the C files of the product (all but tests, bench and docs): lines, files, functions; lines of a
# source file and of a function (50 %, 90 %, most); functions over 60 lines; lines with a comment,
# of 100 that are not empty; columns of those (90 %, most); modules that include each other in
# circles; checks and asserts.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT

# quantiles: of the numbers of the standard input, "50 %/90 %/most".
quantiles()
{
    sort -n | awk '{ v[NR] = $1 }
        END {
            if (NR) print v[int((NR + 1) / 2)] "/" v[int(NR * 0.9 + 0.5)] "/" v[NR]
            else print "-"
        }'
}

# Modules that include each other in a circle: pairs of stems in a folder, edges between them, and
# all that can be left out from either end is left out. What stays is in circles or between two.
circle_modules()
{
    xargs -d '\n' awk '
        function module(path) { sub(/\.[a-z]+$/, "", path); return path }
        match($0, /^ *# *include "[^"]+"/) {
            name = substr($0, RSTART, RLENGTH)
            gsub(/^[^"]*"|"$/, "", name)
            print module(FILENAME) "\t" module(name)
        }' <"$WORK/files" | sort -u | awk -F '\t' '
        { from[NR] = $1; to[NR] = $2; known[$1] = 1; n = NR }
        END {
            for (i = 1; i <= n; i++) {
                if (!(to[i] in known)) {
                    folder = from[i]
                    sub(/[^\/]*$/, "", folder)
                    if ((folder to[i]) in known) to[i] = folder to[i]
                }
                if (to[i] == from[i] || !(to[i] in known)) gone[i] = 1
            }
            do {
                split("", out)
                split("", in_)
                for (i = 1; i <= n; i++) if (!gone[i]) { out[from[i]]++; in_[to[i]]++ }
                changed = 0
                for (i = 1; i <= n; i++)
                    if (!gone[i] && (!out[to[i]] || !in_[from[i]])) { gone[i] = 1; changed = 1 }
            } while (changed)
            for (i = 1; i <= n; i++) if (!gone[i]) left[from[i]] = 1
            for (m in left) k++
            print k + 0
        }'
}

row()
{
    local columns comments
    cd "$1" || return
    find . \( -path ./tests -o -path ./bench -o -path ./docs -o -path './build*' \
        -o -path ./.git \) -prune \
        -o -type f \( -name '*.c' -o -name '*.h' \) -printf '%P\n' | sort >"$WORK/files"
    [ -s "$WORK/files" ] || { echo "figures.sh: no C files in $1" >&2; return 1; }
    xargs -d '\n' awk -f "$HERE/functions.awk" <"$WORK/files" | grep -v "$(printf '\tunread\t')" \
        >"$WORK/functions"
    columns=$(xargs -d '\n' cat <"$WORK/files" | awk '
        /[^ ]/ { gsub(/[\200-\277]/, ""); print length($0) }' | quantiles)
    comments=$(xargs -d '\n' cat <"$WORK/files" | awk '
        /^ *$/ { next }
        { lines++; if (inside || /\/\*|\/\//) n++ }
        /\/\*/ { inside = 1 }
        /\*\// { inside = 0 }
        END { printf "%d", 100 * n / lines + 0.5 }')
    echo "| $(basename "$PWD") | $(xargs -d '\n' cat <"$WORK/files" | wc -l)" \
        "| $(wc -l <"$WORK/files")" \
        "| $(grep '\.c$' "$WORK/files" | xargs -d '\n' -n 1 wc -l | awk '{ print $1 }' |
            quantiles)" \
        "| $(wc -l <"$WORK/functions")" \
        "| $(cut -f 5 "$WORK/functions" | quantiles)" \
        "| $(awk -F '\t' '$5 > 60' "$WORK/functions" | wc -l)" \
        "| $comments | ${columns#*/} | $(circle_modules)" \
        "| $(xargs -d '\n' grep -hE '(^|[^a-z_])check\("' <"$WORK/files" | wc -l)" \
        "| $(xargs -d '\n' grep -hE '(^|[^a-z_])assert\(' <"$WORK/files" | wc -l) |"
}

[ $# -gt 0 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0"; exit 2; }
echo "| tree | lines | files | lines of a file | functions | lines of a function | over 60" \
    "| comments of 100 | columns | modules in circles | checks | asserts |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
status=0
for tree in "$@"; do (row "$tree") || status=1; done
exit $status
