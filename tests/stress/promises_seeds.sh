#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The proof of the torture of promises: executors with one deliberate bug each
# (tests/seeded/seeds.h) must be found broken, by the history, and by its name.
#
#   promises_seeds.sh BUILD_DIR [SEED=NAME...]
#
# Each is given 24 chances of 40 kills, of which most need one or two, and watch_no_look six once.
set -u
build=$(realpath -e "$1") || exit 2
shift
[ $# -gt 0 ] || set -- timer_stays=doubled timer_gone=lost timer_behind=doubled \
    cancel_gone=revoked ask_stays=doubled outcome_gone=lost watch_no_look=lost \
    member_gone=lost stash_newest=reordered stash_gone=lost phase_no_undo=misphased \
    link_early=early
dir=$(mktemp -d)
# shellcheck disable=SC2317 # reached through the trap
stop()
{
    # shellcheck disable=SC2046 # a word each
    kill $(jobs -p) 2>/dev/null
    wait
    rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

# seek SEED NAME: until it is found. The log of its last try is a file of its own.
seek()
{
    local seed=$1 name=$2 blind=(--blind) began rc log=$dir/$1.log
    case $seed in
        watch_no_look | member_gone | link_early) blind=() ;; # these are seen by who is told
        *) ;; # others break monitors, too, and then nothing goes on until all patience is over
    esac
    for try in {1..24}; do
        began=$SECONDS
        ODEON_SEED=$seed timeout 1200 "$build/tests/stress/promises" --kills 40 --patience 20 \
            "${blind[@]}" --executor "$build/tests/stress/executor-seeded" >"$log" 2>/dev/null
        rc=$?
        echo "$seed, try $try: exit $rc after $((SECONDS - began)) s"
        if [ $rc = 1 ] && grep -q "^# history=WRONG .* $name=[1-9]" "$log"; then
            echo "ok - $seed is found at try $try:$(grep -m1 -o " $name=[1-9].*" "$log")"
            touch "$dir/$seed.found"
            return
        elif [ $rc -gt 1 ]; then
            echo "# $seed: the torture could not run (exit $rc)"
            cat "$log"
        fi
    done
    echo "not ok - $seed survived"
    cat "$log"
}

# Who has lost something waits for it for all of its patience, and does nothing meanwhile: so four
# of them at a time.
for pair in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge 4 ]; do wait -n; done
    seek "${pair%=*}" "${pair#*=}" >"$dir/${pair%=*}.said" &
done
wait
survived=0
for pair in "$@"; do
    cat "$dir/${pair%=*}.said"
    [ -e "$dir/${pair%=*}.found" ] || survived=$((survived + 1))
done
exit $((survived != 0))
