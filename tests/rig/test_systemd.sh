#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd.sh - the installed service under systemd. Runs inside the rig, in the folder that
# run.sh has made.
#
# Prints TAP. Each check polls with a deadline where it has to wait; the order of the checks is the
# life of one service: install, start, work, lose the executor, work on, stop, start again.
set -uo pipefail
export LC_ALL=C

# shellcheck source=tests/rig/service.sh
. ./service.sh

says_something()
{
    local text
    text=$(systemctl show -P StatusText odeond)
    echo "StatusText=$text"
    [ -n "$text" ]
}

mode_is()
{
    echo "$1: $(stat -c '%a %F' "$1"), expected $2"
    [ "$(stat -c %a "$1")" = "$2" ]
}

owned_by_service()
{
    stat -c '%U %a' "$1"
    [ "$(stat -c '%U %a' "$1")" = "odeon 755" ]
}

run_as()
{
    ps -o user=,comm= -C odeond,odeon-executor
    [ "$(ps -o user= -C odeond,odeon-executor | sort -u)" = "$1" ]
}

refused_to_nobody()
{
    local text
    # For the right reason: a missing program would be no proof.
    ! text=$(setpriv --reuid=12345 --regid=12345 --clear-groups odeonctl status 2>&1) &&
        echo "$text" | grep 'may not use'
}

# References of echoes: the one that is new is that of the numbers which flow now. The other one's
# place in the list says nothing, as any actor that has ended leaves its own to the next one.
echoes()
{
    odeonctl actor list --type probe_echo | grep -oE '^ *[0-9]+(\.[0-9]+){2}' | tr -d ' ' | sort
}
stop_echo()
{
    odeonctl actor stop "$(comm -13 echoes.before <(echoes))"
}

dead_letters()
{
    odeonctl --json stats | grep -oE '"dead_letters": *[0-9]+' | head -n 1 | grep -oE '[0-9]+$'
}
dead_letters_are_above()
{
    local n
    n=$(dead_letters) && echo "$n, more than $1 are wanted" && [ "$n" -gt "$1" ]
}

# A text whose words are known, counted by the client.
count_words()
{
    local text
    text=$(mktemp)
    printf 'the quick brown fox jumps over the lazy dog the end\n%.0s' $(seq 2000) >"$text"
    ./odeon-wordcount "$text" >"$text.out" 2>&1 || { cat "$text.out"; return 1; }
    cat "$text.out"
    grep -E '(^|[^0-9])6000[^0-9]+the([^a-z]|$)|(^|[^a-z])the[^0-9a-z]+6000([^0-9]|$)' "$text.out"
}

# The most exposed that the service may be, in tenths; what each thing left open is good for stands
# in the unit.
exposed_little()
{
    systemd-analyze security --no-pager --threshold=20 odeond
}

# Without a program that speaks HTTP: bash can.
exporter_says()
{
    exec 4<>/dev/tcp/127.0.0.1/9464 || return 1
    printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&4
    grep -E "$1" <&4
}

install_tree
check "sysusers makes user and group" bash -c 'getent passwd odeon && getent group odeon-admin'
check "tmpfiles makes the folder" owned_by_service /run/odeon

check "systemctl knows the unit" systemctl cat odeond
check "the units are without mistakes" systemd-analyze verify odeond.service odeond.socket \
    odeon-exporter.service odeon-exporter.socket
check "its exposure is at most 2.0" exposed_little
check "the message catalogue is taken" journalctl --update-catalog
check "systemctl start" systemctl start odeond ||
    journalctl --no-pager -u odeond -n 30 | sed 's/^/# /'
check "it is active" systemctl is-active odeond
check "it tells when it is ready" property Type notify
check "status answers at once" odeonctl status
check "systemctl status says what it does" says_something
check "the control socket is the manager's, for everybody to knock at" mode_is $SOCKET 666
check "another user is refused by the service, with a reason" refused_to_nobody
check "the processes are not root's" run_as odeon
check "the statistics can be read by everybody" mode_is /run/odeon/stats 644
check "the exporter's exposure is at most 1.0" \
    systemd-analyze security --no-pager --threshold=10 odeon-exporter
check "the exporter is off" bash -c '! systemctl is-active odeon-exporter.socket'
check "its socket is started" systemctl start odeon-exporter.socket
check "it answers" eventually 30 exporter_says '^odeon_up 1$'
check "it runs as a user of its own" \
    [ "$(stat -c %U "/proc/$(systemctl show -P MainPID odeon-exporter)")" = odeon-exporter ]
check "it stops" systemctl stop odeon-exporter.socket odeon-exporter.service
check "a plugin is loaded" odeonctl plugin load "$PWD/wordcount.so"
check "the journal knows the plugin as a field" \
    journal_event "$(event PLUGIN_LOADED)" ODEON_PLUGIN=wordcount
check "and not as that of another" no_journal_event "$(event PLUGIN_LOADED)" ODEON_PLUGIN=other
check "a client posts and gets the right answer" count_words

check "the plugin of the numbers is loaded" odeonctl plugin load "$PWD/probe.so"
numbers_begin
check "numbers flow" numbers_flow
main=$(systemctl show -P MainPID odeond)
first=$(executor_pid)
check "status names the executor" [ -n "$first" ]
check "the executor is killed" kill -9 "${first:-0}"
check "another one comes up" eventually 30 executor_is_not "${first:-0}"
check "status answers again" eventually 30 odeonctl status
check "the service is still the same process" property MainPID "$main"
check "clients go on working" eventually 30 count_words

check "numbers go on, their client was not started again" numbers_flow
check "none is missing, none came twice" numbers_end
# That a loss would be seen: the actor that sends back is stopped while numbers are under way. Of a
# client that did not run meanwhile all may be back: it is not asked before one has been lost.
NUMBERS_ARGUMENTS=(256 2) # how many are under way, and how long what is missing is waited for
echoes >echoes.before
numbers_begin
check "numbers flow" numbers_flow
letters=$(dead_letters)
check "their echo is stopped" stop_echo
check "a number is lost" eventually 30 dead_letters_are_above "${letters:-0}"
check "the loss is seen" numbers_are_missing
check "the death of the executor is an event" journal_event "$(event EXECUTOR_DIED)"
check "the catalogue says what it means" \
    explained "$(event EXECUTOR_DIED)" "no message is lost, none is processed twice"

check "systemctl stop" systemctl stop odeond
check "it is inactive" property ActiveState inactive
check "it ended well" property Result success
check "with exit code 0" property ExecMainStatus 0
check "the journal says that it drained" journal_has 'drain'
check "the socket still is" [ -S $SOCKET ]
check "no process is left" bash -c '! pgrep -x "odeond|odeon-executor"'

check "it starts again" systemctl start odeond
check "and answers" odeonctl status
check "systemctl restart" systemctl restart odeond
check "it answers after that, too" odeonctl status
check "and stops" systemctl stop odeond
echo "1..$COUNT"
[ $BROKEN = 0 ]
