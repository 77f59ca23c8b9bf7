#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bare_inside.sh - runs inside the root that tests/bare.sh has made: clones the tree and runs the
# commands of its documents.
#
#   inside.sh root|user COUNT
#
# COUNT checks were printed before. A command is what commands.awk finds in a document. What is put
# in its place, and why, is printed above it; everything that is ever put in place of something
# stands in substitute().
#
# How many commands of README it takes, the clone among them, until what README shows as an actor's
# answer is on the screen, and how many seconds, is printed; that it comes at all is a check.
set -uo pipefail
WHO=$1 COUNT=$2 BROKEN=0
TAKEN=0 BEGUN='' ANSWER='' ANSWERED='' # of README: commands, when the first began, its answer
HOMES=/home # where useradd makes them
export LC_ALL=C
STAND_IN='' REFERENCE='' LOADED='' PLACE=/bare/place
case $WHO in
root)
    NAME=root HOUSE=$(getent passwd root | cut -d: -f6)/odeon
    LOOK=/usr/local/sbin:/usr/sbin:/sbin:
    ;;
user) NAME=tester HOUSE="$HOMES/tester/my dir ü/odeon" LOOK='' ;;
*) exit 2 ;;
esac
LOOK=$LOOK/usr/local/bin:/usr/bin:/bin

note()
{
    printf '#   %s\n' "$*"
}

# as_who COMMAND: as whoever sits at the machine, in the folder that the last command left.
as_who()
{
    # shellcheck disable=SC2016 # the inner shell's variables
    setpriv --reuid "$NAME" --regid "$NAME" --init-groups env -i HOME="$(dirname "$HOUSE")" \
        USER="$NAME" LOGNAME="$NAME" PATH="$LOOK" TERM=dumb bash -c '
        cd "$(cat "$1")" || exit 2
        eval "$2"
        rc=$?
        pwd >"$1"
        exit $rc' bash $PLACE "$1"
}

# run COMMAND [STATUS]: one check; STATUS is what it ends with when it is ended (default 0).
run()
{
    local command=$1 expected=${2-0} rc=0 started=$SECONDS
    as_who "$command" >/bare/log 2>&1 </dev/null || rc=$?
    COUNT=$((COUNT + 1))
    if [ $rc = "$expected" ]; then
        echo "ok $COUNT - $command # $((SECONDS - started)) s"
        return 0
    fi
    BROKEN=$((BROKEN + 1))
    echo "not ok $COUNT - $command # $((SECONDS - started)) s"
    tail -n 30 /bare/log | sed 's/^/#   | /'
    note "exit status $rc"
    return 1
}

# The service without a service manager: what is installed runs as its user.
stand_in_stop()
{
    [ -n "$STAND_IN" ] || return 0
    kill "$STAND_IN"
    wait "$STAND_IN"
    STAND_IN=''
}
stand_in_start()
{
    local i
    stand_in_stop
    LOADED=''
    install -d -o odeon -g odeon /run/odeon
    PATH=/usr/local/bin:/usr/bin setpriv --reuid odeon --regid odeon --init-groups \
        odeond --foreground >/bare/odeond.log 2>&1 </dev/null &
    STAND_IN=$!
    for ((i = 0; i < 200; i++)); do
        PATH=/usr/local/bin:/usr/bin odeonctl status >/dev/null 2>&1 && return
        sleep 0.1
    done
    note "the service that stands in does not answer:"
    tail -n 20 /bare/odeond.log | sed 's/^/#   | /'
}

# substitute COMMAND: runs it, or what is possible of it here.
substitute()
{
    local command=$1 expected=0
    case $command in
    './test.sh'*)
        if [ -z "$BARE_TESTS" ]; then
            note "left out: $command (--tests runs it)"
            return
        fi
        ;;
    *'journalctl -u'*)
        note "left to tests/rig: $command"
        return
        ;;
    *'systemctl '*)
        note "left to tests/rig: $command"
        note "instead of it, the service is started by hand"
        stand_in_start
        return
        ;;
    'cmake --preset install'*)
        note "\"Or without them\": the packages are purged first"
        stand_in_stop
        dpkg --purge libodeon-dev odeon >/bare/log 2>&1
        ;;
    *'stats --watch'*)
        note "ended after 3 s: $command"
        command="timeout 3 ${command%%#*}" expected=124
        ;;
    *'plugin load'*counter.so)
        if [ -n "$LOADED" ]; then
            note "README has loaded it: refused, as docs/plugins.md says"
            expected=1
        fi
        ;;
    *REFERENCE*)
        note "REFERENCE is what was printed, $REFERENCE"
        command=${command//REFERENCE/$REFERENCE}
        ;;
    esac
    if [ "$WHO" = root ] && [[ $command = *sudo\ * ]]; then
        command=${command//sudo /}
        [ -n "${SAID_SUDO-}" ] || note "root has no sudo: the word is left out"
        SAID_SUDO=1
    fi
    run "$command" $expected || return 1
    case $command in
    *'apt install ./'*)
        note "nothing starts services here: this one is started by hand"
        stand_in_start
        ;;
    *'plugin unload counter'*) LOADED='' ;;
    *'plugin load'*counter.so) LOADED=1 ;;
    *'actor spawn'*) REFERENCE=$(grep -oE '[0-9]+(\.[0-9]+){2}' /bare/log | head -n 1) ;;
    esac
}

# since_clone WHAT: how much it was until now, for people; what a machine needs is not judged.
since_clone()
{
    echo "# README: $TAKEN commands, $((SECONDS - BEGUN)) seconds from the clone to $1," \
        "on $(nproc) processors"
}

# look_for_answer: whether the last command has printed what README shows as the answer.
look_for_answer()
{
    [ -n "$ANSWER" ] && [ -z "$ANSWERED" ] && grep -qxF -- "$ANSWER" /bare/log || return 0
    ANSWERED=1
    since_clone "the first answer"
}

read_document()
{
    local command
    echo "# -- $1"
    echo "$HOUSE" >$PLACE
    while IFS= read -r command <&4; do
        : >/bare/log
        substitute "$command" || { note "what follows depends on it"; return; }
        [ "$1" = README.md ] || continue
        TAKEN=$((TAKEN + 1))
        look_for_answer
    done 4< <(awk -f /bare/commands.awk "$HOUSE/$1")
}

read_readme()
{
    ANSWER=$(sed -n '/^\$ odeonctl actor call /{n;p;q}' "$HOUSE/README.md")
    read_document README.md
    [ $BROKEN = 0 ] || return
    since_clone "its end"
    run "[ -n '$ANSWERED' ] # $ANSWER was on the screen"
}

apt-get -q update >/bare/log 2>&1 || { cat /bare/log; exit 2; }
if [ "$WHO" = user ]; then
    apt-get -q install --no-install-recommends sudo >/bare/log 2>&1 || { cat /bare/log; exit 2; }
    useradd -m -s /bin/bash tester
    echo 'tester ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/tester
    install -d -o tester -g tester "$(dirname "$HOUSE")"
    note "sudo asks for no password"
fi
touch $PLACE
chown "$NAME" $PLACE
dirname "$HOUSE" >$PLACE
note "apt is told to ask nothing; the clone's address is a path"
chown -R "$NAME" /bare/tree.git
BEGUN=$SECONDS TAKEN=1
run "git clone -q /bare/tree.git '$HOUSE'" || exit 1
read_readme
[ $BROKEN != 0 ] || read_document docs/plugins.md # on the service that README has left
[ $BROKEN != 0 ] || { stand_in_start; read_document docs/first-hour.md; }
stand_in_stop
[ $BROKEN = 0 ]
