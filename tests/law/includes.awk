# SPDX-License-Identifier: Apache-2.0
# The include graph against the law. Called by law.sh.
#
# Reads lines "FILE<tab>LINE<tab>QUOTE<tab>NAME"; needs -v layers=layers.txt, files=(the project's
# files), and order=engine_order.txt. Prints "KIND<tab>violation": layer, system, unresolved, cycle,
# circle, order.

function directory(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }

# Removes "." and "..".
function normal(path,    n, part, out, i, m) {
    n = split(path, part, "/")
    m = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "" || part[i] == ".") continue
        if (part[i] == ".." && m > 0) m--
        else out[++m] = part[i]
    }
    path = out[1]
    for (i = 2; i <= m; i++) path = path "/" out[i]
    return path
}

# The layer that a file belongs to: the longest folder of layers.txt.
function layer_of(path,    best, l) {
    for (l in allowed)
        if (index(path, l "/") == 1 && length(l) > length(best)) best = l
    return best
}

# The project file that an include means, "" for one that is none of the project's.
function resolve(from, quote, name,    path) {
    if (quote == "\"") {
        path = normal(directory(from) "/" name)
        if (path in project) return path
    }
    if (name in project) return name
    path = "client-lib/include/" name
    if (path in project) return path
    if (name ~ /^proto\/[a-z_]+\.pb-c\.h$/) return name # generated
    return ""
}

function may(from, to,    l, n, i, words, word) {
    l = layer_of(from)
    if (l == "" || layer_of(to) == l || allowed[l] == "*") return 1
    n = split(allowed[l], words, " ")
    for (i = 1; i <= n; i++) {
        word = words[i]
        if (index(to, word "/") == 1) return 1
        if (index(to, "client-lib/include/odeon/") != 1) continue
        if (word == "public") return 1
        if (word == "plugin" && to ~ /\/(plugin|message|names|version)(_macros)?\.h$/) return 1
        if (word == "version" && to ~ /\/version\.h$/) return 1
    }
    return 0
}

# Depth first; a header met again on the way down closes a cycle.
function visit(m, way,    n, i, next_of) {
    state[m] = 1
    n = split(edges[m], next_of, "\n")
    for (i = 1; i <= n; i++) {
        if (next_of[i] == "") continue
        if (state[next_of[i]] == 1) {
            way = way " -> " next_of[i]
            print "cycle\t" substr(way, index(way, next_of[i]))
        } else if (!state[next_of[i]]) visit(next_of[i], way " -> " next_of[i])
    }
    state[m] = 2
}

# A source and its header are one module: what a circle of modules is made of, although no header
# includes itself. In these folders there is none; the engine's order leaves no room for one.
function module(path) { sub(/\.[a-z]+$/, "", path); return path }
function has_no_circles(path)
{
    sub(/^client-lib\/ctl\/(doctor|top|trace)\//, "client-lib/ctl/", path)
    return path ~ /^daemon\/(common|executor|supervisor)\/[a-z_]+\.[ch]$/ ||
        path ~ /^client-lib\/(src|ctl|exporter)\/[a-z_]+\.[ch]$/
}

function visit_module(m, way,    n, i, next_of) {
    module_state[m] = 1
    n = split(module_edges[m], next_of, "\n")
    for (i = 1; i <= n; i++) {
        if (next_of[i] == "") continue
        if (module_state[next_of[i]] == 1) {
            way = way " -> " next_of[i]
            print "circle\t" substr(way, index(way, next_of[i]))
        } else if (!module_state[next_of[i]]) visit_module(next_of[i], way " -> " next_of[i])
    }
    module_state[m] = 2
}

function note_modules(from, to,    a, b) {
    a = module(from); b = module(to)
    if (a == b || !has_no_circles(from) || directory(from) != directory(to)) return
    if ((a, b) in module_seen) return
    module_seen[a, b] = 1
    module_edges[a] = module_edges[a] b "\n"
    if (!(a in module_known)) module_known[modules[++n_modules] = a] = 1
}

# A source of the engine and its header are one module.
function engine_module(path) {
    sub(/^daemon\/engine\//, "", path)
    sub(/\.[a-z]+$/, "", path)
    return path
}

function check_order(from, line, to,    a, b) {
    if (index(from, "daemon/engine/") != 1) return
    a = engine_module(from)
    if (!(a in rank)) {
        if (!(a in told))
            print "order\t" from ": has no place in the order of layers" \
                " (tests/law/engine_order.txt)"
        told[a] = 1
        return
    }
    if (index(to, "daemon/engine/") != 1 || to == "daemon/engine/engine.h") return
    b = engine_module(to)
    if (a == b || !(b in rank) || rank[b] <= rank[a]) return
    print "order\t" from ":" line ": " a " is a lower layer than " b
}

BEGIN {
    while ((getline line <files) > 0) project[line] = 1
    while ((getline line <order) > 0) {
        n = split(line, word, " ")
        if (word[1] == "room") for (i = 3; i <= n; i++) rank[word[2] "/" word[i]] = ++ranks
        if (word[1] == "face") for (i = 2; i <= n; i++) rank[word[i]] = 100000
    }
    while ((getline line <layers) > 0) {
        if (line ~ /^#/ || line !~ /[^ ]/) continue
        split(line, word, " ")
        l = word[1]
        sub(/^[^ ]+ +/, "", line)
        allowed[l] = line
    }
    # Libraries by layer. The engine is what the project exists for and uses none; what two
    # processes agree on calls no system; nothing of the supervisor can map foreign code.
    libraries = "^(uv|hwloc|hwloc/.*|protobuf-c/.*|systemd/.*|libsmartcols/.*|microhttpd|n?curses" \
        "|term|cmocka|google/.*)\\.h$"
    banned["daemon/engine"] = libraries "|^dlfcn\\.h$"
    banned["proto"] = libraries "|^(dlfcn|stdlib|stdio|unistd|fcntl|pthread|sys/.*|linux/.*)\\.h$"
    # snprintf() and strtod(), which call no system either: of proto, one file writes the texts of
    # refusals and reads the numbers that people write.
    spared["proto/fields_fill.c", "stdio.h"] = spared["proto/fields_fill.c", "stdlib.h"] = 1
    banned["client-lib/include"] = libraries
    banned["daemon/supervisor"] = "^(dlfcn|hwloc|hwloc/.*)\\.h$"
    banned["daemon/common"] = "^(uv|hwloc|hwloc/.*|dlfcn)\\.h$"
}

{
    from = $1; line = $2; quote = $3; name = $4
    to = resolve(from, quote, name)
    if (to == "") {
        if (quote == "\"" || name ~ /^odeon\//)
            print "unresolved\t" from ":" line ": no file of the project is " name
        l = layer_of(from)
        if (l in banned && name ~ banned[l] && !((from, name) in spared))
            print "system\t" from ":" line ": " l " does without <" name ">"
        next
    }
    if (!may(from, to)) print "layer\t" from ":" line ": " layer_of(from) " must not include " to
    check_order(from, line, to)
    note_modules(from, to)
    if (!((from, to) in seen) && from != to) {
        seen[from, to] = 1
        edges[from] = edges[from] to "\n"
        if (!(from in nodes)) nodes[nodes[from] = ++n_nodes] = from
    }
}

END {
    for (i = 1; i <= n_modules; i++)
        if (!module_state[modules[i]]) visit_module(modules[i], modules[i])
    for (i = 1; i <= n_nodes; i++) if (!state[nodes[i]]) visit(nodes[i], nodes[i])
}
