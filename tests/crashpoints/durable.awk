# SPDX-License-Identifier: Apache-2.0
# The routines of the engine that store what outlives it, by the text of its C files, as the
# formatter lays them out. Called by unstepped.sh.
#
# Prints "FILE<tab>NAME" for each function that has, in its own text, a store through a pointer to
# a struct of the segment, of a port's memory or of a message; a store into one of the segment's
# tables; or a call by which a record is sent, a turn committed, a timer armed, claimed or ended.

BEGIN {
    types = "(segment_[a-z_]+|outbox_run|port_executor|port_client|envelope|refusal|no_answer|down)"
    tables = "(header|workers|queues|actors|states|args|message_types|actor_types|phases|timers" \
        "|names|ports)"
    writers = "(store_relaxed|store_release|atomic_[a-z_]+|pair_store[a-z_]*|commit_store|memcpy" \
        "|memmove|memset|strcpy|snprintf|envelope_word_put)"
    appends = "(outbox_append|place_record|timer_fire_copy|compose_send" \
        "|commit_(flip|direct|aside)|timers_(arm|claim|end|give|take))"
}

FNR == 1 { inside = 0; head = ""; comment = 0 }
comment { if (/\*\//) comment = 0; next }
/^ *#/ { next }
/^ *\/\*/ { comment = !/\*\//; next }
{ gsub(/\/\*[^*]*\*\//, "") }
/\/\*/ { sub(/\/\*.*/, ""); comment = 1 }
inside && /^}/ { judge(); inside = 0; head = ""; next }
inside { body = body " " $0; next }
/^{$/ { inside = 1; body = ""; next }
/[;}]$/ || /^$/ { head = ""; next }
{ head = head " " $0 }

function judge(    s, n, i, statement, name, declaration) {
    name = head
    gsub(/__attribute__ *\(\([^)]*\)+/, "", name)
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    delete durable
    s = head " " body
    while (match(s, "struct " types " \\**[a-z_]+( = [^;,]*(, \\*[a-z_]+)?)?")) {
        declaration = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        note(declaration)
    }
    n = split(body, statement, /[;{}]/)
    for (i = 1; i <= n; i++)
        if (stores(statement[i])) {
            print FILENAME "\t" name
            return
        }
}

# "struct T *a" and "struct T *a = x, *b".
function note(declaration,    s) {
    s = declaration
    while (match(s, /\*+[a-z_]+/)) {
        durable[substr(s, RSTART + 1, RLENGTH - 1)] = 1
        s = substr(s, RSTART + RLENGTH)
    }
}

function stores(text,    left, s, is_declared) {
    if (match(text, "(^|[^a-z_])" appends "\\(")) return 1
    s = text
    while (match(s, "(^|[^a-z_])" writers "\\([^,]*,")) {
        left = substr(s, RSTART, RLENGTH)
        sub(/^[^(]*\(/, "", left)
        if (outlives(left, 1)) return 1
        s = substr(s, RSTART + RLENGTH)
    }
    s = text
    while (match(s, /[^=!<>]= /)) {
        left = substr(s, 1, RSTART)
        s = substr(s, RSTART + RLENGTH)
        is_declared = left ~ /(^|[^a-z_])(struct|const|u?int[0-9]+_t|bool|unsigned|actor_ref) /
        sub(/[-+|&^*]? *$/, "", left)       # the rest of "|="
        sub(/.*([,?:=|&]|\)) */, "", left) # what stands before it: a condition, another value
        if (!is_declared && outlives(left, 0)) return 1
    }
    return match(text, /[][A-Za-z0-9_.>-]+\+\+/) && outlives(substr(text, RSTART, RLENGTH), 0)
}

# `whole`: a pointer by itself is written through.
function outlives(left, whole,    name) {
    if (left ~ ("(segment\\.|segment->|[^a-z_]s->|^s->)" tables "(\\[|->)")) return 1
    for (name in durable) {
        if (left ~ ("(^|[^a-z_>.])" name "(->|\\[)")) return 1
        if (left ~ ("(^|[^a-z_>.])\\*" name "([^a-z_]|$)")) return 1
        if (whole && left ~ ("(^|[^a-z_>.&])" name "([^a-z_]|$)")) return 1
    }
    return 0
}
