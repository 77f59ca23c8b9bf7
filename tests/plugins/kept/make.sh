#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make.sh [-f]: makes the binaries that are kept beside the sources. Once for each ABI: what is
# there already stays, for it stands for the plugins that people have; -f makes all of them anew,
# which is right only before an ABI has been released.
#
# kept_gcc.so, kept_clang.so, kept_cxx.so: ABI 2.0. abi1.so: ABI 1, by the headers of 0.1.
set -euo pipefail
cd "$(dirname "$0")"
top=$(git rev-parse --show-toplevel)
first=14a609e # the last commit of ABI 1
old=$(mktemp -d)
trap 'rm -rf "$old"' EXIT
force=${1:-}

# build OUTPUT COMPILER INCLUDES ARGUMENT...
build()
{
    local output=$1 compiler=$2 include=$3
    shift 3
    [ -e "$output" ] && [ "$force" != -f ] && return
    "$compiler" -O2 -fPIC -shared -fvisibility=hidden -Wall -Wextra -I"$include" -I. \
        -Wl,--build-id=none -Wl,-z,noseparate-code -s "$@" -o "$output"
    echo "$output: $(stat -c %s "$output") bytes"
}

git -C "$top" archive "$first" client-lib/include | tar -x -C "$old"
build kept_gcc.so gcc "$top/client-lib/include" -DKEPT=gcc kept.c
build kept_clang.so clang "$top/client-lib/include" -DKEPT=clang kept.c
build kept_cxx.so g++ "$top/client-lib/include" -std=c++17 -fno-exceptions -fno-rtti kept.cpp
build abi1.so gcc "$old/client-lib/include" abi1.c
