#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_testing.sh BUILD SOURCE LIBRARY
# docs/testing-plugins.md as its reader has it: what is installed for authors, a copy of the
# example, the page's commands one after the other (```sh; ```sh fails: it has to), and the outputs
# that it shows (```text), line by line, but for numbers of seeds. Prints TAP.
set -uo pipefail
BUILD=$1 SOURCE=$2 LIBRARY=$3 # libodeon.so, which is not installed here
PAGE=$SOURCE/docs/testing-plugins.md
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
unset ODEON_TEST_SEED ODEON_TEST_SCHEDULES
COUNT=0 BROKEN=0

# result STATUS NAME, with the end of $WORK/log if it failed
result()
{
    COUNT=$((COUNT + 1))
    if [ "$1" = 0 ]; then
        echo "ok $COUNT - $2"
        return
    fi
    BROKEN=$((BROKEN + 1))
    echo "not ok $COUNT - $2"
    tail -n 20 "$WORK/log" | sed 's/^/# /'
}

# What a machine may lack: gdb, valgrind.
lacks()
{
    local first=${1%% *}
    [ "${1#*valgrind}" = "$1" ] || first=valgrind
    case $first in gdb | valgrind) ! command -v "$first" >/dev/null ;; *) false ;; esac
}

# The line with the seed that was told last, as its reader types it: a seed is the build's.
told_seed()
{
    local seed
    seed=$(grep -o 'ODEON_TEST_SEED=[0-9]*' "$WORK/all" | tail -n 1)
    sed -E "s/^ODEON_TEST_SEED=[0-9]+/${seed:-&}/" <<<"$1"
}

# run_line LINE KIND
run_line()
{
    local rc=0 line
    line=$(told_seed "$1")
    if lacks "$1"; then
        COUNT=$((COUNT + 1))
        echo "ok $COUNT - $1 # SKIP it is not installed"
        return
    fi
    bash -c "$line" >"$WORK/log" 2>&1 || rc=$?
    cat "$WORK/log" >>"$WORK/all"
    if [ "$2" = fails ]; then rc=$((rc != 1)); fi
    result "$rc" "$line"
}

if ! cmake --install "$BUILD" --component dev --prefix "$WORK/root" >"$WORK/log" 2>&1; then
    result 1 "what authors need can be installed"
    exit 1
fi
export CMAKE_PREFIX_PATH=$WORK/root
cp -r "$SOURCE/docs/examples/seats" "$WORK/seats" && cd "$WORK/seats" || exit 2

# "KIND LINE" of each line in a block of commands or output.
awk '/^```/ { kind = inside ? "" : $1 == "```sh" ? ($2 ? $2 : "sh") : $1 == "```text" ? "text" : ""
              inside = !inside; next }
     kind != "" { print kind, $0 }' "$PAGE" >"$WORK/lines"
: >"$WORK/all"
while read -r kind line <&3; do
    [ "$kind" = text ] || run_line "$line" "$kind"
done 3<"$WORK/lines"
[ $COUNT -ge 9 ]
result $? "the page has commands"

# Clients find theirs in the same package.
mkdir "$WORK/client"
cat >"$WORK/client/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(client LANGUAGES C)
find_package(Odeon REQUIRED)
add_executable(client $SOURCE/docs/examples/counter/client.c)
target_link_libraries(client PRIVATE Odeon::odeon)
END
library=$(dirname "$(find "$WORK/root" -name libodeon-test.a)")
cp -a "${LIBRARY%%.so*}".so* "$library"
cmake -S "$WORK/client" -B "$WORK/client/build" >"$WORK/log" 2>&1 &&
    cmake --build "$WORK/client/build" >>"$WORK/log" 2>&1
result $? "a client is built with the package, too"

# So is the rate limiter: plugin, client, test. Its front with a mistake fails in the race alone.
cp -r "$SOURCE/docs/examples/rate-limiter" "$WORK/rate"
cmake -S "$WORK/rate" -B "$WORK/rate/build" >"$WORK/log" 2>&1 &&
    cmake --build "$WORK/rate/build" >>"$WORK/log" 2>&1 &&
    ctest --test-dir "$WORK/rate/build" >>"$WORK/log" 2>&1
result $? "the rate limiter is built with the package, and passes its test"
! "$WORK/rate/build/rate_test_wrong" >"$WORK/log" 2>&1 &&
    grep -q '^not ok 9 - never_allows_more' "$WORK/log" && grep -q '^# 1 of 9' "$WORK/log"
result $? "its test finds a front that holds no call back"

# So is the work queue; its broken copies are looked at by check_broken.sh.
cp -r "$SOURCE/docs/examples/work-queue" "$WORK/queue"
cmake -S "$WORK/queue" -B "$WORK/queue/build" >"$WORK/log" 2>&1 &&
    cmake --build "$WORK/queue/build" >>"$WORK/log" 2>&1 &&
    ODEON_TEST_SCHEDULES=20 ctest --test-dir "$WORK/queue/build" >>"$WORK/log" 2>&1
result $? "the work queue is built with the package, and passes its test"

PKG_CONFIG_PATH=$library/pkgconfig pkg-config --libs libodeon-test >"$WORK/log" 2>&1
result $? "pkg-config knows the library"

# Where libodeon-test is not installed there is no test, and everything else is built all the same.
rm "$library/libodeon-test.a"
for example in seats rate-limiter work-queue; do
    cmake -S "$SOURCE/docs/examples/$example" -B "$WORK/untested-$example" >"$WORK/log" 2>&1 &&
        cmake --build "$WORK/untested-$example" >>"$WORK/log" 2>&1 &&
        ctest --test-dir "$WORK/untested-$example" >>"$WORK/log" 2>&1
    result $? "$example is built without libodeon-test"
done

# Seeds are the build's, and so are paths.
plain() { sed -E 's/SEED=[0-9]+/SEED=N/; s|# [^ ]*/([a-z_]+\.c:)|# \1|; s|[^ ]*build/|build/|'; }
plain <"$WORK/all" | sort -u >"$WORK/seen"
sed -n 's/^text //p' "$WORK/lines" | plain | sort -u | comm -23 - "$WORK/seen" >"$WORK/log"
[ ! -s "$WORK/log" ]
result $? "the page shows what they print"
grep -q '^Breakpoint 1, odeon_test_failed' "$WORK/all" || ! command -v gdb >/dev/null
result $? "a debugger stops where a test fails"
# the same failure, the same seed, from a process of its own
n=$(grep -c 'the last seat was sold 2 times' "$WORK/all")
seed=$(grep -oE 'ODEON_TEST_SEED=[0-9]+' "$WORK/all" | sort -u | wc -l)
[ "$n" -ge 2 ] && [ "$seed" = 1 ]
result $? "the seed repeats the failure"
echo "1..$COUNT"
[ $BROKEN = 0 ]
