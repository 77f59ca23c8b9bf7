#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_readme.sh - the commands of README.md and of docs/first-hour.md that need a service
# manager, and those that follow them, as they stand. Runs inside the rig, in the folder that run.sh
# has made, with both and the examples in it. (tests/bare.sh runs those that build and install.)
#
# In place of something else: `cmake --install` is a copy of what it has installed for run.sh; root
# needs no sudo; what goes on for ever is ended after 2 s. What first-hour.md says that its steps
# print is compared line by line, whatever their order, but for times and references; "..." stands
# for further lines.
set -uo pipefail
export LC_ALL=C USER=reader
# shellcheck source=tests/rig/service.sh
. ./service.sh

# run COMMAND: as README has it, but for the word sudo.
run()
{
    local command=${1//sudo /} expected=0 rc=0
    case $command in
    *'stats --watch'*) command="timeout 2 ${command%%#*}" expected=124 ;;
    esac
    case $command in
    './odeon-counter '*) eval "$command" | grep -x 42 ;; # what the numbers of the example come to
    *) eval "$command" || rc=$?; [ $rc = $expected ] ;;
    esac
}

# What the next machine prints, too, but for the order of what two programs print at once.
alike()
{
    sed -E -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/g' \
        -e 's/(^|[^0-9.])[0-9]+\.[0-9]+\.[0-9]+/\1REF/g' -e '/^ *$/d' "$1" | sort
}

# step NAME: a fence of first-hour.md, in the folder that the step before has left.
step()
{
    local rc=0
    sed -i 's/sudo //g' "steps/$1.sh"
    # shellcheck disable=SC2016 # the inner shell's
    bash -c 'cd "$(cat "$1/place")" && . "$1/$2.sh"
        rc=$?
        pwd >"$1/place"
        exit $rc' step "$PWD/steps" "$1" >"steps/$1.printed" 2>&1 || rc=$?
    cat "steps/$1.printed"
    [ $rc = 0 ] || return $rc
    [ -e "steps/$1.out" ] || return 0
    alike "steps/$1.printed" >printed.txt
    grep -vx '\.\.\.' "steps/$1.out" >expected.txt
    alike expected.txt >wanted.txt
    comm -13 printed.txt wanted.txt | sed 's/^/not printed: /' | tee missing.txt
    comm -23 printed.txt wanted.txt | sed 's/^/not on the page: /' >more.txt
    grep -qx '\.\.\.' "steps/$1.out" || tee -a missing.txt <more.txt
    [ ! -s missing.txt ]
}

first_hour()
{
    local name begun='' wait=()
    mkdir steps && awk -v dir=steps -f steps.awk docs/first-hour.md && pwd >steps/place
    for name in steps/*.sh; do
        name=$(basename "$name" .sh)
        if grep -q systemd-sysusers "steps/$name.sh"; then begun=1; fi
        # what is looked for in the journal may still be on its way there
        wait=()
        if grep -q journalctl "steps/$name.sh"; then wait=(eventually 30); fi
        [ -z "$begun" ] ||
            check "first hour, step $name: $(tail -n 1 "steps/$name.sh")" "${wait[@]}" step "$name"
    done
    check "the first hour has steps with a service manager" [ -n "$begun" ]
}

# Without sudo, by a session that has begun after the group was joined.
as_reader()
{
    setpriv --reuid reader --regid reader --init-groups "$@"
}

cp -a tree/. / && ldconfig || exit 1
useradd -m reader
mapfile -t commands < <(awk -f commands.awk README.md)
first=
for command in "${commands[@]}"; do
    case $command in *systemd-sysusers*) first=1 ;; esac
    [ -z "$first" ] || check "${command%%  *}" run "$command"
done
check "README has commands for a service manager" [ -n "$first" ]
check "the service is what was installed below /usr/local" \
    bash -c 'cmp /proc/$(systemctl show -P MainPID odeond)/exe /usr/local/bin/odeond'
check "it will be started with the machine" systemctl is-enabled odeond.service
check "a member of odeon-admin needs no sudo" as_reader odeonctl actor list
check "the exposure is what README says" \
    bash -c 'systemd-analyze security --no-pager odeond | grep -F "$(sed -nE \
        "s/.*systemd-analyze security odeond\`: ([0-9.]+)\).*/\1/p" README.md)"'
check "systemctl stop odeond" systemctl stop odeond
check "drains, and says what was not received" journal_has 'drained'
first_hour
echo "1..$COUNT"
[ $BROKEN = 0 ]
