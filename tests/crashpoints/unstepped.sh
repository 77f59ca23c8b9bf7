#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unstepped.sh - no routine that stores what outlives the engine was left out of a run of the crash
# points.
#
#   unstepped.sh [--quick] PROGRAM PLACES...
#
# PLACES are what PROGRAM has written with --places; to be called from the root of the sources.
# Routines are found by their text (durable.awk), and where a kill was by the program's debugging
# information, which knows functions that are a part of others by now. A routine without a kill
# needs a line in unstepped.txt:
#
#   NAME: REASON         why no scene goes there
#   NAME full: REASON    only a full run does
#
# A line that is not needed fails, too. Exit status 0: there is none; 1: there is; 2: could not run.
set -uo pipefail
export LC_ALL=C
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LIST=$HERE/unstepped.txt FEW=100
quick=0
if [ "${1-}" = --quick ]; then
    quick=1
    shift
fi
program=${1:?which program?}
shift
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT

# Clang's knows less: of some functions that are a part of others no instruction is said to be.
if readelf -p .comment "$program" | grep -q 'clang version'; then
    echo "ok 1 - each routine that stores is stepped # SKIP that is for gcc's build to say"
    exit 0
fi

find daemon/engine -name '*.[ch]' -print0 | sort -z | xargs -0 awk -f "$HERE/durable.awk" |
    sort -u >"$WORK/routines" || exit 2
sort -u "$@" | addr2line -i -f -e "$program" | paste - - |
    awk -F '\t' '$2 ~ /\/daemon\/engine\// { print $1 }' | sort -u >"$WORK/stepped" || exit 2
for file in routines stepped; do
    [ "$(wc -l <"$WORK/$file")" -ge $FEW ] || {
        echo "unstepped.sh: hardly any $file: read wrongly, or the program has no -g" >&2
        exit 2
    }
done

awk -F '\t' -v quick="$quick" -v list="$LIST" -v stepped="$WORK/stepped" '
    BEGIN {
        while ((getline line <stepped) > 0) been[line] = 1
        while ((getline line <list) > 0) {
            if (line !~ /^[a-z]/) continue
            at = index(line, ":")
            n = split(substr(line, 1, at ? at - 1 : length(line)), word, " ")
            excused[word[1]] = n == 2 && word[2] == "full" ? "full" : "never"
            if (split(substr(line, at + 1), reason, " ") < 4 || !at || n > 2)
                print "unstepped.txt: " word[1] ": why?"
        }
    }
    { known[$2] = 1 }
    !($2 in been) && !($2 in excused) { print $1 ": " $2 " stores, and no scene steps it" }
    !($2 in been) && excused[$2] == "full" && !quick {
        print $1 ": " $2 " stores, and not even a full run steps it"
    }
    $2 in been && excused[$2] == "never" { print "unstepped.txt: " $2 " is stepped by now" }
    END {
        for (name in excused) if (!(name in known))
            print "unstepped.txt: no routine that stores is called " name
    }' "$WORK/routines" | sort >"$WORK/found" || exit 2
text="each of $(wc -l <"$WORK/routines") routines that store is stepped, or has its reason"
if [ -s "$WORK/found" ]; then
    echo "not ok 1 - $text"
    sed 's/^/# /' "$WORK/found"
    exit 1
fi
echo "ok 1 - $text"
