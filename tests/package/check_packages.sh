#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_packages.sh SOURCE
# Packages from two builds, as README makes them: in two paths, one with a space and a letter that
# is not ASCII, of files with other times. They are the same bit by bit; they name the libraries
# that they need, have their manuals and satisfy lintian (where it is installed); what is in them
# suffices to compile and link a client. Prints TAP. Two builds take some two minutes.
set -uo pipefail
SOURCE=$1
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/rig/tap.sh
. "$SOURCE/tests/rig/tap.sh"
export LC_ALL=C
# A cache of objects would give one build's to the other.
unset CMAKE_C_COMPILER_LAUNCHER SOURCE_DATE_EPOCH CFLAGS CPPFLAGS LDFLAGS
PLAIN=$WORK/plain ODD="$WORK/my dir ü"
ROOT=$WORK/root # of a machine on which they are unpacked

# copy_to FOLDER: the sources, without what was built in them and without git.
copy_to()
{
    mkdir -p "$1" &&
        tar -C "$SOURCE" --exclude=./build --exclude='./build-*' --exclude=./.git -cf - . |
        tar -C "$1" -xf -
}
make_packages()
{
    (cd "$1" && nice cmake --workflow --preset package) >"$WORK/log" 2>&1 && return
    grep -E -A 5 'rror|FAILED' "$WORK/log" | head -n 60
    return 1
}
make_odd()
{
    # What a version control system leaves: other times, but for the file that has the date.
    find "$ODD" -name CHANGELOG.md -o -type f -exec touch -d '2001-02-03 04:05:06' {} + &&
        TZ=Asia/Kathmandu make_packages "$ODD"
}
# Other compilers warn of other things: that is for those who work on the tree.
takes_warnings()
{
    local commands=$PLAIN/build/package/compile_commands.json
    grep -q -- '-Werror=return-type' "$commands" && ! grep -E -- '-Werror[" ]' "$commands"
}
same()
{
    local one n=0
    for one in "$PLAIN"/build/package/packages/*.deb; do
        cmp "$one" "$ODD/build/package/packages/${one##*/}" || return 1
        n=$((n + 1))
    done
    [ $n = 2 ]
}
names_no_place()
{
    ! grep -rlF "$WORK" "$ROOT"
}
deb()
{
    echo "$PLAIN"/build/package/packages/"$1"_*.deb
}
unpack()
{
    dpkg-deb -x "$(deb odeon)" "$ROOT" && dpkg-deb -x "$(deb libodeon-dev)" "$ROOT"
}
depends_on()
{
    dpkg-deb -f "$(deb odeon)" Depends | tee /dev/stderr | grep -E "(^|, )$1( |,|\$)"
}
has_manual()
{
    gzip -dc "$ROOT/usr/share/man/man${1##*.}/$1.gz" | grep '^\.TH'
}
description_is_right()
{
    dpkg-deb -f "$(deb "$1")" Description | tee /dev/stderr | awk '
        NR == 1 && !/^[a-z]/ { exit 1 } NR > 1 && !/^ ([^ ]|\.$)/ { exit 1 } END { exit NR < 4 }'
}
pkg_config()
{
    # Only what is there when nothing but the packages is.
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$(dirname "$ROOT"/usr/lib/*/pkgconfig/libodeon.pc) \
        pkg-config "$@" libodeon
}
client_links()
{
    # shellcheck disable=SC2046 # words are meant
    cc -Wall -Werror -I "$ROOT/usr/include" $(pkg_config --cflags) -o "$WORK/client" -x c - \
        -L "$(dirname "$ROOT"/usr/lib/*/libodeon.so)" $(pkg_config --libs) <<END
#include <odeon/client.h>
int main(void) { return !odeon_error_text(); }
END
}
packs_for_everybody()
{
    local config=$PLAIN/build/package/CPackConfig.cmake
    (cd "$WORK" && umask 077 && cpack --config "$config" -B closed) &&
        dpkg-deb -x "$WORK"/closed/odeon_*.deb "$WORK/open" &&
        ! find "$WORK"/open/* ! -type l ! -perm -444 | grep . &&
        ! find "$WORK"/open/* -type d ! -perm -555 | grep .
}
installs()
{
    DESTDIR=$WORK/tree cmake --install "$ODD/build/package" &&
        grep -x 'ExecStart="/usr/bin/odeond"' "$WORK/tree/usr/lib/systemd/system/odeond.service" &&
        grep -x 'includedir=/usr/include' "$WORK"/tree/usr/lib/*/pkgconfig/libodeon.pc
}
installs_elsewhere()
{
    DESTDIR=$WORK/tree cmake --install "$ODD/build/package" --prefix "/opt/my odeon ü" &&
        grep -x 'includedir=/opt/my odeon ü/include' \
            "$WORK/tree/opt/my odeon ü"/lib/*/pkgconfig/libodeon.pc &&
        grep -rx 'ExecStart="/opt/my odeon ü/bin/odeond"' "$WORK/tree/opt/my odeon ü/lib/systemd" &&
        grep -rx 'ExecStart="/opt/my odeon ü/bin/odeon-exporter"' \
            "$WORK/tree/opt/my odeon ü/lib/systemd"
}
lintian_is_content()
{
    (cd "$ODD/build/package/packages" &&
        lintian --allow-root --no-cfg --fail-on error,warning --tag-display-limit 0 ./*.deb)
}

for tool in dpkg-shlibdeps scdoc file; do
    command -v $tool >/dev/null || { echo "check_packages.sh: skipped: $tool is missing"; exit 77; }
done
copy_to "$PLAIN" && copy_to "$ODD" || exit 2
check "packages are made" make_packages "$PLAIN"
check "a warning is no error for who makes them" takes_warnings
check "and in a path with a space, from files with other times" make_odd
check "both are the same bit by bit" same
check "they can be unpacked" unpack
check "nothing in them names the place where they were built" names_no_place
for library in libc6 libhwloc15 libmicrohttpd12 libuv1 libsystemd0 libncursesw6; do
    check "the service depends on $library" depends_on "$library(t64)?"
done
check "and on what its unit runs for a reload" depends_on procps
for page in odeond.8 odeond.conf.5 odeonctl.1 odeon-exporter.8; do
    check "there is $page" has_manual $page
done
check "the description is well formed" description_is_right odeon
check "that of the headers, too" description_is_right libodeon-dev
check "pkg-config needs no other package's file" pkg_config --cflags --libs --print-errors
check "a client compiles and links" client_links
check "a umask does not close their folders" packs_for_everybody
check "what lies in such a path can be installed" installs
check "and into such a path" installs_elsewhere
if command -v lintian >/dev/null; then
    check "lintian finds neither errors nor warnings" lintian_is_content
else
    check "lintian finds neither errors nor warnings # SKIP lintian is not installed" true
fi
echo "1..$COUNT"
[ $BROKEN = 0 ]
