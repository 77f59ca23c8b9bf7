#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench_stub.sh - all programs of a build that the scripts in bench/ start, as far as these can
# tell: what a script does when something fails is seen without a service, in seconds. It is the
# program by whose name it is called.
#
# STUB is a folder. STUB/PROGRAM, if it is there, is done instead: words of bash, which may read its
# arguments. STUB/pids gets the process of each odeond.
set -u
NAME=${0##*/}

# after WORD ARGUMENT...: the argument that follows the word.
after()
{
    local word=$1
    shift
    while [ $# -gt 1 ]; do
        [ "$1" != "$word" ] || echo "$2"
        shift
    done
}

stub_odeond()
{
    local folder
    [ "$1" != --version ] || return 0
    folder=$(after --runtime-dir "$@")
    mkdir -p "$folder"
    echo $$ >>"$STUB/pids"
    echo $$ >"$folder/pid"
    exec sleep 3600
}

# More of everything with each look, as the figures of a service that works.
stub_stats()
{
    local looks
    echo >>"$STUB/looks"
    looks=$(wc -l <"$STUB/looks")
    echo "{\"messages_sent\":4000,\"crossing_messages\":1000,\"gulps\":10,\"missed_gulps\":1," \
        "\"steals\":2,\"steal_attempts\":3,\"parks\":$((looks * 1000))," \
        "\"timers_armed\":$((looks * 1000000))}"
}

stub_odeonctl()
{
    local pid
    pid=$(cat "$(dirname "$(after --socket "$@")")/pid" 2>/dev/null) && kill -0 "$pid" || exit 1
    case " $* " in
    *' stats '*) stub_stats ;;
    *' show '*) echo 'steal-mode = keep' ;;
    *' status '*)
        echo "{\"state\":\"running\",\"workers\":2,\"stealing\":\"random\",\"executor_pid\":$pid}"
        ;;
    esac
}

# The figures of any benchmark, on either side.
stub_line()
{
    echo "bench=$1 cores=1 ns_per_msg=10 ns_per_message=10 ms=1 messages=1000 p50_ns=10 p90_ns=20" \
        "p99_ns=30 max_ns=40 peak_rss_kib=100 sends=2000 crossing=200 check=ok"
}

stub_ruler()
{
    case $1 in
    line) echo 'ruler=line rtt_ns=100' ;;
    ring) printf 'ruler=ring batch=%s mmsg_s=100\n' 1 32 ;;
    *) echo "ruler=$1 p50_ns=10 p90_ns=20 p99_ns=30 max_ns=40" ;;
    esac
}

if [ -e "$STUB/$NAME" ]; then
    # shellcheck disable=SC1090 # the test's
    . "$STUB/$NAME"
    exit
fi
case $NAME in
odeond) stub_odeond "$@" ;;
odeonctl) stub_odeonctl "$@" 2>/dev/null ;;
odeon-ruler) stub_ruler "$@" ;;
odeon-savina-caf) if [ "$1" = --names ]; then echo fib; else stub_line "$@"; fi ;;
*) stub_line "$@" ;;
esac
