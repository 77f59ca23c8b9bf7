#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_numa.sh - runs a test in a machine of two nodes with two cores each, and a third node that has
# memory only.
#
#   run_numa.sh BUILD SCRIPT FILE...
#
# FILE is the name of a program or plugin that BUILD has, and that the script needs beside the
# service. Exit status: 77 when the machine is not possible here (the reason is printed).
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(realpath -e "${1-}") || exit 2
SCRIPT=${2-}
[ -f "$HERE/$SCRIPT" ] || exit 2
shift 2

FILES=(--file "$HERE/$SCRIPT" --file "$HERE/tap.sh" --file "$HERE/numa_service.sh")
for name in odeond odeon-executor odeonctl "$@"; do
    path=$(find "$BUILD" -type f -name "$name" -not -path '*/CMakeFiles/*' \
        -not -path "$BUILD/arm64/*" | sort | head -n 1)
    if [ -z "$path" ]; then
        echo "not ok 1 - $name is built"
        exit 1
    fi
    FILES+=(--file "$path")
done
exec bash "$HERE/numa.sh" --node 2:384 --node 2:384 --node 0:128 --tool bash \
    --boot-timeout 900 --timeout 3600 "${FILES[@]}" -- bash "./$SCRIPT"
