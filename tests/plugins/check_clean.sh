#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_clean.sh COMPILER INCLUDE-DIR SOURCE...
# The macros and what is written with them compile without a warning, strictly by C17, unoptimised
# and optimised (some warnings come only from the optimiser), for a shared object.
set -u
cc=$1
include=$2
shift 2
warnings="-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef
    -Wwrite-strings -Wvla -Wformat=2 -Wimplicit-fallthrough -Wnull-dereference -Wcast-align
    -Wcast-qual -Wpointer-arith -Werror"
failed=0
if [ $# -eq 0 ]; then
    echo "no sources" >&2
    exit 1
fi
for source in "$@"; do
    for level in -O0 -O2; do
        if "$cc" -std=c17 -D_GNU_SOURCE $level $warnings -fPIC -fvisibility=hidden -I"$include" \
            -c -o /dev/null "$source"; then
            echo "ok   $(basename "$source") $level"
        else
            echo "FAIL $source $level"
            failed=1
        fi
    done
done
exit $failed
