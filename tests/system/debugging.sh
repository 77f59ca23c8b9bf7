#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# debugging.sh ROOT ODEOND
# The commands of docs/debugging-plugins.md, as they stand there: one after the other, in a folder
# with the counter. Those of a tool that is not installed, or may not be used here, are left out.
set -u
root=$(cd "$1" && pwd) bin=$(cd "$(dirname "$2")" && pwd)
dir=$(mktemp -d) || exit 1
shell='' failed=0
trap '[ -z "$shell" ] || kill -- "-$shell" 2>/dev/null; rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/work"
cp "$root/docs/examples/counter/counter.c" "$root/docs/examples/counter/counter.h" "$dir/work"
printf '#!/bin/sh\necho -I%s/client-lib/include\n' "$root" >"$dir/bin/pkg-config"
chmod +x "$dir/bin/pkg-config"
PATH=$dir/bin:$bin:$PATH
export PATH
export ODEON_TIMEOUT_MS=300000
awk -f "$root/tests/package/commands.awk" "$root/docs/debugging-plugins.md" >"$dir/commands"

# without TOOL CHECK...: its commands are left out where CHECK fails.
without()
{
    tool=$1
    shift
    if ! "$@" >/dev/null 2>&1; then
        echo "# $tool cannot be used here"
        grep -v "$tool" "$dir/commands" >"$dir/fewer"
        mv "$dir/fewer" "$dir/commands"
        eval "no_$tool=1"
    fi
}

# expect TEXT FILE
expect()
{
    if grep -qF -- "$1" "$2"; then
        echo "ok   $1"
    else
        echo "FAIL nothing says '$1'"
        failed=1
    fi
}

no_gdb='' no_valgrind=''
sleep 600 &
sleeper=$!
without gdb gdb -p "$sleeper" -batch -ex 'call (int)getpid()'
kill "$sleeper"
without valgrind valgrind --version
[ -z "$no_valgrind" ] || sed -i '/^executor=/,$d' "$dir/commands"
[ "$(grep -c . "$dir/commands")" -ge 6 ] || { echo "FAIL the page has no commands"; failed=1; }
# a session of its own, whose processes end with this test
(cd "$dir/work" && exec setsid sh -eux "$dir/commands") >"$dir/log" 2>&1 </dev/null &
shell=$!
wait "$shell" || { echo "FAIL the commands end with $?"; failed=1; }
expect "counter.so: nothing would be refused, and nothing worries" "$dir/log"
expect "plugins are loaded where they lie" "$dir/log"
if [ -z "$no_gdb" ]; then
    expect 'worker/0' "$dir/log"
    expect 'of "counter.c" starts at address' "$dir/log"
    expect 'hit Breakpoint 1' "$dir/log"
    expect '{total = 0}' "$dir/log"
fi
[ -n "$no_valgrind" ] || expect 'Memcheck' "$dir/work/valgrind.log"
[ $failed -eq 0 ] || cat "$dir/log"
exit $failed
