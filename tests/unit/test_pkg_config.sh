#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What pkg-config says of libodeon, where nothing else can be asked for: no other package's file is
# needed, and since there is no static library, --static names nothing more.
#   test_pkg_config.sh SOURCE_ROOT
# The file is made as an installation makes it. Exit status 77 where there is no pkg-config.
set -u
root=$1
command -v pkg-config >/dev/null || exit 77
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0

result() { # STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1)) && echo "[       OK ] $2"
    else
        failed=$((failed + 1)) && echo "[  FAILED  ] $2"
    fi
}

# Nothing is found but what lies in `scratch`.
ask() {
    PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR=$scratch pkg-config --print-errors "$@" libodeon
}

sed -e 's|@CMAKE_INSTALL_PREFIX@|/opt/odeon|; s|@ODEON_PC_LIBDIR@|/opt/odeon/lib|' \
    -e 's|@ODEON_PC_INCLUDEDIR@|/opt/odeon/include|; s|@PROJECT_VERSION@|1.2.3|' \
    "$root/client-lib/libodeon.pc.in" >"$scratch/libodeon.pc"
! grep -n '@' "$scratch/libodeon.pc" >&2
result $? "every place of the file is filled in"
[ "$(ask --modversion)" = 1.2.3 ]
result $? "the version"

# trailing blanks are pkg-config's
[ "$(ask --cflags | sed 's/ *$//')" = -I/opt/odeon/include ]
result $? "--cflags without any other package"
[ "$(ask --libs | sed 's/ *$//')" = "-L/opt/odeon/lib -lodeon" ]
result $? "--libs without any other package"
[ -z "$(ask --print-requires)$(ask --print-requires-private)" ]
result $? "it requires no other package, not in private either"

# What a static link needs is told by whoever has a static library.
! grep -nE 'install\(TARGETS[^)]*odeon_static' "$root/client-lib/CMakeLists.txt" >&2
result $? "no static library is installed"
[ "$(ask --static --libs)" = "$(ask --libs)" ] && [ "$(ask --static --cflags)" = "$(ask --cflags)" ]
result $? "--static says the same"

echo "[==========] $((passed + failed)) test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ "$failed" -eq 0 ] || echo "[  FAILED  ] $failed test(s)."
[ "$failed" -eq 0 ]
