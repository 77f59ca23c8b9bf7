#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bare.sh - the commands of README.md, docs/plugins.md and docs/first-hour.md, as they stand and in
# their order, on a machine with nothing on it. Three minutes a run on two cores, and up to eighteen
# beside other work (measured); four runs by default.
#
#   tests/bare.sh [options]
#
#   --release NAME  a release of Debian (repeatable; default: bookworm and trixie)
#   --as WHO        root, or user, who has sudo and a clone in a path with a space (default: both)
#   --tests         ./test.sh, too, which README has as well: some 15 minutes more for each
#   --base DIR      where bare roots are kept from run to run; made if missing (default: nowhere)
#   --keep          leaves the roots and says where they are
#   -h, --help      this
#
# For each release, debootstrap makes a root (variant minbase, with git; for `user` with sudo) from
# the mirror that this machine's apt uses. In a copy of it, in namespaces of its own, this tree's
# HEAD is cloned, and package/bare_inside.sh runs every command of the documents' `sh` fences
# literally; it prints what it puts in place of what, and what it leaves to tests/rig, which has a
# systemd; and, in lines that begin with "# README:", how many of README's commands and how many
# seconds it took from the clone until an actor's answer was on the screen. Only committed files are
# seen. Prints TAP. Exit status 1 when a command failed, 77 when it is not possible here (the reason
# is printed).
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TREE=$(dirname "$HERE")
RELEASES=() AS=() BASE='' KEEP='' TESTS='' COUNT=0 BROKEN=0 SKIPPED=0 WORK=''

usage()
{
    sed -n '3,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"
    exit "$1"
}
impossible()
{
    echo "bare.sh: skipped: $*"
    exit 77
}
say()
{
    printf '# %s %s\n' "$(date +%H:%M:%S)" "$*"
}

# mirror: where this machine's apt has Debian's packages from.
mirror()
{
    # shellcheck disable=SC2016 # apt's own variables
    apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(CODENAME)' 'Created-By: Packages' |
        awk '$2 == "main" && $1 ~ /\/debian\/?$/ { print $1; exit }'
}

cleanup()
{
    if [ -n "$WORK" ] && [ -z "$KEEP" ]; then rm -rf --one-file-system "$WORK"; fi
    [ -z "$KEEP" ] || say "kept: $WORK"
}

# base_of RELEASE: makes the bare root, unless it is there; says where. 77: not to be had.
base_of()
{
    local release=$1 base=${BASE:-$WORK}/$1
    if [ ! -e "$base/.whole" ]; then
        rm -rf --one-file-system "$base"
        mkdir -p "$base"
        debootstrap --variant=minbase --include=git,ca-certificates "$release" "$base" "$MIRROR" \
            >"$WORK/$release.log" 2>&1 || { tail -n 5 "$WORK/$release.log" >&2; return 77; }
        rm -f "$base"/var/cache/apt/archives/*.deb
        touch "$base/.whole"
    fi
    echo "$base"
}

# prepare ROOT WHO: what a machine has that is used by somebody, and how it reaches the network.
prepare()
{
    local root=$1
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    echo '127.0.0.1 localhost bare' >"$root/etc/hosts"
    apt-config dump | grep -iE '^Acquire::(https?|ftp)::(proxy|timeout|CaInfo|Verify)' \
        >"$root/etc/apt/apt.conf.d/90network"
    # Nobody is there to answer.
    echo 'APT::Get::Assume-Yes "true";' >"$root/etc/apt/apt.conf.d/91yes"
    mkdir -p "$root/bare"
    git clone -q --bare --no-hardlinks "$TREE" "$root/bare/tree.git" || exit 2
    cp "$HERE/package/bare_inside.sh" "$root/bare/inside.sh"
    cp "$HERE/package/commands.awk" "$root/bare"
}

# enter ROOT COMMAND...: in namespaces of its own, with what programs expect of a machine.
enter()
{
    local root=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's variables
    unshare --mount --pid --ipc --uts --fork --kill-child=KILL bash -c '
        root=$1
        shift
        mount --bind "$root" "$root" && cd "$root" || exit 2
        mount -t proc proc proc && mount --rbind /sys sys && mount --rbind /dev dev || exit 2
        mount -t tmpfs -o mode=1777 tmpfs dev/shm && mount -t tmpfs tmpfs run || exit 2
        hostname bare
        exec chroot . "$@"' bash "$root" "$@"
}

# run RELEASE WHO BASE: all commands; the last line of what inside.sh prints sums them.
run()
{
    local release=$1 who=$2 base=$3 root=$WORK/$1.$2 rc=0 passed failed
    say "$release as $who"
    cp -a "$base" "$root" || exit 2
    prepare "$root"
    enter "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb BARE_TESTS="$TESTS" \
        bash /bare/inside.sh "$who" "$COUNT" 2>&1 </dev/null |
        tee "$WORK/$release.$who.out"
    rc=${PIPESTATUS[0]}
    passed=$(grep -c '^ok ' "$WORK/$release.$who.out")
    failed=$(grep -c '^not ok ' "$WORK/$release.$who.out")
    COUNT=$((COUNT + passed + failed)) BROKEN=$((BROKEN + failed))
    if [ "$rc" != 0 ] && [ "$failed" = 0 ]; then
        COUNT=$((COUNT + 1)) BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $release as $who: the root could not be used (status $rc)"
    fi
    [ -n "$KEEP" ] || rm -rf --one-file-system "$root"
}

{ # read as a whole before it begins: the tree may change while it runs
while [ $# -gt 0 ]; do
    case $1 in
    --release | --as | --base)
        [ $# -gt 1 ] || usage 2 >&2
        case $1 in
        --release) RELEASES+=("$2") ;;
        --as) AS+=("$2") ;;
        --base) mkdir -p "$2" && BASE=$(realpath -e "$2") ;;
        esac
        shift
        ;;
    --tests) TESTS=1 ;;
    --keep) KEEP=1 ;;
    -h | --help) usage 0 ;;
    *) echo "bare.sh: unknown argument: $1" >&2; usage 2 >&2 ;;
    esac
    shift
done
[ ${#RELEASES[@]} -gt 0 ] || RELEASES=(bookworm trixie)
[ ${#AS[@]} -gt 0 ] || AS=(root user)
[ "$(id -u)" = 0 ] || impossible "this is not root"
for tool in debootstrap unshare git apt-get; do
    command -v $tool >/dev/null || impossible "$tool is missing"
done
unshare --mount --pid --ipc --uts --fork true 2>/dev/null ||
    impossible "this container does not allow namespaces to be made"
MIRROR=$(mirror)
[ -n "$MIRROR" ] || impossible "this machine's apt knows no mirror of Debian"
case "$BASE/" in "$TREE"/*) echo "bare.sh: --base: not in the repository" >&2; exit 2 ;; esac
WORK=$(mktemp -d "${TMPDIR:-/tmp}/odeon-bare.XXXXXX") || exit 2
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for release in "${RELEASES[@]}"; do
    say "$release: a bare root"
    if ! base=$(base_of "$release"); then
        COUNT=$((COUNT + 1)) SKIPPED=$((SKIPPED + 1))
        echo "ok $COUNT - $release # SKIP debootstrap cannot have it from here"
        continue
    fi
    for who in "${AS[@]}"; do
        run "$release" "$who" "$base"
    done
done
echo "1..$COUNT"
say "$((COUNT - BROKEN - SKIPPED)) passed, $BROKEN failed, $SKIPPED skipped, $SECONDS s"
[ $SKIPPED -lt $COUNT ] || exit 77
[ $BROKEN = 0 ]
exit
}
