# SPDX-License-Identifier: Apache-2.0
# Words of which a unit of work touches more, or moves more between processors, with more workers:
# from the lines of run.sh. One row a word, its figures from the fewest to the most workers.

function value(name,    i, part) {
    for (i = 1; i <= NF; i++) {
        split($i, part, "=")
        if (part[1] == name) return part[2]
    }
    return ""
}

function grows(least, most) {
    return most > 1.5 * least && most > least + 0.05
}

$1 == "bench=count_word" {
    key = "traffic=" value("traffic") " spread=" value("spread") " unit=" value("unit") \
        " word=" value("word")
    workers = value("workers") + 0
    if (!(key in seen)) order[++n] = key
    seen[key] = 1
    counts[workers] = 1
    lines[key, workers] = value("lines")
    foreign[key, workers] = value("foreign")
}
# A unit that did not happen with so many workers says nothing of its words there.
$1 == "bench=count_unit" {
    happened["traffic=" value("traffic") " spread=" value("spread") " unit=" value("unit"),
        value("workers") + 0] = 1
}

END {
    for (i = 1; i <= n; i++) {
        key = order[i]
        unit = key
        sub(/ word=.*/, "", unit)
        first = last = 0
        for (workers = 1; workers <= 64; workers++)
            if ((workers in counts) && ((unit, workers) in happened)) {
                if (!first) first = workers
                last = workers
            }
        if (first == last ||
            !(grows(lines[key, first] + 0, lines[key, last] + 0) ||
                grows(foreign[key, first] + 0, foreign[key, last] + 0)))
            continue
        row = "growth " key
        text_lines = text_foreign = ""
        for (workers = first; workers <= last; workers++)
            if ((workers in counts) && ((unit, workers) in happened)) {
                text_lines = text_lines "," workers ":" lines[key, workers] + 0
                text_foreign = text_foreign "," workers ":" foreign[key, workers] + 0
            }
        print row " lines=" substr(text_lines, 2) " foreign=" substr(text_foreign, 2)
    }
}
