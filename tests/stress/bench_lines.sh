# SPDX-License-Identifier: Apache-2.0
# What the tests of benchmark scripts share: their lines say what they should, the times in them
# mean nothing. To be sourced, with BUILD as the first argument; two CPUs are needed, one for either
# side, else it ends with 77. Sets BUILD, WORK (a folder that goes at the end) and FAILED.
# shellcheck shell=bash disable=SC2034 # its variables are its users'
set -uo pipefail
export LC_ALL=C
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
BUILD=$1 FAILED=0
[ "$(nproc)" -ge 2 ] || {
    echo "skipped: two processors are needed, one for either side"
    exit 77
}
WORK=$(mktemp -d) || exit 1
trap 'rm -rf "$WORK"' EXIT

# expect COUNT PATTERN FILE: so many lines match.
expect()
{
    local found
    found=$(grep -cE "$2" "$3")
    if [ "$found" = "$1" ]; then
        echo "ok   $1 x $2"
    else
        echo "FAIL $found lines, not $1, match $2"
        FAILED=1
    fi
}
