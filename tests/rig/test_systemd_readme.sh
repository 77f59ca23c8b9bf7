#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_readme.sh - README's commands that need a service manager, and those that follow
# them, as they stand. Runs inside the rig, in the folder that run.sh has made, with README.md and
# the examples in it. (tests/bare.sh runs those that build and install.)
#
# In place of something else: `cmake --install` is a copy of what it has installed for run.sh; root
# needs no sudo; what goes on for ever is ended after 2 s.
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
echo "1..$COUNT"
[ $BROKEN = 0 ]
