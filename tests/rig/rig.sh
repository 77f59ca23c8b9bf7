#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rig.sh - runs a command as root under a real, throw-away systemd, on a machine whose own PID 1 may
# be anything.
#
#   rig.sh [options] -- COMMAND [ARGUMENT...]
#
#   --dir DIR          seen copy-on-write at /rig/src inside; the command starts there
#   --out DIR          directory of this machine, mounted read-write at /rig/out (reports, cores);
#                      made if missing
#   --journal FILE     the whole journal is written there at the end
#   --root TREE        boots this tree (another release's, say) instead of the machine's own root
#                      file system
#   --env NAME=VALUE   a variable for the command (repeatable)
#   --timeout S        for the command (default 600)
#   --boot-timeout S   until systemd says that it runs (default 30)
#   --tmpfs SIZE       ceiling of what may be written inside (default 4g; RAM)
#   -q                 no line about how long each part took
#
# Exit status: the command's; 124: it ran into --timeout; 77: the rig is not possible here (the
# reason is printed); 125: the rig itself failed.
#
# How: systemd is PID 1 of fresh pid, mount, network, ipc, uts and cgroup namespaces. Its root is an
# overlay of this machine's root and a tmpfs; /run, /tmp and /dev are its own; /sys and /proc/sys
# (but for net) are read-only; the network is a loopback device; capabilities that reach the whole
# kernel (time, modules, raw I/O, reboot, audit) are gone for good. So nothing that the command does
# reaches the machine, except what it writes to --out. Booting takes about half a second.
#
# What to know when a test behaves oddly in here (systemd 252):
#  - the descriptor store outlives kill -9, the watchdog, restart and daemon-reexec; `systemctl
#  stop` empties it;
#  - where the machine's cgroup controllers are of version 1, MemoryMax, TasksMax, CPUQuota,
#    AllowedCPUs and their kin are silently without effect; LimitNOFILE ends at 20000 and
#    LimitMEMLOCK at 8 MiB;
#  - RestrictFileSystems, SocketBindDeny and RestrictNetworkInterfaces never have an effect on
#  Debian 12 (built without BPF);
#  - a write to memory made executable fails with EPERM on 252, with EACCES on 257
#  (MemoryDenyWriteExecute);
#  - LeakSanitizer fails at exit under a hardened unit: test without leak detection;
#  - a run that was killed leaves a cgroup and a folder in /tmp, which the next run removes.
set -euo pipefail

die()
{
    echo "rig.sh: $*" >&2
    exit 125
}
impossible()
{
    echo "rig.sh: skipped: $*"
    exit 77
}
now_ms()
{
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

# ------------------------------------------------------------------ inside: PID 1 until systemd
# takes over

# The machine's own units (databases, timers, terminals), and what has no sense without hardware.
UNITS_OFF=(getty.target systemd-logind.service systemd-journald-audit.socket
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-udevd.service
    systemd-udev-trigger.service systemd-sysctl.service systemd-modules-load.service
    systemd-binfmt.service systemd-hwdb-update.service systemd-journal-catalog-update.service
    systemd-update-done.service ldconfig.service systemd-random-seed.service
    systemd-networkd.service systemd-resolved.service systemd-timesyncd.service
    systemd-sysusers.service systemd-firstboot.service systemd-pcrphase.service
    systemd-pcrphase-sysinit.service dev-hugepages.mount sys-kernel-debug.mount
    sys-kernel-tracing.mount sys-fs-fuse-connections.mount sys-kernel-config.mount
    proc-sys-fs-binfmt_misc.automount)

inside_mount_kernel()
{
    local root=$1 work=$2 name
    mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
    mkdir "$work/net" # the only writable settings: those of the own network namespace
    mount --bind "$root/proc/sys/net" "$work/net"
    for name in sys sysrq-trigger irq bus fs acpi; do
        [ -e "$root/proc/$name" ] || continue
        mount --bind "$root/proc/$name" "$root/proc/$name"
        mount -o remount,bind,ro "$root/proc/$name"
    done
    mount --bind "$work/net" "$root/proc/sys/net"
    mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys"
    mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$root/sys/fs/cgroup"
}

inside_mount_dev()
{
    local dev=$1 pair
    mount -t tmpfs -o mode=755,nosuid,size=1m tmpfs "$dev"
    for pair in null:3 zero:5 full:7 random:8 urandom:9; do
        mknod -m 666 "$dev/${pair%:*}" c 1 "${pair#*:}"
    done
    mknod -m 666 "$dev/tty" c 5 0
    mkdir "$dev/pts" "$dev/shm" "$dev/mqueue"
    mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts "$dev/pts"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$dev/shm"
    ln -s pts/ptmx "$dev/ptmx"
    ln -s /proc/self/fd "$dev/fd"
    for pair in stdin:0 stdout:1 stderr:2; do
        ln -s "/proc/self/fd/${pair#*:}" "$dev/${pair%:*}"
    done
}

inside_configure_systemd()
{
    local root=$1 name
    mkdir -p "$root/etc/systemd/system"
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/etc/systemd/system"
    mkdir -p "$root/run/systemd/system-generators" "$root/run/systemd/journald.conf.d"
    for name in "$root"/usr/lib/systemd/system-generators/*; do
        ln -s /dev/null "$root/run/systemd/system-generators/${name##*/}"
    done
    for name in "${UNITS_OFF[@]}"; do
        ln -s /dev/null "$root/etc/systemd/system/$name"
    done
    printf '%s\n' '[Journal]' 'Storage=volatile' 'RateLimitIntervalSec=0' 'ReadKMsg=no' 'Audit=no' \
        >"$root/run/systemd/journald.conf.d/rig.conf"
    printf '%s\n' '[Unit]' 'Description=Test rig' 'Requires=basic.target' \
        'After=basic.target dbus.socket' \
        'Wants=dbus.socket' 'AllowIsolate=yes' >"$root/etc/systemd/system/rig.target"
}

# inside WORK TREE SOURCE OUT SIZE; "-" for no source, no out.
inside()
{
    local work=$1 tree=$2 source=$3 out=$4 size=$5 root=$1/root drop
    mount --make-rprivate /
    mount -t tmpfs -o "size=$size,mode=755" tmpfs "$work"
    mkdir "$work/upper" "$work/overlay" "$root"
    mount -t overlay overlay -o "lowerdir=$tree,upperdir=$work/upper,workdir=$work/overlay" "$root"
    inside_mount_kernel "$root" "$work"
    inside_mount_dev "$root/dev"
    mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
    mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
    inside_configure_systemd "$root"
    mkdir -p "$root/rig/src" "$root/rig/out" "$root/rig/ctl"
    mount --bind "$work.ctl" "$root/rig/ctl"
    [ "$out" = - ] || mount --bind "$out" "$root/rig/out"
    if [ "$source" != - ]; then
        mkdir "$work/source-upper" "$work/source-overlay"
        mount -t overlay overlay \
            -o "lowerdir=$source,upperdir=$work/source-upper,workdir=$work/source-overlay" \
            "$root/rig/src"
    fi
    hostname rig
    cd "$root"
    pivot_root . .
    umount -l .
    cd /
    mount --make-rshared / # as on a booted system; units with credentials need it
    drop=-sys_time,-sys_module,-sys_rawio,-syslog,-sys_boot
        drop+=,-audit_control,-audit_read,-audit_write,-wake_alarm
    drop=$drop,-block_suspend,-mac_admin,-mac_override
    exec env -i container=rig TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        setpriv --bounding-set "$drop" /lib/systemd/systemd --unit=rig.target --show-status=false
}
if [ "${1-}" = --inside ]; then
    shift
    inside "$@"
fi

# ------------------------------------------------------------------ outside

QUIET='' SOURCE=- OUT=- JOURNAL='' TREE=/ BOOT_S=30 COMMAND_S=600 SIZE=4g
ENVIRONMENT=()
while [ $# -gt 0 ]; do
    case $1 in
    --dir) SOURCE=$(realpath -e "$2"); shift ;;
    --out) mkdir -p "$2"; OUT=$(realpath -e "$2"); shift ;;
    --journal) JOURNAL=$2; shift ;;
    --root) TREE=$(realpath -e "$2"); shift ;;
    --env) ENVIRONMENT+=(--setenv="$2"); shift ;;
    --timeout) COMMAND_S=$2; shift ;;
    --boot-timeout) BOOT_S=$2; shift ;;
    --tmpfs) SIZE=$2; shift ;;
    -q) QUIET=1 ;;
    -h | --help) sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --) shift; break ;;
    -*) die "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || die "no command given (see --help)"

[ "$(id -u)" = 0 ] || impossible "this is not root"
for tool in unshare nsenter setpriv findmnt pivot_root; do
    command -v $tool >/dev/null || impossible "$tool is missing (package util-linux)"
done
[ -x "${TREE%/}/lib/systemd/systemd" ] || impossible "systemd is not installed"
[ -x "${TREE%/}/usr/bin/dbus-daemon" ] || impossible "dbus-daemon is not installed"
CGROUP_ROOT=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
[ -n "$CGROUP_ROOT" ] || impossible "no cgroup2 hierarchy is mounted"
unshare --cgroup --mount --uts --ipc --net --pid --fork true 2>/dev/null ||
    impossible "this container does not allow namespaces to be made"

started=$(now_ms)
CGROUP=$CGROUP_ROOT/odeon-rig.$$
WORK=/tmp/odeon-rig.$$
INIT='' HOLD=''

cgroup_remove()
{
    find "$1" -depth -type d -exec rmdir {} \; 2>/dev/null
}

# What a killed run has left: its process id is part of the name. Where ids begin anew, as in a
# container, it may have been this one's.
remove_leftovers()
{
    local old owner
    for old in "$CGROUP_ROOT"/odeon-rig.* /tmp/odeon-rig.*; do
        owner=${old##*/odeon-rig.}
        owner=${owner%%.*}
        [ -e "$old" ] || continue
        if [ "$owner" != $$ ] && kill -0 "$owner" 2>/dev/null; then continue; fi
        case $old in
        "$CGROUP_ROOT"/*) cgroup_remove "$old" || true ;;
        *) rm -rf --one-file-system "$old" ;;
        esac
    done
}

cleanup()
{
    trap '' INT TERM HUP
    local i
    exec 2>/dev/null # the shell reports killed children
    if [ -n "$HOLD" ]; then
        # With the namespace's init dies everything in it; its parent reaps it.
        kill -KILL "${INIT:-$HOLD}" || true
        for ((i = 0; i < 250; i++)); do
            kill -0 "$HOLD" || break
            sleep 0.02
        done
        kill -KILL "$HOLD" || true
        wait "$HOLD" || true
    fi
    exec 2>&9
    for ((i = 0; i < 200; i++)); do
        cgroup_remove "$CGROUP" || true
        [ -d "$CGROUP" ] || break
        sleep 0.02
    done
    [ ! -d "$CGROUP" ] || echo "rig.sh: could not remove $CGROUP" >&2
    rm -f "$WORK.log" "$WORK.ctl/status"
    rmdir "$WORK" "$WORK.ctl" 2>/dev/null || true
}

remove_leftovers
mkdir -m 700 "$WORK" "$WORK.ctl"
exec 9>&2
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
mkdir "$CGROUP" 2>/dev/null || impossible "no cgroup can be made in $CGROUP_ROOT"

# --pdeathsig and --kill-child: nothing outlives even a SIGKILL of this script.
# shellcheck disable=SC2016 # the inner shell's variables
setpriv --pdeathsig KILL bash -c 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"' _ "$CGROUP" \
    unshare --cgroup --mount --uts --ipc --net --pid --fork --kill-child=KILL \
    bash "$(realpath -e "$0")" --inside "$WORK" "$TREE" "$SOURCE" "$OUT" "$SIZE" \
    </dev/null >"$WORK.log" 2>&1 9>&- &
HOLD=$!

# enter COMMAND...: in all namespaces of the new PID 1, and in a cgroup of its tree.
enter()
{
    (echo 0 >"$CGROUP/init.scope/cgroup.procs"; exec nsenter -t "$INIT" --all -- "$@")
}

wait_for_boot()
{
    local deadline=$((started + BOOT_S * 1000)) pid state=''
    while [ -z "$INIT" ]; do
        kill -0 "$HOLD" 2>/dev/null || { cat "$WORK.log" >&2; die "could not start"; }
        # shellcheck disable=SC2013 # words are meant
        for pid in $(cat "/proc/$HOLD/task/$HOLD/children" 2>/dev/null); do
            if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = systemd ]; then INIT=$pid; fi
        done
        [ "$(now_ms)" -lt "$deadline" ] ||
            { cat "$WORK.log" >&2; die "no systemd after $BOOT_S s"; }
        [ -n "$INIT" ] || sleep 0.02
    done
    until [ "$state" = running ] || [ "$state" = degraded ]; do
        kill -0 "$INIT" 2>/dev/null || { cat "$WORK.log" >&2; die "systemd ended while it booted"; }
        if [ "$(now_ms)" -ge "$deadline" ]; then
            enter systemctl --no-pager list-jobs >&2 || true
            enter journalctl --no-pager -n 100 >&2 || true
            die "not booted after $BOOT_S s (state: $state)"
        fi
        sleep 0.03
        state=$(enter systemctl is-system-running 2>/dev/null) || true
    done
    if [ "$state" = degraded ]; then
        echo "rig.sh: booted, but degraded:" >&2
        enter systemctl --no-legend --failed >&2
    fi
}

wait_for_boot
booted=$(now_ms)
folder=/
[ "$SOURCE" = - ] || folder=/rig/src
rc=0
# In the background, so that a signal to this script is acted on at once.
# shellcheck disable=SC2016 # the inner shells' variables
bash -c 'echo 0 >"$1"; shift; exec "$@"' _ "$CGROUP/init.scope/cgroup.procs" \
    nsenter -t "$INIT" --all -- \
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    timeout --foreground -k 10 "$COMMAND_S" \
    systemd-run --quiet --wait --pipe --collect --service-type=exec --unit=rig-command \
    -p WorkingDirectory=$folder -p TimeoutStopSec=5s "${ENVIRONMENT[@]}" \
    -- /bin/sh -c '"$@"; echo $? >/rig/ctl/status' sh "$@" <&0 9>&- &
wait $! || rc=$?
ended=$(now_ms)
# systemd-run also says 0 when the bus goes away under it: the file counts.
if [ -s "$WORK.ctl/status" ]; then
    rc=$(cat "$WORK.ctl/status")
elif [ "$rc" != 124 ]; then
    cat "$WORK.log" >&2
    die "systemd or its bus went away while the command ran"
fi
[ -z "$JOURNAL" ] || enter journalctl --no-pager -o short-precise >"$JOURNAL" || true
cleanup
trap - EXIT
[ -n "$QUIET" ] ||
    echo "rig.sh: boot $((booted - started)) ms, command $((ended - booted)) ms," \
        "end $(($(now_ms) - ended)) ms, exit $rc" >&2
exit "$rc"
