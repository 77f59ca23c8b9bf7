#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_assertions.sh SOURCE
# Assertions are compiled in, whatever the build type: CMake's own flags of all but Debug have
# -DNDEBUG. Asks the compiler, by each command of the build, what it makes of the macro. Prints TAP.
set -uo pipefail
SOURCE=$1
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/rig/tap.sh
. "$SOURCE/tests/rig/tap.sh"

# commands_of BUILD: how the product's own sources are compiled, one command for each target.
commands_of()
{
    sed -nE 's/^ *"command": "(.*)",?$/\1/p' "$1/compile_commands.json" | sed 's/\\"/"/g' |
        grep -E '/(daemon|client-lib)/' | awk '{ target = $0; sub(/.* -o /, "", target)
            sub(/\.dir\/.*/, "", target); if (!seen[target]++) print }'
}

# asserts TYPE OPTION...: no command of the product defines NDEBUG.
asserts()
{
    local build=$WORK/$COUNT type=$1 command n=0
    shift
    cmake -S "$SOURCE" -B "$build" -G Ninja -DODEON_TESTS=OFF -DCMAKE_BUILD_TYPE="$type" "$@" ||
        return 1
    while IFS= read -r command; do
        n=$((n + 1))
        if (cd "$build" && eval "${command/ -o / -dM -E -x c -o - /dev/null #}") | grep NDEBUG; then
            echo "NDEBUG is defined: $command"
            return 1
        fi
    done < <(commands_of "$build")
    echo "$n commands"
    [ $n -ge 5 ]
}

for type in Release RelWithDebInfo; do
    check "$type asserts" asserts $type
done
check "so does a build whose flags say not to" asserts MinSizeRel -DCMAKE_C_FLAGS=-DNDEBUG
echo "1..$COUNT"
[ $BROKEN = 0 ]
