#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_collected.sh COMPILER INCLUDE-DIR SOURCE...
# A linker may be told to drop what nobody refers to, and to take the first and the last byte of a
# section for no reference (lld does so by itself).  The lists of a plugin's messages and states,
# which only the loader reads, are all there then: without them what it sends has no number.
set -u
cc=$1
include=$2
shift 2
failed=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# build NAME OPTION...: the plugin of $sources
build()
{
    name=$1
    shift
    # shellcheck disable=SC2086 # several words are several files
    "$cc" -std=gnu17 -O2 -shared -fPIC -ffunction-sections -fdata-sections -I"$include" "$@" \
        -o "$dir/$name.so" $sources
}

# bytes NAME SECTION: its size as hexadecimal digits; nothing: it is not there
bytes()
{
    readelf -SW "$dir/$1.so" | sed 's/^ *\[ *[0-9]*\]//' | awk -v s="$2" '$1 == s { print $5 }'
}

sources=$*
collect='-Wl,--gc-sections,-z,start-stop-gc'
build whole && build collected "$collect" && build careless "$collect" -Dretain=unused || exit 1
for section in odeon_messages odeon_states; do
    if [ -n "$(bytes whole $section)" ] &&
        [ "$(bytes whole $section)" = "$(bytes collected $section)" ]; then
        echo "ok   $section is whole"
    else
        echo "FAIL $section: $(bytes whole $section) bytes, and $(bytes collected $section) when" \
            "the linker drops what nobody refers to"
        failed=1
    fi
done
if [ -n "$(bytes careless odeon_messages)" ]; then
    echo "FAIL the linker of this test drops nothing"
    failed=1
fi
exit $failed
