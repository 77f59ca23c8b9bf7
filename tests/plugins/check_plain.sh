#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_plain.sh CXX INCLUDE-DIR SOURCE CLIENT
# The plain layer from C++: SOURCE becomes a plugin that CLIENT, which is made for the plugin in C,
# can use; and nothing but the descriptor is exported.
set -u
cxx=$1
include=$2
source=$3
client=$4
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
"$cxx" -std=c++17 -O2 -Wall -Wextra -Wpedantic -Wshadow -Werror -fPIC -fvisibility=hidden \
    -shared -I"$include" \
    -o "$dir/plain.so" "$source" || exit 1
sum=$("$client" - "$dir/plain.so" 1 2 39 2>"$dir/err")
if [ "$sum" != 42 ]; then
    echo "FAIL the sum is '$sum'"
    cat "$dir/err"
    exit 1
fi
echo "ok   1 + 2 + 39 = $sum"
