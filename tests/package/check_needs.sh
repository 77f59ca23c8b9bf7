#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check_needs.sh SOURCE BUILD
# Whoever lacks something is told so before anything is built, of all of it at once, with the
# command that installs it. Prints TAP. What a machine has is what PATH shows of this one.
set -uo pipefail
SOURCE=$1 BUILD=$2
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT
# shellcheck source=tests/rig/tap.sh
. "$SOURCE/tests/rig/tap.sh"
unset CC PKG_CONFIG PKG_CONFIG_PATH PKG_CONFIG_LIBDIR CMAKE_C_COMPILER_LAUNCHER
export LC_ALL=C

# machine_with NAME...: makes $WORK/bin, in which these programs are.
machine_with()
{
    local name found
    rm -rf "${WORK:?}/bin" && mkdir "$WORK/bin"
    for name in "$@"; do
        found=$(type -P "$name") || continue
        # By its real name: a compiler asks how it was called.
        printf '#!/bin/sh\nexec %s "$@"\n' "$(printf %q "$found")" >"$WORK/bin/$name"
        chmod +x "$WORK/bin/$name"
    done
}

TOOLS=(sh cmake cpack ninja cc pkg-config protoc-c git ld as ar)
PACKAGING=(dpkg-deb dpkg-shlibdeps file scdoc gzip)
for tool in "${TOOLS[@]}" "${PACKAGING[@]}"; do
    type -P "$tool" >/dev/null || {
        echo "check_needs.sh: skipped: $tool is missing"
        exit 77
    }
done

# refuses WHAT PACKAGE COMMAND...: fails, says what is missing, and the command that mends it.
refuses()
{
    local what=$1 package=$2 text
    shift 2
    if text=$(PATH=$WORK/bin "$@" 2>&1); then
        echo "not refused"
        return 1
    fi
    printf '%s\n' "$text"
    grep -qE "^ +$what: " <<<"$text" && grep -qE "apt-get install .*\<$package( |\$)" <<<"$text"
}
configure()
{
    local preset=$1 binary=$WORK/build.$COUNT
    shift
    (cd "$SOURCE" && cmake --preset "$preset" -B "$binary" "$@")
}
is_configured()
{
    PATH=$WORK/bin configure package
}
no_package()
{
    ! find "$WORK/packages" -name '*.deb' | grep .
}

machine_with "${TOOLS[@]}" "${PACKAGING[@]}"
check "a machine that has everything is taken" is_configured
for tool in dpkg-shlibdeps:dpkg-dev file:file scdoc:scdoc; do
    rest=()
    for name in "${PACKAGING[@]}"; do
        [ "$name" = "${tool%:*}" ] || rest+=("$name")
    done
    machine_with "${TOOLS[@]}" "${rest[@]}"
    check "packages without ${tool%:*} are refused before the build" \
        refuses "${tool%:*}" "${tool#*:}" configure package
    mkdir -p "$WORK/packages"
    check "cpack refuses another build's, too" refuses "${tool%:*}" "${tool#*:}" \
        cpack --config "$BUILD/CPackConfig.cmake" -B "$WORK/packages"
    check "and has made none" no_package
done
machine_with sh cmake
check "of a machine with nothing the compiler is missed" refuses cc gcc configure install
check "so is what builds" refuses ninja ninja-build configure install
check "so are libraries" refuses libuv libuv1-dev configure install
check "what only tests need is missed by those who test" \
    refuses cmocka libcmocka-dev configure release
does_not_miss()
{
    local what=$1
    shift
    ! "$@" 2>&1 | grep -E "^ +$what: "
}
check "and by nobody else" does_not_miss cmocka env PATH="$WORK/bin" \
    cmake -S "$SOURCE" -B "$WORK/none" -DODEON_TESTS=OFF
echo "1..$COUNT"
[ $BROKEN = 0 ]
