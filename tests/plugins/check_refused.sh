#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_refused.sh COMPILER INCLUDE-DIR SOURCE...
# Each source must not compile, and the compiler must say every text of its EXPECT lines, and in its
# errors none of its NEVER lines; with -DCORRECT it must compile without a warning, so that it is
# refused for the reason meant and for no other.
set -u
cc=$1
include=$2
shift 2
failed=0
log=$(mktemp) && never=$(mktemp) || exit 1
trap 'rm -f "$log" "$never"' EXIT
flags="-std=c17 -Wall -Wextra -Wpedantic -fsyntax-only"

if [ $# -eq 0 ]; then
    echo "no sources" >&2
    exit 1
fi
for source in "$@"; do
    name=$(basename "$source" .c)
    if ! LC_ALL=C "$cc" $flags -Werror -DCORRECT -I"$include" "$source" >"$log" 2>&1; then
        echo "FAIL $name: the correct spelling does not compile"
        cat "$log"
        failed=1
        continue
    fi
    if LC_ALL=C "$cc" $flags -I"$include" "$source" >"$log" 2>&1; then
        echo "FAIL $name: compiles"
        failed=1
        continue
    fi
    expectations=$(sed -n 's/.*EXPECT: //p' "$source")
    if [ -z "$expectations" ]; then
        echo "FAIL $name: expects nothing"
        failed=1
        continue
    fi
    missing=$(printf '%s\n' "$expectations" | while IFS= read -r text; do
        grep -qF -- "$text" "$log" || printf '%s; ' "$text"
    done)
    if [ -n "$missing" ]; then
        echo "FAIL $name: the compiler does not say: $missing"
        cat "$log"
        failed=1
    elif sed -n 's/.*NEVER: //p' "$source" | grep . >"$never" &&
        grep 'error:' "$log" | grep -F -f "$never"; then
        echo "FAIL $name: the compiler says more than it should"
        failed=1
    else
        echo "ok   $name: $(grep -m1 'error:' "$log" | sed 's/.*error: //')"
    fi
done
exit $failed
