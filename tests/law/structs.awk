# SPDX-License-Identifier: Apache-2.0
# The largest struct that more than two modules use. Called by figures.sh on C files.
#
# A struct's fields are its top-level members, those of a member without a name included. A module
# (a source and its header) uses a field when it has it behind a variable of the struct's type: one
# that the file declares, or a member that headers declare with this type alone. That is read from
# the text, so a field behind a call or a macro's argument is missed.
#
# Prints "NAME<tab>FIELDS<tab>MODULES<tab>SHARED": modules that use it, fields that more than two
# of them use. Nothing: there is none.

function module(path) { sub(/\.[a-z]+$/, "", path); return path }

# Without comments, strings, and lines for the preprocessor.
{
    line = $0
    if (FNR == 1) inside = directive = 0
    if (!(FILENAME in text)) { file[++n_files] = FILENAME; text[FILENAME] = "" }
    clean = ""
    while (line != "") {
        if (inside) {
            at = index(line, "*/")
            if (!at) { line = ""; break }
            line = substr(line, at + 2)
            inside = 0
        }
        if (!match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/)) { clean = clean line; break }
        found = substr(line, RSTART, 2)
        clean = clean substr(line, 1, RSTART - 1)
        if (found == "//") break
        if (found == "/*") { inside = 1; line = substr(line, RSTART + 2) }
        else { clean = clean "0"; line = substr(line, RSTART + RLENGTH) }
    }
    if (directive || clean ~ /^ *#/) {
        directive = clean ~ /\\$/
        next
    }
    text[FILENAME] = text[FILENAME] clean "\n"
}

# What is behind `from` up to the brace that closes the one at `from`.
function body_of(s, from,    depth, at, c) {
    for (at = from; at <= length(s); at++) {
        c = substr(s, at, 1)
        if (c == "{") depth++
        else if (c == "}" && --depth == 0) return substr(s, from + 1, at - from - 1)
    }
    return ""
}

# One declaration's names, into member[name]. Brackets and arguments are gone.
function declare(s, member,    n, i, part, name) {
    while (s ~ /\(\*[^()]*\)\([^()]*\)/) { # a function's address
        match(s, /\(\*[^()]*\)\([^()]*\)/)
        name = substr(s, RSTART + 2, RLENGTH - 2)
        sub(/\).*/, "", name)
        s = substr(s, 1, RSTART - 1) " " name " " substr(s, RSTART + RLENGTH)
    }
    while (gsub(/\([^()]*\)|\[[^][]*\]/, " ", s)) ;
    n = split(s, part, ",")
    for (i = 1; i <= n; i++) {
        sub(/:[^:]*$/, "", part[i])
        sub(/[ \n]+$/, "", part[i])
        if (match(part[i], /[A-Za-z_][A-Za-z0-9_]*$/)) member[substr(part[i], RSTART)] = 1
    }
}

# The members that a struct's body has.
function members(s, member,    at, c, inner, rest, declaration) {
    declaration = ""
    for (at = 1; at <= length(s); at++) {
        c = substr(s, at, 1)
        if (c == "{") {
            inner = body_of(s, at)
            at += length(inner) + 1
            rest = substr(s, at + 1)
            if (declaration ~ /(^|[^a-z_])(struct|union)[ \n]*$/ && rest ~ /^[ \n]*;/) {
                members(inner, member)
                declaration = ""
            } else declaration = declaration " "
        } else if (c == ";") {
            declare(declaration, member)
            declaration = ""
        } else declaration = declaration c
    }
}

function note_structs(path,    s, name, head, member, m) {
    s = text[path]
    while (match(s, /struct +(alignas\([^)]*\) +|ODEON_[A-Z_]+ +)?[a-z_][a-z0-9_]*[ \n]*\{/)) {
        head = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH - 1)
        name = head
        sub(/[ \n]*\{$/, "", name)
        sub(/.*[ )]/, "", name)
        split("", member)
        members(body_of(s, 1), member)
        # One name may stand for two structs: each is counted by itself, the larger one is kept.
        m = 0
        head = ""
        for (field in member) { m++; head = head field " " }
        if (m > n_fields[name]) { n_fields[name] = m; fields[name] = head }
    }
}

# Variables of the type in `s`: `ends` is what stands behind the name.
function variables(s, name, ends, variable,    found) {
    while (match(s, "struct +" name "[ \n]+[*]*( *const +)?[*]*[a-z_][A-Za-z0-9_]*[ \n]*" ends)) {
        found = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        sub("[ \n]*" ends "$", "", found)
        sub(/.*[ *\n]/, "", found)
        variable[found] = 1
    }
}

# Without the names that members of other types have, too.
function forget_others(name, variable,    i, s, found) {
    for (i = 1; i <= n_files; i++) {
        if (file[i] !~ /\.h$/) continue
        s = text[file[i]]
        while (match(s, /struct +[a-z_0-9]+[ \n]+[*]*[a-z_][A-Za-z0-9_]*[ \n]*;/)) {
            found = substr(s, RSTART, RLENGTH)
            s = substr(s, RSTART + RLENGTH)
            if (found ~ "^struct +" name "[ \n]") continue
            sub(/[ \n]*;$/, "", found)
            sub(/.*[ *\n]/, "", found)
            delete variable[found]
        }
    }
}

# Who uses which field of it: used[field, module], n_users[field], and the number of modules.
function look_for(name,    i, s, at, before, variable, common, seen, user, count, field, m) {
    split("", n_users)
    split("", common)
    count = 0
    for (i = 1; i <= n_files; i++)
        if (file[i] ~ /\.h$/) variables(text[file[i]], name, "(\\[[^]]*\\])*;", common)
    forget_others(name, common)
    for (i = 1; i <= n_files; i++) {
        s = text[file[i]]
        split("", variable)
        for (m in common) variable[m] = 1
        variables(s, name, "[][,;=) ]", variable)
        m = module(file[i])
        while (match(s, /(->|\.)[a-z_][A-Za-z0-9_]*/)) {
            field = substr(s, RSTART, RLENGTH)
            sub(/^(->|\.)/, "", field)
            before = substr(s, RSTART > 80 ? RSTART - 80 : 1, RSTART > 80 ? 80 : RSTART - 1)
            s = substr(s, RSTART + RLENGTH - length(field))
            if (index(" " fields[name], " " field " ") == 0) continue
            while (sub(/\[[^][]*\]$/, "", before)) ;
            if (!match(before, /[A-Za-z_][A-Za-z0-9_]*$/)) continue
            if (!(substr(before, RSTART) in variable)) continue
            if (!((field, m) in seen)) { seen[field, m] = 1; n_users[field]++ }
            if (!(m in user)) { user[m] = 1; count++ }
        }
    }
    return count
}

END {
    for (i = 1; i <= n_files; i++) note_structs(file[i])
    for (;;) {
        best = ""
        for (name in n_fields)
            if (best == "" || n_fields[name] > n_fields[best] ||
                (n_fields[name] == n_fields[best] && name < best)) best = name
        if (best == "") exit
        users = look_for(best)
        if (users > 2) break
        delete n_fields[best]
    }
    for (field in n_users) shared += n_users[field] > 2
    print best "\t" n_fields[best] "\t" users "\t" shared + 0
}
