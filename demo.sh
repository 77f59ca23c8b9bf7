#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh - builds Odeon, starts it, counts the words of a real text with it, and checks the answer.
#
#   ./demo.sh [--keep]
#
#   --keep   leaves the service running at the end and says how to talk to it
#
# Installs the packages that are missing (as root or through sudo), builds in build/release, starts a service of its own in a
# private folder (nothing of a running one is touched), loads the plugin of docs/examples/wordcount and streams the text
# through it: a client posts it to the splitter through shared memory, the splitter sends words to counters on all workers,
# and their top words come back. Beside it, `odeonctl stats --watch` shows live what the scheduler does. Then the answer is
# compared with that of tr, sort and uniq.
#
# The text is what every Debian machine with git has, some 15 MB: the licences (/usr/share/common-licenses), the
# copyright files of the installed packages (/usr/share/doc/*/copyright), and Perl's library with its documentation
# (/usr/share/perl; git needs it).
set -uo pipefail
cd "$(dirname "$0")" || exit 1
# shellcheck source=tests/run/packages.sh
. tests/run/packages.sh
export LC_ALL=C

WORDS=15          # top words to compare
TEXT_MIN=4000000  # bytes
READY_S=20        # until the service must answer
KEEP='' WORK='' SERVICE='' WATCH='' BIN=build/release/bin

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
    [ -z "$WATCH" ] || stop_process "$WATCH" 1
    if [ -n "$SERVICE" ]; then stop_process "$SERVICE" 10; fi
    [ -z "$WORK" ] || rm -rf "$WORK"
    exit $status
}

# text_files: the names of the text's files, always in the same order.
text_files()
{
    find /usr/share/common-licenses -maxdepth 1 -type f
    find /usr/share/doc -mindepth 2 -maxdepth 2 -name copyright -type f
    find /usr/share/perl -name unicore -prune -o -type f \( -name '*.pm' -o -name '*.pod' -o -name '*.pl' \) -print
}

make_text()
{
    local bytes
    text_files 2>/dev/null | sort >"$WORK/files"
    xargs -d '\n' cat <"$WORK/files" >"$WORK/text" 2>/dev/null
    bytes=$(stat -c %s "$WORK/text")
    echo "$bytes bytes in $(wc -l <"$WORK/files") files:"
    echo "  $(grep -c ^/usr/share/common-licenses/ "$WORK/files") licences in /usr/share/common-licenses"
    echo "  $(grep -c ^/usr/share/doc/ "$WORK/files") copyright files in /usr/share/doc"
    echo "  $(grep -c ^/usr/share/perl/ "$WORK/files") files of Perl's library and documentation in /usr/share/perl"
    [ "$bytes" -ge $TEXT_MIN ] || die "the text is too short, $TEXT_MIN bytes are wanted: is the package perl-modules there?"
}

# counter NAME: the value of a statistics counter, over all workers.
counter()
{
    odeonctl --json stats | grep -oE "\"$1\": *[0-9]+" | head -n 1 | grep -oE '[0-9]+$'
}

start_service()
{
    local end=$((SECONDS + READY_S))
    odeond --foreground --runtime-dir "$WORK/run" --config /dev/null >"$WORK/odeond.log" 2>&1 &
    SERVICE=$!
    until odeonctl status >"$WORK/status" 2>&1; do
        kill -0 "$SERVICE" 2>/dev/null || die "the service has ended"
        [ "$SECONDS" -lt "$end" ] || die "the service does not answer after $READY_S s: $(cat "$WORK/status")"
        sleep 0.05
    done
    cat "$WORK/status"
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

say "Build"
if ! { cmake --preset release && cmake --build --preset release; } >"$WORK/build.log" 2>&1; then
    tail -n 40 "$WORK/build.log"
    die "the build failed"
fi
tail -n 1 "$WORK/build.log"
