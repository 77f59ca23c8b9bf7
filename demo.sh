#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh - builds Odeon, starts it, counts the words of a real text with it, and checks the answer.
#
#   ./demo.sh [--keep]
#
#   --keep   leaves the service running at the end and says how to talk to it
#
# Installs the packages that are missing (as root or through sudo), builds in build/install, starts
# a service of its own in a private folder (a running one is not touched), loads the plugin of
# docs/examples/wordcount and streams the text through it: a client posts it in chunks through
# shared memory to splitters, these send words to counters on all workers, and the most frequent
# words come back. First once, compared with what tr, sort and uniq say; then many times in a row,
# so that there is something to see, with `odeonctl stats --watch` beside it. At the end an actor of
# docs/examples/counter is asked, and answers.
#
# The text is what every Debian machine with git has, some 15 MB: the licences
# (/usr/share/common-licenses), the copyright files of the installed packages
# (/usr/share/doc/*/copyright), and Perl's library with its documentation (/usr/share/perl; git
# needs it).
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh
export LC_ALL=C

TOP=15           # words to show and to compare
TEXT_MIN=4000000 # bytes that the text must have
PATIENCE_S=300   # for what takes a moment: a machine that is busy is no fault (tests/run)
STOP_S=10        # for the service to end in when something has failed
LONG_S=5         # about how long the second run takes
KEEP='' WORK='' SERVICE='' WATCH=''
BUILD=$PWD/build/install
EXAMPLE=$BUILD/docs/examples/wordcount
COUNTER=$BUILD/docs/examples/counter/counter.so

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' demo.sh
    exit "$1"
}
say()
{
    printf '\n== %s\n' "$*"
}
die()
{
    echo "demo.sh: $*" >&2
    if [ -n "$WORK" ] && [ -s "$WORK/odeond.log" ]; then
        echo "-- the end of the service's log:" >&2
        tail -n 20 "$WORK/odeond.log" >&2
    fi
    exit 1
}

# stop_process PID SECONDS: SIGTERM, then patience, then SIGKILL. Returns its exit status.
stop_process()
{
    local pid=$1 end=$((SECONDS + $2))
    kill -TERM "$pid" 2>/dev/null
    while kill -0 "$pid" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do
        sleep 0.05
    done
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

cleanup()
{
    local status=$?
    trap '' INT TERM HUP
    if [ -n "$WATCH" ]; then stop_process "$WATCH" 1; fi
    if [ -n "$SERVICE" ]; then stop_process "$SERVICE" $STOP_S; fi
    if [ -n "$WORK" ]; then rm -rf "$WORK"; fi
    exit $status
}

# text_files: the names of the text's files, always in the same order.
text_files()
{
    find /usr/share/common-licenses -maxdepth 1 -type f
    find /usr/share/doc -mindepth 2 -maxdepth 2 -name copyright -type f
    find /usr/share/perl -name unicore -prune -o -type f \( \
        -name '*.pm' -o -name '*.pod' -o -name '*.pl' \) -print
}

make_text()
{
    local bytes
    text_files 2>/dev/null | sort >"$WORK/files"
    xargs -d '\n' cat <"$WORK/files" >"$WORK/text" 2>/dev/null
    bytes=$(stat -c %s "$WORK/text")
    echo "$bytes bytes in $(wc -l <"$WORK/files") files:"
    echo "  $(grep -c ^/usr/share/common-licenses/ "$WORK/files")" \
        "licences in /usr/share/common-licenses"
    echo "  $(grep -c ^/usr/share/doc/ "$WORK/files") copyright files in /usr/share/doc"
    echo "  $(grep -c ^/usr/share/perl/ "$WORK/files")" \
        "files of Perl's library and documentation in /usr/share/perl"
    [ "$bytes" -ge $TEXT_MIN ] ||
        die "the text is too short, $TEXT_MIN bytes are wanted: is the package perl-modules there?"
}

build()
{
    if ! { cmake --preset install &&
        cmake --build --preset install --target odeond odeon-executor odeonctl \
            odeon-wordcount wordcount-plugin counter-plugin; } \
        >"$WORK/build.log" 2>&1; then
        tail -n 40 "$WORK/build.log"
        die "the build failed"
    fi
    echo "built in build/install, in $SECONDS s with all before"
}

start_service()
{
    local end=$((SECONDS + PATIENCE_S)) apart=()
    [ -z "$KEEP" ] || apart=(setsid) # the end of this terminal is not to be its end
    # The machine's configuration is not this one's.
    echo "drain-timeout-ms = $((PATIENCE_S * 1000))" >"$WORK/odeond.conf"
    "${apart[@]}" odeond --foreground --runtime-dir "$WORK/run" \
        --config "$WORK/odeond.conf" >"$WORK/odeond.log" 2>&1 &
    SERVICE=$!
    until odeonctl status >"$WORK/status" 2>&1; do
        kill -0 "$SERVICE" 2>/dev/null || die "the service has ended"
        [ "$SECONDS" -lt "$end" ] ||
            die "the service does not answer after $PATIENCE_S s: $(cat "$WORK/status")"
        sleep 0.05
    done
    cat "$WORK/status"
}

# coreutils: "count word" of the most frequent words of the text, as uniq -c prints them.
coreutils()
{
    # shellcheck disable=SC2018,SC2019 # LC_ALL is C
    tr -cs 'A-Za-z' '\n' <"$WORK/text" | tr A-Z a-z | grep -v '^$' | sort | uniq -c |
        sort -k1,1nr -k2,2 | head -n $TOP
}

# compare FILE TIMES: the counts in FILE are those of coreutils, times TIMES.
compare()
{
    awk -v times="$2" '{ print $1 * times, $2 }' "$WORK/coreutils" >"$WORK/expected"
    awk '{ print $1, $2 }' "$1" >"$WORK/counted"
    if ! cmp -s "$WORK/expected" "$WORK/counted"; then
        diff "$WORK/expected" "$WORK/counted"
        die "the answer is not that of coreutils"
    fi
}

count_once()
{
    local started=${EPOCHREALTIME/[.,]/}
    odeon-wordcount --plugin "$EXAMPLE/wordcount.so" --top $TOP "$WORK/text" >"$WORK/once" ||
        die "the client failed"
    ONCE_MS=$(((${EPOCHREALTIME/[.,]/} - started) / 1000 + 1))
    cat "$WORK/once"
    started=${EPOCHREALTIME/[.,]/}
    coreutils >"$WORK/coreutils"
    echo "tr, sort and uniq take $(((${EPOCHREALTIME/[.,]/} - started) / 1000)) ms for it," \
        "this took $ONCE_MS ms"
    [ "$(wc -l <"$WORK/coreutils")" = $TOP ] || die "coreutils gave no answer to compare with"
    compare "$WORK/once" 1
    echo "top words: equal to coreutils in all $TOP lines"
}

count_often()
{
    local times=$((LONG_S * 1000 / ONCE_MS)) i
    if [ $times -lt 2 ]; then times=2; fi
    if [ $times -gt 200 ]; then times=200; fi
    echo "the text $times times in a row; the scheduler's figures are per second:"
    odeonctl stats --watch 0.5 &
    WATCH=$!
    for ((i = 0; i < times; i++)); do
        cat "$WORK/text"
        echo # no word goes over the seam
    done | odeon-wordcount --plugin "$EXAMPLE/wordcount.so" --top $TOP - >"$WORK/often" ||
        die "the client failed"
    stop_process "$WATCH" 1
    WATCH=''
    compare "$WORK/often" $times
    echo "top words: equal to coreutils' counts times $times in all $TOP lines"
}

# asked COMMAND...: shows it with what it prints.
asked()
{
    echo "\$ $*"
    "$@" || die "odeonctl: exit status $?"
}

ask_an_actor()
{
    odeonctl plugin load "$COUNTER" || die "the plugin was refused"
    asked odeonctl actor spawn counter --name total
    asked odeonctl actor send total counter_add amount=3 weight=2
    asked odeonctl actor call total counter_get --timeout $PATIENCE_S | tee "$WORK/answer"
    grep -qx 'counter_value total=6' "$WORK/answer" || die "the answer is another one"
}

show_statistics()
{
    local gulps
    odeonctl stats | head -n 25
    gulps=$(odeonctl --json stats | grep -oE '"gulps": *[0-9]+' | grep -oE '[0-9]+$')
    [ "${gulps:-0}" -gt 0 ] || die "the statistics know of no gulps"
    echo "gulps: $gulps"
}

stop_service()
{
    local rc=0
    stop_process "$SERVICE" $PATIENCE_S || rc=$?
    SERVICE=''
    tail -n 3 "$WORK/odeond.log"
    [ $rc = 0 ] || die "the service ended with status $rc"
    grep -q 'drained: every message' "$WORK/odeond.log" || die "the service did not drain"
    [ ! -e "$ODEON_SOCKET" ] || die "the service has left its socket"
}

case $#:${1-} in
0:) ;;
1:--keep) KEEP=1 ;;
1:-h | 1:--help) usage 0 ;;
*) usage 2 >&2 ;;
esac

say "Packages"
packages_ensure "${PACKAGES_BUILD[@]}" perl || die "packages are missing"
echo "all there"

trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
WORK=$(mktemp -d /tmp/odeon-demo.XXXXXX) || die "no temporary folder"
export ODEON_SOCKET=$WORK/run/control.sock ODEON_TIMEOUT_MS=$((PATIENCE_S * 1000))
PATH=$BUILD/bin:$EXAMPLE:$PATH

say "Build"
build
say "The text"
make_text
say "The service"
start_service
odeonctl plugin load "$EXAMPLE/wordcount.so" || die "the plugin was refused"
say "Counting its words"
count_once
say "Counting them again and again"
count_often
say "What the scheduler has done"
show_statistics
say "Asking an actor"
ask_an_actor

if [ -n "$KEEP" ]; then
    say "The service goes on, process $SERVICE"
    trap - EXIT
    cat <<END
    export ODEON_SOCKET=$ODEON_SOCKET
    export PATH=$BUILD/bin:$EXAMPLE:\$PATH
    odeonctl status                 what it is; odeonctl help for more
    odeonctl stats --watch 1        what it does
    odeon-wordcount $WORK/text
    kill $SERVICE; rm -r $WORK      ends it
END
    exit 0
fi
say "The end"
stop_service
echo "done in $SECONDS s"
