#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# law.sh - checks that the tree is built as docs/architecture says: what may include what, and the
# rules of the house.
#
#   law.sh [--build DIR] SOURCE [GROUP...]
#
# SOURCE is the root of the tree; --build a configured build of it, for generated headers and
# registered tests. GROUPs (default: all) are in ALL below. Prints TAP, each violation as a line
# "# FILE: what". Exit status 1 when a law is broken. tests/law/selftest.sh proves that each law can
# be broken; tests/law/pending.txt names what is still to be done.
set -uo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=
if [ "${1-}" = --build ]; then
    BUILD=$(realpath -e "$2") || exit 2
    shift 2
fi
ROOT=$(realpath -e "${1-}") || exit 2
shift
ALL=(readable includes headers size functions names format width tables pages map atomics
    sizes stats cited labels rules proofs top licence machine shell built tests)
GROUPS_RUN=("$@")
[ $# -gt 0 ] || GROUPS_RUN=("${ALL[@]}")
cd "$ROOT" || exit 2
export LC_ALL=C
TAB=$'\t'
COUNT=0 BROKEN=0
WORK=$(mktemp -d) || exit 2
trap 'rm -rf "$WORK"' EXIT

# The project's files: what git knows or would add; without git, everything outside build folders.
list_files()
{
    if [ "$(git -C "$ROOT" rev-parse --show-toplevel 2>/dev/null)" = "$ROOT" ]; then
        git -C "$ROOT" ls-files -co --exclude-standard
    else
        find . -type d \( -name .git -o -path ./build -o -path './build-*' -o -path ./.cache \) \
            -prune -o \( -type f -o -type l \) -printf '%P\n'
    fi | while IFS= read -r file; do
        if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\n' "$file"; fi
    done | sort
}

# law TEXT FILE: one law; FILE holds its violations, a line each.
law()
{
    COUNT=$((COUNT + 1))
    if [ -s "$2" ]; then
        BROKEN=$((BROKEN + 1))
        echo "not ok $COUNT - $1"
        sed 's/^/# /' "$2"
    else
        echo "ok $COUNT - $1"
    fi
}

# pending LAW: takes out of $WORK/found, "FILE<tab>violation" lines, the files that
# tests/law/pending.txt excuses from LAW (a folder: all below it). One that needs no excuse any more
# is a violation itself. What is left are the violations, as law() wants them.
pending()
{
    local list=$ROOT/tests/law/pending.txt
    [ -e "$list" ] || list=/dev/null
    awk -F '\t' -v law="$1" -v list="$list" '
        BEGIN {
            while ((getline line <list) > 0) {
                split(line, word, " ")
                if (word[1] == law) excused[word[2]] = 1
            }
        }
        {
            for (file in excused)
                if ($1 == file || (file ~ /\/$/ && index($1, file) == 1)) { needed[file] = 1; next }
            print $2
        }
        END {
            for (file in excused) if (!(file in needed))
                print "tests/law/pending.txt: " file " is not needed: " law " is kept"
        }' "$WORK/found" >"$WORK/left" && mv "$WORK/left" "$WORK/found"
}

# Of what cannot be read no law can say anything.
check_readable()
{
    local file
    while IFS= read -r file; do
        if [ ! -e "$file" ]; then
            echo "$file: cannot be read: it leads nowhere"
        elif [ ! -f "$file" ] && [ ! -d "$file" ]; then
            echo "$file: cannot be read: not a file"
        elif [ ! -r "$file" ]; then
            echo "$file: cannot be read: no permission"
        fi
    done <"$WORK/files" >"$WORK/found"
    # Text is UTF-8 without bytes that are none.
    grep -vE "$DATA" "$WORK/files" | LC_ALL=C.UTF-8 xargs -d '\n' grep -axvHnE '.*' /dev/null 2>&1 |
        LC_ALL=C sed -E 's/^([^:]*:[0-9]*):.*/\1: cannot be read: not UTF-8/' >>"$WORK/found"
    law "every file can be read" "$WORK/found"
}

check_includes()
{
    local kind
    # "FILE<tab>LINE<tab>QUOTE<tab>NAME" for each include.
    # shellcheck disable=SC2016 # awk's fields
    xargs -d '\n' awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*["<][^">]+[">]/) {
        s = substr($0, RSTART, RLENGTH); sub(/^[ \t]*#[ \t]*include[ \t]*/, "", s)
        print FILENAME "\t" FNR "\t" substr(s, 1, 1) "\t" substr(s, 2, length(s) - 2) }' \
        <"$WORK/c_files" >"$WORK/includes"
    awk -F '\t' -v layers="$HERE/layers.txt" -v files="$WORK/files" \
        -v order="$HERE/engine_order.txt" -f "$HERE/includes.awk" "$WORK/includes" \
        >"$WORK/violations"
    for kind in layer system unresolved cycle circle order; do
        sed -n "s/^$kind\t//p" "$WORK/violations" >"$WORK/$kind"
    done
    law "each layer includes only what the law allows" "$WORK/layer"
    law "libraries stay out of the layers that do without them" "$WORK/system"
    law "every include of a project file finds it" "$WORK/unresolved"
    law "no header includes itself through others" "$WORK/cycle"
    law "the modules of each process, of libodeon and of each tool form no circle" "$WORK/circle"
    law "inside the engine, no module includes one of a higher layer" "$WORK/order"
}

# compile_header HEADER COMPILER LANGUAGE: included twice, by nothing else.
compile_header()
{
    local header=$1 compiler=$2 language=$3
    local -a include=(-I . -I client-lib/include -D_GNU_SOURCE)
    [ -z "$BUILD" ] || include+=(-I "$BUILD")
    [ "$language" = c++ ] || include+=(-std=gnu17)
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
        "$compiler" -x "$language" -fsyntax-only -Wall -Werror "${include[@]}" "${CFLAGS[@]}" - \
        2>&1 |
        grep -m 1 -E 'error' | grep -vE "$GENERATED" | sed "s|^|$header: |"
}

check_headers()
{
    local header cxx
    # Without a build there is no generated code to include.
    GENERATED='^$'
    [ -n "$BUILD" ] || GENERATED='pb-c\.h: No such file'
    cxx=$(command -v c++ || command -v g++ || command -v clang++)
    IFS=' ' read -ra CFLAGS < <(
        pkg-config --cflags libuv hwloc libprotobuf-c libsystemd smartcols ncursesw libmicrohttpd \
            cmocka \
            2>/dev/null
        echo
    )
    while IFS= read -r header; do
        case $header in
        # the second half of another header, which is compiled
        client-lib/include/odeon/*_macros.h) continue ;;
        esac
        compile_header "$header" "${CC:-cc}" c
        case $header in
        client-lib/include/*) [ -z "$cxx" ] || compile_header "$header" "$cxx" c++ ;;
        esac
    done < <(grep '\.h$' "$WORK/c_files") >"$WORK/alone"
    law "every header compiles alone, the public ones also as C++" "$WORK/alone"
}

check_size()
{
    local file lines
    : >"$WORK/long"
    while IFS= read -r file; do
        lines=$(wc -l <"$file")
        if [ "$lines" -gt 800 ]; then
            echo "$file: $lines lines, more than 800: it holds more than one concept"
        elif [ "$lines" -gt 500 ]; then
            echo "$file: $lines lines" >>"$WORK/long"
        fi
    done < <(grep -E '\.(c|h)$' "$WORK/c_files") >"$WORK/size"
    law "no C file is longer than 800 lines" "$WORK/size"
    sed 's/^/# long, though allowed: /' "$WORK/long"
}

check_top()
{
    local allowed='daemon|client-lib|proto|systemd|tests|bench|docs|CMakeLists\.txt'
    allowed="$allowed|CMakePresets\.json|README(\.md)?|CONTRIBUTING\.md|LICENSE|CHANGELOG(\.md)?"
    allowed="$allowed|demo\.sh|test\.sh|\..+"
    sed 's|/.*||' "$WORK/files" | sort -u | grep -vxE "$allowed" |
        sed 's/$/: not one of the entries that the top level has/' >"$WORK/top"
    law "the top level holds what was agreed" "$WORK/top"
}

check_licence()
{
    local file
    while IFS= read -r file; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' ||
            echo "$file: none of its first three lines has the SPDX identifier"
    done < <(
        grep -E -e '\.(c|h|cc|cpp|hpp|def|proto|pml|sh|awk|cmake|map|py|in|service)$' \
            -e '(^|/)CMakeLists\.txt$|^\.ci/run$' "$WORK/files"
    ) >"$WORK/spdx"
    law "every source file names its licence" "$WORK/spdx"
}

# Nothing of the machine it was written on. The brackets keep this file from finding itself.
check_machine()
{
    local path='(^|[^A-Za-z0-9_.$}])/([w]ork|[r]oot|[h]ome|[U]sers|[m]nt)/[A-Za-z0-9._-]'
    local host='[a-z0-9]\.([d]ebian\.org|[u]buntu\.com|[p]ypi\.org|[p]ythonhosted\.org'
    host+='|[c]rates\.io|[n]pmjs\.(org|com)|[g]olang\.org)'
    local address='(^|[^0-9.])([1]0|[1]92\.168)\.[0-9]+\.[0-9]+'
    grep -v '^LICENSE$' "$WORK/files" |
        xargs -d '\n' grep -nIE "$path|$host|$address" /dev/null | cut -c -160 |
        sed 's/:\([0-9]*\):/:\1: a path or host of a machine: /' >"$WORK/machine"
    law "no path of a machine, no package host" "$WORK/machine"
}

check_shell()
{
    if command -v shellcheck >/dev/null; then
        grep -E '\.sh$|^\.ci/run$' "$WORK/files" | xargs -d '\n' -r -n 12 -P "$(nproc)" \
            shellcheck -x -S warning -f gcc >"$WORK/shell" 2>&1
        law "shellcheck warns of nothing" "$WORK/shell"
    else
        COUNT=$((COUNT + 1))
        echo "ok $COUNT - shellcheck warns of nothing # SKIP shellcheck is not installed"
    fi
}

# A test that no CMake file names is built nowhere, and nothing else would tell: it is the CMake
# files of its own folder that have to.
check_built()
{
    local folder file
    grep -E '^tests/(.*/)?test_[^/]*\.(c|cc|cpp|sh)$' "$WORK/files" >"$WORK/test_files"
    sed 's|/[^/]*$||' "$WORK/test_files" | sort -u | while IFS= read -r folder; do
        grep -E "^$folder/([^/]*\.cmake|CMakeLists\.txt)\$" "$WORK/files" |
            xargs -d '\n' -r awk -f "$HERE/built.awk" | sort -u >"$WORK/named"
        grep "^$folder/[^/]*\$" "$WORK/test_files" | while IFS= read -r file; do
            file=${file##*/}
            grep -qxF -- "${file%.*}" "$WORK/named" ||
                echo "$folder/$file: no CMake file of $folder names it: it is built nowhere"
        done
    done >"$WORK/found"
    law "every test is named in a CMake file of its folder" "$WORK/found"
}

# What test.sh needs of each test: a suite, and a limit. A wall time limit of ctest's own would end
# what is only slow.
check_tests()
{
    [ -n "$BUILD" ] || return
    find "$BUILD" -name CTestTestfile.cmake -exec cat {} + | awk '
        /^add_test\(/ { name = $1; sub(/^add_test\(/, "", name); tests[name] = "" }
        /^set_tests_properties\(/ {
            name = $1
            sub(/^set_tests_properties\(/, "", name)
            tests[name] = tests[name] $0
        }
        END { for (name in tests) {
            shown = name; gsub(/^\[=*\[|\]=*\]$/, "", shown)
            labels = ""
            if (match(tests[name], / LABELS "[^"]*"/))
                labels = substr(tests[name], RSTART + 9, RLENGTH - 10)
            n_suites = n_limits = 0
            n_labels = split(labels, label, ";")
            for (i = 1; i <= n_labels; i++) {
                if (label[i] ~ /^(unit|plugins|law|system|hostile|model|stress|rig)$/) n_suites++
                else if (label[i] ~ /^cpu-[1-9][0-9]*$/) n_limits++
                else if (label[i] !~ /^(alone|all)$/)
                    print shown ": the label " label[i] " means nothing"
            }
            if (n_suites != 1) print shown ": LABELS has not one of the suites"
            if (n_limits != 1) print shown ": LABELS has no limit of processor time, cpu-SECONDS"
            if (tests[name] ~ / TIMEOUT "/)
                print shown ": TIMEOUT ends what is only slow; LABELS has the limit"
            n++ }
            if (!n) print "no test is registered" }' | sort >"$WORK/tests"
    law "every registered test has a suite and a limit, which is of processor time" "$WORK/tests"
}

# shellcheck source=tests/law/text.sh
. "$HERE/text.sh"
# shellcheck source=tests/law/documents.sh
. "$HERE/documents.sh"
# shellcheck source=tests/law/labels.sh
. "$HERE/labels.sh"
# shellcheck source=tests/law/rules.sh
. "$HERE/rules.sh"
# shellcheck source=tests/law/proofs.sh
. "$HERE/proofs.sh"

list_files >"$WORK/files"
grep -E '\.(c|h|def)$' "$WORK/files" >"$WORK/c_files"
if [ ! -s "$WORK/c_files" ]; then
    echo "not ok 1 - there are no C files in $ROOT"
    exit 1
fi
for group in "${GROUPS_RUN[@]}"; do
    "check_$group" || exit 2
done
echo "1..$COUNT"
[ $BROKEN = 0 ]
