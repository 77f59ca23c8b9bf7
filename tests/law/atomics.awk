# SPDX-License-Identifier: Apache-2.0
# The atomic words of C files. Called by law.sh.
#
# Prints "FILE<tab>LINE<tab>NAME" for each member and variable with _Atomic in its type; parameters
# and local pointers are ways to a word, not words. The text is the formatter's: a declaration is on
# lines of its own.

function names(text,    n, i, part, word) {
    gsub(/\[[^]]*\]/, "", text)
    sub(/;$/, "", text)
    n = split(text, part, ",")
    for (i = 1; i <= n; i++) {
        word = part[i]
        sub(/=.*/, "", word)
        sub(/ +$/, "", word)
        if (match(word, /[A-Za-z_][A-Za-z0-9_]*$/))
            print FILENAME "\t" begun "\t" substr(word, RSTART, RLENGTH)
        else
            print FILENAME "\t" begun "\tunread"
    }
}

{
    gsub(/\/\*[^*]*\*\//, "")
    sub(/\/\*.*/, "")
    sub(/ +$/, "")
}
# The rest of a comment that began on an earlier line.
/^ *\*/ { next }
open { text = text " " $0; if (!/;$/) next; open = 0; if (text !~ /\(/) names(text); next }
!/_Atomic/ || /^ *#/ { next }
{
    text = $0
    begun = FNR
    # A pointer to an atomic word is none; an atomic pointer is: "struct x *_Atomic p".
    if (text ~ /_Atomic [a-z0-9_ ]*\*/) next
    gsub(/alignas\([^)]*\)/, "", text)
    sub(/_Atomic\([^()]*\)/, "_Atomic", text)
    if (text ~ /\)$|,$/ && text ~ /\(/) next
    if (text !~ /;$/) { open = 1; next }
    if (text ~ /\(/ && text !~ /=/) next
    names(text)
}
