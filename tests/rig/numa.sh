#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# numa.sh - runs a command in an emulated machine with several memory nodes.
#
#   numa.sh [options] -- COMMAND [ARGUMENT...]
#
#   --node CPUS:MIB    a node with so many processors (0: memory only) and so much memory
#                      (repeatable; default 1:512)
#   --file PATH        put into /rig inside, where the command starts; of a program or library also
#                      what it is linked with (repeatable)
#   --tool NAME        a program of this machine that the command needs beside those of busybox,
#                      into /bin (repeatable)
#   --timeout S        for the command (default 60); --boot-timeout S (default 60)
#   --console FILE     keeps what the kernel said
#   --prepare          only fetches the kernel, then ends
#   -q                 no line about how long each part took
#
# Exit status: the command's; 124: it ran into --timeout; 77: not possible here (the reason is
# printed); 125: the rig failed. What the command prints comes out on stdout.
#
# How: qemu emulates the processors (no /dev/kvm, no privileges), and boots Debian's kernel for
# virtual machines with one archive as its only file system: busybox, the files named, the libraries
# that they need. A serial line carries the output. There is no disk, no network, no systemd; proc,
# sys, dev, cgroup2 and tmpfs on /run and /tmp are mounted. The kernel is fetched as a package and
# kept unpacked in ODEON_RIG_CACHE (default /var/cache/odeon-rig, or ~/.cache/odeon-rig), 50 MB.
#
# What to know of it: processors are 5 to 13 times slower than real ones, system calls 5, fork and
# exec 40; all processors share those of the machine around it, so nothing here can be a
# measurement.
set -euo pipefail

die()
{
    echo "numa.sh: $*" >&2
    exit 125
}
impossible()
{
    echo "numa.sh: skipped: $*"
    exit 77
}
now_ms()
{
    echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

QUIET='' COMMAND_S=60 BOOT_S=60 CONSOLE='' PREPARE=''
NODES=() FILES=() TOOLS=()
while [ $# -gt 0 ]; do
    case $1 in
    --node) NODES+=("$2"); shift ;;
    --file) FILES+=("$(realpath -e "$2")"); shift ;;
    --tool) TOOLS+=("$2"); shift ;;
    --timeout) COMMAND_S=$2; shift ;;
    --boot-timeout) BOOT_S=$2; shift ;;
    --console) CONSOLE=$2; shift ;;
    --prepare) PREPARE=1 ;;
    -q) QUIET=1 ;;
    -h | --help) sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --) shift; break ;;
    -*) die "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || [ -n "$PREPARE" ] || die "no command given (see --help)"
[ ${#NODES[@]} -gt 0 ] || NODES=(1:512)

[ "$(uname -m)" = x86_64 ] ||
    impossible "the emulated machine is an x86-64, this one is $(uname -m)"
command -v qemu-system-x86_64 >/dev/null ||
    impossible "qemu is not installed (package qemu-system-x86)"
BUSYBOX=$(command -v busybox) || impossible "busybox is not installed (package busybox-static)"
if ldd "$BUSYBOX" >/dev/null 2>&1; then
    impossible "busybox needs libraries (package busybox-static)"
fi
if [ -n "${ODEON_RIG_CACHE-}" ]; then
    CACHE=$ODEON_RIG_CACHE
elif [ "$(id -u)" = 0 ]; then
    CACHE=/var/cache/odeon-rig
else
    CACHE=${HOME:-/tmp}/.cache/odeon-rig
fi

WORK=$(mktemp -d "${TMPDIR:-/tmp}/odeon-numa.XXXXXX")
QEMU=''
cleanup()
{
    trap '' INT TERM HUP
    if [ -n "$QEMU" ]; then
        kill -KILL "$QEMU" 2>/dev/null || true
        wait "$QEMU" 2>/dev/null || true
    fi
    rm -rf "$WORK"
}
trap cleanup EXIT # also called at the end
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# ------------------------------------------------------------------ the kernel

# number FILE OFFSET BYTES: little-endian.
number()
{
    od -An "-tu$3" -j "$2" -N "$3" "$1" | tr -d ' '
}

# The header of a bzImage says where the compressed kernel lies; unpacked here, it need not be
# unpacked by slow processors.
kernel_unpack()
(
    local image=$1 start length magic
    set +o pipefail # head has enough before tail is at the end
    start=$((($(number "$image" $((0x1f1)) 1) + 1) * 512 + $(number "$image" $((0x248)) 4)))
    length=$(($(number "$image" $((0x24c)) 4) - 4)) # four bytes at the end are the length
    magic=$(od -An -tx1 -j $start -N 2 "$image" | tr -d ' ')
    tail -c +$((start + 1)) "$image" | head -c $length | case $magic in
    0221) lz4 -dc ;;
    28b5) zstd -dcq ;;
    fd37) xz -dc ;;
    1f8b) gzip -dc ;;
    *) false ;;
    esac
)

kernel_package()
{
    apt-cache depends linux-image-cloud-amd64 2>/dev/null |
        sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

kernel_fetch()
{
    local name
    mkdir -p "$CACHE" || impossible "cannot write to $CACHE"
    if [ -z "$(kernel_package)" ] && [ "$(id -u)" = 0 ]; then
        apt-get -qq update >"$WORK/apt" 2>&1 || true
    fi
    name=$(kernel_package)
    [ -n "$name" ] || impossible "the package lists know no linux-image-cloud-amd64"
    mkdir "$WORK/kernel"
    (cd "$WORK/kernel" && apt-get -qq -o APT::Sandbox::User=root download "$name") \
        >"$WORK/apt" 2>&1 ||
        impossible "the package $name cannot be fetched: $(tail -n 1 "$WORK/apt")"
    dpkg-deb -x "$WORK"/kernel/*.deb "$WORK/kernel/tree"
    kernel_unpack "$WORK"/kernel/tree/boot/vmlinuz-* >"$WORK/vmlinux" ||
        die "cannot unpack the kernel of $name"
    mv "$WORK/vmlinux" "$CACHE/vmlinux.$$"
    mv "$CACHE/vmlinux.$$" "$CACHE/vmlinux"
    rm -rf "$WORK/kernel"
}

[ -s "$CACHE/vmlinux" ] || kernel_fetch
if [ -n "$PREPARE" ]; then exit 0; fi

# ------------------------------------------------------------------ its file system

# take PATH FOLDER: into the tree, with the libraries: the system's where the loader looks for them,
# others into /rig.
take()
{
    local library to
    cp "$1" "$WORK/tree/$2"
    # Scripts and data have none.
    for library in $(ldd "$1" 2>/dev/null | grep -oE '/[^ ]+'); do
        case $library in
        /lib* | /usr/lib*) to=$library ;;
        *) to=/rig/${library##*/} ;;
        esac
        [ ! -e "$WORK/tree$to" ] || continue
        mkdir -p "$WORK/tree${to%/*}"
        cp -L "$library" "$WORK/tree$to"
    done
}

make_tree()
{
    local path
    mkdir -p "$WORK"/tree/{bin,dev,proc,sys,run,tmp,rig,etc}
    ln -s bin "$WORK/tree/sbin"
    cp "$BUSYBOX" "$WORK/tree/bin/busybox"
    echo 'root:x:0:0:root:/:/bin/sh' >"$WORK/tree/etc/passwd"
    for path in ${TOOLS[@]+"${TOOLS[@]}"}; do
        take "$(command -v "$path")" bin || die "there is no program $path"
    done
    for path in ${FILES[@]+"${FILES[@]}"}; do take "$path" rig; done
    cat >"$WORK/tree/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin HOME=/ LC_ALL=C LD_LIBRARY_PATH=/rig
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
ln -s /proc/self/fd /dev/fd
stty -F /dev/ttyS1 -onlcr
exec </dev/null >/dev/ttyS1 2>&1
echo rig-booted
cd /rig
timeout -k 5 $COMMAND_S $(printf '%q ' "$@")
echo "rig-status \$?"
stty -F /dev/ttyS1 -onlcr # waits until the line has taken all
poweroff -f
INIT
    chmod 755 "$WORK/tree/init"
    (cd "$WORK/tree" && find . | "$BUSYBOX" cpio -o -H newc 2>/dev/null) >"$WORK/initrd"
}

# ------------------------------------------------------------------ the machine

# Arguments of qemu for the nodes into MACHINE.
make_machine()
{
    local node cpus mib first=0 memory=0 index=0 packages=0 cores
    for node in "${NODES[@]}"; do
        [[ $node =~ ^[0-9]+:[0-9]+$ ]] || die "bad --node $node"
        cpus=${node%:*} mib=${node#*:}
        MACHINE+=(-object "memory-backend-ram,id=m$index,size=${mib}M")
        if [ "$cpus" -gt 0 ]; then
            MACHINE+=(-numa "node,nodeid=$index,memdev=m$index,cpus=$first-$((first + cpus - 1))")
            packages=$((packages + 1))
        else
            MACHINE+=(-numa "node,nodeid=$index,memdev=m$index")
        fi
        first=$((first + cpus)) memory=$((memory + mib)) index=$((index + 1))
    done
    # A node with processors is a package.
    [ "$packages" -gt 0 ] || die "a machine needs a processor"
    cores=$((first / packages))
    [ $((cores * packages)) = "$first" ] ||
        die "nodes with processors must have the same number of them"
    MACHINE+=(-m "${memory}M" -smp "$first,sockets=$packages,cores=$cores,threads=1")
}

MACHINE=()
started=$(now_ms)
make_tree "$@"
make_machine
touch "$WORK/console" "$WORK/output"
qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max,la57=off \
    -nodefaults -no-user-config -display none -no-reboot \
    "${MACHINE[@]}" -serial "file:$WORK/console" -serial "file:$WORK/output" \
    -kernel "$CACHE/vmlinux" -initrd "$WORK/initrd" \
    -append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off nokaslr audit=0 \
random.trust_cpu=1 no_timer_check \
cryptomgr.notests rcupdate.rcu_expedited=1 numa_balancing=disable" </dev/null >"$WORK/log" 2>&1 &
QEMU=$!

complain()
{
    cat "$WORK/log" >&2
    tail -n 30 "$WORK/console" >&2
}

until grep -q '^rig-booted' "$WORK/output"; do
    kill -0 "$QEMU" 2>/dev/null || { complain; die "the machine ended before the command began"; }
    [ "$(now_ms)" -lt $((started + BOOT_S * 1000)) ] ||
        { complain; die "not booted after $BOOT_S s"; }
    sleep 0.05
done
booted=$(now_ms)
while kill -0 "$QEMU" 2>/dev/null; do
    [ "$(now_ms)" -lt $((booted + (COMMAND_S + 20) * 1000)) ] ||
        { complain; die "the machine did not end"; }
    sleep 0.05
done
wait "$QEMU" || true
QEMU=''
[ -z "$CONSOLE" ] || cp "$WORK/console" "$CONSOLE"
sed -e '/^rig-booted/d' -e '/^rig-status /d' "$WORK/output"
rc=$(sed -n 's/^rig-status \([0-9]*\).*/\1/p' "$WORK/output" | tail -n 1)
[ -n "$rc" ] || { complain; die "the machine went down while the command ran"; }
[ -n "$QUIET" ] ||
    echo "numa.sh: boot $((booted - started)) ms, command $(($(now_ms) - booted)) ms, exit $rc" >&2
[ "$rc" != 143 ] || rc=124 # what busybox says when it ran out of time
cleanup
trap - EXIT
exit "$rc"
