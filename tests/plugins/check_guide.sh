#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check_guide.sh EXAMPLES-DIR DOCUMENT...
# Every block of C or C++ in the documents says which file of the examples it is from (```c FILE),
# and is in there, line by line,
# without a gap.  So what a reader copies is what the tests compile and run.
set -u
examples=$1
shift
awk -v examples="$examples" '
function check(    n, line, whole) {
    blocks++
    whole = "\n"
    while ((getline line < (examples "/" file)) > 0)
        whole = whole line "\n"
    close(examples "/" file)
    if (whole == "\n") {
        printf "FAIL %s: no file %s\n", start, file
        failed = 1
    } else if (index(whole, "\n" block) == 0) {
        printf "FAIL %s: the block is not in %s\n", start, file
        failed = 1
    } else
        printf "ok   %s: %s\n", start, file
}
/^```/ && inside { if (wanted) check(); inside = 0; next }
/^```/ {
    inside = 1
    wanted = ($1 == "```c" || $1 == "```cpp" || $1 == "```")
    if ($1 == "```c" || $1 == "```cpp") {
        if (NF != 2) {
            printf "FAIL %s:%d: a block without a file\n", FILENAME, FNR
            failed = 1
            wanted = 0
        }
    } else
        wanted = 0
    file = $2; block = ""; start = FILENAME ":" FNR
    next
}
inside { block = block $0 "\n" }
END {
    if (blocks < 10) { printf "FAIL only %d blocks\n", blocks; failed = 1 }
    exit failed
}' "$@"
