#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test_systemd_package.sh - the Debian packages: installed, upgraded, removed, purged. Runs inside
# the rig, in the folder that run.sh has made, with the packages of two builds in first/ and
# second/.
set -uo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
# shellcheck source=tests/rig/service.sh
. ./service.sh
CONFIGURATION=/etc/odeon/odeond.conf

# What the packages could leave. Backups of user databases, dpkg's own records and the like are not
# theirs.
list_files()
{
    find /etc /usr /var /run/odeon -xdev 2>/dev/null |
        grep -vE -e '^/var/(lib/dpkg|cache|log|tmp)/' \
            -e '^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-?$' \
            -e '^/etc/\.pwd\.lock$|^/etc/ld\.so\.cache' |
        sort
}
same_files()
{
    list_files >files.now
    diff files.before files.now
}

installed()
{
    # shellcheck disable=SC2016 # dpkg-query's own variables
    dpkg-query -W -f '${db:Status-Abbrev} ${Version}\n' "$1" | grep -x "ii  $2"
}

# The program that runs is the one that is installed.
runs_what_is_installed()
{
    local pid
    pid=$(systemctl show -P MainPID odeond) && cmp "/proc/$pid/exe" /usr/bin/odeond &&
        cmp "/proc/$(executor_pid)/exe" /usr/libexec/odeon/odeon-executor
}

rm -f /usr/sbin/policy-rc.d   # containers forbid packages to start services
ln -sf true /usr/bin/mandb    # an index of all manuals takes longer than all the rest
journalctl --update-catalog
list_files >files.before

check "the package is installed" dpkg -i first/odeon_*.deb
check "it has a user, without a home and a shell" \
    bash -c 'getent passwd odeon | grep "/usr/sbin/nologin$"'
check "the service runs" eventually 30 systemctl is-active odeond
check "it will be started with the machine" systemctl is-enabled odeond.service
check "so will its socket" systemctl is-enabled odeond.socket
check "it answers" odeonctl status
check "its manual is there" [ -s /usr/share/man/man8/odeond.8.gz ]
check "the catalogue knows its events" \
    bash -c "journalctl --list-catalog | grep $(event EXECUTOR_DIED)"
check "the package with the headers is installed" dpkg -i first/libodeon-dev_*.deb
check "a client compiles and links" \
    cc -o probe -include odeon/client.h -x c - -lodeon \
    <<<'int main(void) { return !odeon_error_text(); }'
check "and runs" ./probe
check "every file is as it was packed" dpkg --verify odeon

check "a plugin is loaded" odeonctl plugin load "$PWD/probe.so"
numbers_begin
check "numbers flow" numbers_flow
main=$(number_of MainPID)
echo '# mine' >>$CONFIGURATION
check "a build with another version is installed" \
    dpkg -i --force-confold --force-depends second/odeon_*.deb
check "it is the one that is there now" installed odeon 99.0
check "and the one that runs" eventually 30 runs_what_is_installed
check "another odeond, that is" main_is_not "$main"
check "numbers go on, their client was not started again" numbers_flow
check "the executor of the new build is killed" kill -9 "$(executor_pid)"
check "numbers go on" numbers_flow
check "the older build is installed again" dpkg -i --force-confold first/odeon_*.deb
check "numbers go on" numbers_flow
check "all numbers are back, each once, in order" numbers_end
check "the administrator's configuration is kept" grep -x '# mine' $CONFIGURATION

check "it is removed" dpkg -r libodeon-dev odeon
check "nothing of it runs" bash -c '! pgrep -x "odeond|odeon-executor"'
check "its socket is gone" [ ! -e $SOCKET ]
check "the configuration still is there" grep -x '# mine' $CONFIGURATION
check "it is purged" dpkg -P odeon
check "no file is left that was not there before" same_files
check "and no unit" bash -c '! systemctl list-unit-files --no-legend "odeon*" | grep .'
echo "1..$COUNT"
[ $BROKEN = 0 ]
