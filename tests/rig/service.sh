# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# service.sh - what the scripts that run in the rig have in common: the installed service, its
# journal, numbers that flow through it. Sourced, in the folder that run.sh has made.
# shellcheck source=tests/rig/tap.sh
. ./tap.sh
# shellcheck disable=SC2034 # used by those that source this
SOCKET=/run/odeon/control.sock
exec 3>&1 # figures that are to be seen also when nothing has failed

install_tree()
{
    cp -a tree/. / || exit 1
    ldconfig
    systemd-sysusers
    systemd-tmpfiles --create 2>/dev/null
    journalctl --update-catalog
    systemctl daemon-reload
}

# drop_in TEXT...: lines of the unit that are otherwise in this test.
drop_in()
{
    mkdir -p /etc/systemd/system/odeond.service.d
    printf '%s\n' '[Service]' "$@" >>/etc/systemd/system/odeond.service.d/test.conf
    systemctl daemon-reload
}

# property NAME EXPECTED: of the unit.
property()
{
    local value
    value=$(systemctl show -P "$1" odeond)
    echo "$1=$value, expected $2"
    [ "$value" = "$2" ]
}

executor_pid()
{
    odeonctl --json status | grep -oE '"executor_pid": *[0-9]+' | grep -oE '[0-9]+$'
}

# The executor is another process than $1.
executor_is_not()
{
    local pid
    pid=$(executor_pid) && [ -n "$pid" ] && [ "$pid" != 0 ] && [ "$pid" != "$1" ]
}

# What is looked for in the journal may still be on its way there.
journal_has()
{
    eventually 30 journal_has_now "$@"
}
journal_has_now()
{
    journalctl --sync
    journalctl --no-pager -u odeond -o cat | grep -iE "$1"
}

# journal_event ID FIELD...: an event with this id and, if given, fields that match.
journal_event()
{
    eventually 30 journal_event_now "$@"
}
journal_event_now()
{
    journalctl --sync
    [ -n "$(journalctl --no-pager -u odeond -o cat "MESSAGE_ID=$1" "${@:2}")" ]
}

no_journal_event()
{
    ! journal_event_now "$@"
}

# journal_line FIELD TEXT: a line with both.
journal_line()
{
    eventually 30 journal_line_now "$@"
}
journal_line_now()
{
    journalctl --sync
    journalctl --no-pager -u odeond -o cat "$1" | grep -F -e "$2"
}

# The id of an event, by its name in the header.
event()
{
    sed -nE "s/^#define CATALOGUE_$1 \"MESSAGE_ID=([0-9a-f]+)\"$/\1/p" events.h
}

explained()
{
    journalctl --sync
    journalctl --no-pager -x -u odeond "MESSAGE_ID=$1" | grep -F -e "$2"
}

# number_of PROPERTY: of the unit.
number_of()
{
    systemctl show -P "$1" odeond
}
is_above()
{
    local value
    value=$(number_of "$1")
    echo "$1=$value, more than $2 is wanted"
    [ "$value" -gt "$2" ]
}

is_below()
{
    local value
    value=$(number_of "$1")
    echo "$1=$value, less than $2 is wanted"
    [ "$value" -lt "$2" ]
}

# Another odeond than process $1 runs.
main_is_not()
{
    local pid
    pid=$(number_of MainPID)
    echo "MainPID=$pid, was $1"
    [ "$pid" != 0 ] && [ "$pid" != "$1" ]
}

# setting_is KEY VALUE: of the executor, now.
setting_is()
{
    odeonctl executor show | grep -E "^$1 +$2( |\$)"
}

NUMBERS_ARGUMENTS=()
# Numbers that flow: begin; do they come back; end with the books. The client is started once.
numbers_begin()
{
    rm -f progress numbers.*
    {
        ./rig-numbers progress "${NUMBERS_ARGUMENTS[@]}" >numbers.out 2>&1 &
        echo $! >numbers.pid
        wait $!
        echo $? >numbers.status
    } &
}
numbers_received()
{
    local received
    received=$(cut -d ' ' -f 2 progress) && [ -n "$received" ] && echo $((10#$received))
}
numbers_are_above()
{
    local received
    [ ! -s numbers.status ] || { cat numbers.out; return 1; }
    received=$(numbers_received) || return 1
    echo "$received received, more than $1 are wanted"
    [ "$received" -gt "$1" ]
}
# Further ones come back.
numbers_flow()
{
    local before
    eventually 30 numbers_are_above 0 || return 1
    before=$(numbers_received)
    eventually 30 numbers_are_above $((before + 1000))
}
# As a proof that numbers_end() can fail.
numbers_are_missing()
{
    kill -TERM "$(cat numbers.pid)"
    eventually 60 [ -s numbers.status ]
    cat numbers.out
    [ "$(cat numbers.status)" = 1 ] && ! grep 'missing 0,' numbers.out
}
# All are back, each once, in order.
numbers_end()
{
    kill -TERM "$(cat numbers.pid)"
    eventually 60 [ -s numbers.status ]
    cat numbers.out
    sed 's/^/# numbers: /' numbers.out >&3
    [ "$(cat numbers.status)" = 0 ]
}
