#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh - the figures of a tree's text, as a row of a table, so that two trees can be compared.
#
#   figures.sh SOURCE...
#
# Of the C files of the product (all but tests, bench and docs): lines, files, functions; lines of a
# source file and of a function (50 %, 90 %, most); functions over 60 lines; lines with a comment,
# of 100 that are not empty; columns of those (90 %, most); modules that include each other in
# circles (a module is a source and its header); the struct with the most fields of those that more
# than two modules use, and how many of its fields more than two use (structs.awk); checks and
# asserts; numbered rules, and those of them that have neither a check nor a model (rules.sh).
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/law/labels.sh
. "$HERE/labels.sh"
# shellcheck source=tests/law/rules.sh
. "$HERE/rules.sh"

# quantiles: of the numbers of the standard input, "50 %/90 %/most".
quantiles()
{
    sort -n | awk '{ v[NR] = $1 }
        END {
            if (NR) print v[int((NR + 1) / 2)] "/" v[int(NR * 0.9 + 0.5)] "/" v[NR]
            else print "-"
        }'
}

# How many modules come back to themselves through the includes of others.
circle_modules()
{
    xargs -d '\n' awk '
        function module(path) { sub(/\.[a-z]+$/, "", path); return path }
        FNR == 1 { print module(FILENAME) "\t" module(FILENAME) }
        match($0, /^ *# *include "[^"]+"/) {
            name = substr($0, RSTART, RLENGTH)
            gsub(/^[^"]*"|"$/, "", name)
            print module(FILENAME) "\t" module(name)
        }' <"$WORK/product" | sort -u | awk -F '\t' '
        function visit(m,    n, i, next_of) {
            n = split(edges[m], next_of, "\n")
            for (i = 1; i < n; i++)
                if (!(next_of[i] in seen)) { seen[next_of[i]] = 1; visit(next_of[i]) }
        }
        { from[NR] = $1; to[NR] = $2; known[$1] = 1 }
        END {
            for (i = 1; i <= NR; i++) {
                folder = from[i]
                sub(/[^\/]*$/, "", folder)
                if (!(to[i] in known)) to[i] = folder to[i]
                if (to[i] != from[i] && to[i] in known)
                    edges[from[i]] = edges[from[i]] to[i] "\n"
            }
            for (m in known) {
                split("", seen)
                visit(m)
                n += m in seen
            }
            print n + 0
        }'
}

# "RULES, WITHOUT EITHER"
rule_figures()
{
    find . \( -path './build*' -o -path ./.git \) -prune -o -type f -printf '%P\n' |
        sort >"$WORK/files"
    list_mutants >"$WORK/mutants"
    rm -f "$WORK/labels"
    list_labels
    if [ -z "$(product_rules)" ]; then
        grep -E '\.(c|h|def|pml|md)$' "$WORK/files" |
            xargs -d '\n' awk -v bare=1 -f "$HERE/labels.awk" >"$WORK/labels"
    fi
    product_rules >"$WORK/rules"
    rules_with_either >"$WORK/either"
    echo "$(wc -l <"$WORK/rules") | $(comm -23 "$WORK/rules" "$WORK/either" | wc -l)"
}

# "STRUCT FIELDS | SHARED"
struct_figures()
{
    xargs -d '\n' awk -f "$HERE/structs.awk" <"$WORK/product" |
        awk -F '\t' '{ print $1 " " $2 " | " $4; n++ } END { if (!n) print "- | -" }'
}

row()
{
    local columns comments
    cd "$1" || return
    find . \( -path ./tests -o -path ./bench -o -path ./docs -o -path './build*' \
        -o -path ./.git \) -prune \
        -o -type f \( -name '*.c' -o -name '*.h' \) -printf '%P\n' | sort >"$WORK/product"
    [ -s "$WORK/product" ] || { echo "figures.sh: no C files in $1" >&2; return 1; }
    xargs -d '\n' awk -f "$HERE/functions.awk" <"$WORK/product" | grep -v "$(printf '\tunread\t')" \
        >"$WORK/functions"
    columns=$(xargs -d '\n' cat <"$WORK/product" | awk '
        /[^ ]/ { gsub(/[\200-\277]/, ""); print length($0) }' | quantiles)
    comments=$(xargs -d '\n' cat <"$WORK/product" | awk '
        /^ *$/ { next }
        { lines++; if (inside || /\/\*|\/\//) n++ }
        /\/\*/ { inside = 1 }
        /\*\// { inside = 0 }
        END { printf "%d", 100 * n / lines + 0.5 }')
    echo "| $(basename "$PWD") | $(xargs -d '\n' cat <"$WORK/product" | wc -l)" \
        "| $(wc -l <"$WORK/product")" \
        "| $(grep '\.c$' "$WORK/product" | xargs -d '\n' -n 1 wc -l | awk '{ print $1 }' |
            quantiles)" \
        "| $(wc -l <"$WORK/functions")" \
        "| $(cut -f 5 "$WORK/functions" | quantiles)" \
        "| $(awk -F '\t' '$5 > 60' "$WORK/functions" | wc -l)" \
        "| $comments | ${columns#*/} | $(circle_modules)" \
        "| $(struct_figures)" \
        "| $(xargs -d '\n' grep -hE '(^|[^a-z_])(engine_)?check\("' <"$WORK/product" | wc -l)" \
        "| $(xargs -d '\n' grep -hE '(^|[^a-z_])assert\(' <"$WORK/product" | wc -l)" \
        "| $(rule_figures) |"
}

[ $# -gt 0 ] || { sed -n '3,16s/^# \{0,1\}//p' "$0"; exit 2; }
echo "| tree | lines | files | lines of a file | functions | lines of a function | over 60" \
    "| comments of 100 | columns | modules in circles" \
    "| largest struct | shared fields | checks | asserts | rules | without either |"
printf '| --- %.0s' {1..16}
echo "|"
status=0
for tree in "$@"; do (row "$tree") || status=1; done
exit $status
