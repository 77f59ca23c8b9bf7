#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh FOLDER - unpacks Debian's arm64 libraries that the build needs into FOLDER.
#
# From where the machine's own packages come, with a state of apt's that is FOLDER's: the machine
# gets no second architecture, and nothing is installed. FOLDER is made once, under a name of its
# own until it is whole. Exit status 77, with a line that says why, where the packages cannot be
# had.
set -uo pipefail
root=$(realpath -m "$1")
apt=$root.apt
# What the cross compiler's own package has is of no use with --sysroot.
PACKAGES=(libc6-dev libcmocka-dev libprotobuf-c-dev libuv1-dev libhwloc-dev libsystemd-dev
    libsmartcols-dev libmicrohttpd-dev libncurses-dev)

# skip REASON LOG: what the log ends with, too.
skip()
{
    tail -n 5 "$2" 2>/dev/null
    echo "skipped: $1"
    exit 77
}

apt_get()
{
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o APT::Architecture=arm64 \
        -o APT::Architectures::=arm64 -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache" \
        -o Dir::State::status="$apt/status" -o Debug::NoLocking=1 -o APT::Sandbox::User='' \
        -o Acquire::Languages=none -o Acquire::Retries=3 "$@" >>"$apt/log" 2>&1 </dev/null
}

if [ "$(cat "$root/complete" 2>/dev/null)" = "${PACKAGES[*]}" ]; then exit 0; fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
    skip "this is no Debian: there is nobody to ask for arm64 libraries" /dev/null
fi
rm -rf "$root" "$root.new" "$apt"
mkdir -p "$root.new" "$apt/state/lists/partial" "$apt/cache/archives/partial" || exit 1
: >"$apt/status"
# A source of the machine's that has no arm64 is no hindrance: the packages tell.
apt_get update
apt_get --download-only --no-install-recommends install "${PACKAGES[@]}" ||
    skip "Debian's arm64 libraries cannot be fetched (${PACKAGES[*]})" "$apt/log"
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$root.new" || exit 1
done
rm -rf "$apt"
echo "${PACKAGES[*]}" >"$root.new/complete" && mv "$root.new" "$root"
