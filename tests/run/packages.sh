# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The packages of Debian 12 and 13 that building, testing and the demonstration need, and their
# installation.
#
# Sourced by test.sh and demo.sh. Nothing is asked of the network when nothing is missing, so that a
# second run also works without one. Sets no shell options, defines packages_* and PACKAGES_* only.

# shellcheck disable=SC2034 # used by those that source this
PACKAGES_BUILD=(gcc libc6-dev cmake ninja-build pkg-config protobuf-c-compiler libprotobuf-c-dev
    libuv1-dev libhwloc-dev libsystemd-dev libsmartcols-dev libmicrohttpd-dev libncurses-dev)
# g++ and clang compile the public headers and the plugins, clang and its run-time library the
# fuzzers, spin (which calls gcc) checks the models, systemd and dbus run in the rig, qemu with
# busybox and a kernel that lz4 unpacks is its machine with several memory nodes; dpkg-dev and file
# make the packages that are installed there; scdoc makes the manual pages, so that mistakes in them
# are seen; clang-format says whether the text is laid out; tmux is the terminal of what needs one;
# systemtap-sdt-dev has the header that static probes are made with.
# "A|B": B does as well where it is installed, A is what is installed otherwise.
# shellcheck disable=SC2034
PACKAGES_TEST=(libcmocka-dev g++ clang 'libclang-rt-dev|libclang-rt-14-dev' clang-format scdoc
    spin shellcheck systemd dbus libnss-systemd util-linux procps qemu-system-x86 busybox-static lz4
    dpkg-dev file tmux systemtap-sdt-dev)

# What only ./test.sh --all uses: a cross compiler and an emulator for AArch64; a scraper, and
# a browser; the actor framework that the Savina suite stands beside (0.17, of Debian 12).
# shellcheck disable=SC2034
PACKAGES_ALL=(gcc-aarch64-linux-gnu qemu-user prometheus chromium libcaf-dev)

# packages_has NAME: it is installed.
packages_has()
{
    # shellcheck disable=SC2016 # dpkg-query's own variable
    [[ $(dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null) = ?i* ]]
}

# packages_missing NAME...: prints those that are not installed, one a line.
packages_missing()
{
    local name one found
    for name in "$@"; do
        found=''
        for one in ${name//|/ }; do
            ! packages_has "$one" || found=1
        done
        [ -n "$found" ] || echo "${name%%|*}"
    done
}

# packages_ensure NAME...: installs what is missing. Returns 1, with a message, when that is not
# possible.
packages_ensure()
{
    local missing as_root=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "This is not a Debian system: nothing is installed. Needed, by Debian's names: $*" >&2
        return 0
    fi
    mapfile -t missing < <(packages_missing "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Missing packages: ${missing[*]}" >&2
            echo "They cannot be installed: this is not root, there is no sudo. As root, run:" >&2
            echo "    apt-get install --no-install-recommends ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
        [ -t 0 ] || as_root=(sudo -n) # nobody types a password: fail instead of waiting
    fi
    echo "Installing: ${missing[*]}"
    if ! packages_apt update ||
        ! packages_apt -y install --no-install-recommends "${missing[@]}"; then
        echo "Installing the packages failed (see above). By hand:" >&2
        echo "    apt-get install --no-install-recommends ${missing[*]}" >&2
        return 1
    fi
}

# One apt-get, quiet unless it fails; waits for another one that holds the lock. Uses
# packages_ensure's as_root.
packages_apt()
{
    local log rc=0
    log=$(mktemp) || return 1
    ${as_root[@]+"${as_root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -q \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null >"$log" 2>&1 || rc=$?
    [ $rc = 0 ] || tail -n 25 "$log" >&2
    rm -f "$log"
    return $rc
}
