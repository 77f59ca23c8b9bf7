# SPDX-License-Identifier: Apache-2.0
# What CMake files name of tests. Called by law.sh, with the CMake files of one folder.
#
# Prints each word of a command that begins with "test_", without folder and extension, once
# variables of foreach() and the first parameter of function() have been put in: of
# "foreach(name a b)" and "test_${name}.c" it prints test_a and test_b. Other variables are not
# known, and comments name nothing.

{ sub(/(^|[ \t])#.*/, "") }
FNR == 1 { read_commands(text); text = "" }
{ text = text " " $0 }
END { read_commands(text) }

# Where the bracket before `s` is closed.
function closing(s,    i, depth, c) {
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        if (c == "(") depth++
        if (c == ")" && depth-- == 0) return i
    }
    return length(s) + 1
}

function read_commands(s,    command, end) {
    n_loops = 0
    body_of = ""
    while (match(s, /[A-Za-z_][A-Za-z_0-9]* *\(/)) {
        command = substr(s, RSTART, RLENGTH - 1)
        gsub(/ /, "", command)
        s = substr(s, RSTART + RLENGTH)
        end = closing(s)
        read_command(command, substr(s, 1, end - 1))
        s = substr(s, end + 1)
    }
}

function read_command(command, arguments,    word, n, i) {
    n = split(arguments, word, /[^A-Za-z0-9_.\/${}-]+/)
    i = n > 0 && word[1] == "" ? 2 : 1
    if (command == "foreach") {
        loop_variable[++n_loops] = word[i]
        loop_values[n_loops] = arguments
    } else if (command == "endforeach") {
        n_loops--
    } else if (command == "function") {
        body_of = word[i]
        parameter[body_of] = word[i + 1]
    } else if (command == "endfunction") {
        body_of = ""
    } else {
        if (command in parameter) call(command, word[i])
        for (; i <= n; i++) name(word[i])
    }
}

function call(function_name, argument,    templates, n, i) {
    n = split(template[function_name], templates, " ")
    for (i = 1; i <= n; i++) name(put(templates[i], parameter[function_name], argument))
}

# `text` with `value` in the place of a variable.
function put(text, variable, value,    from, at) {
    from = "${" variable "}"
    at = index(text, from)
    return substr(text, 1, at - 1) value substr(text, at + length(from))
}

function name(text,    word, n, i, k) {
    for (k = n_loops; k > 0; k--)
        if (index(text, "${" loop_variable[k] "}")) {
            n = split(loop_values[k], word, /[^A-Za-z0-9_.\/-]+/)
            for (i = 1; i <= n; i++)
                if (word[i] != "") name(put(text, loop_variable[k], word[i]))
            return
        }
    if (body_of != "" && index(text, "${" parameter[body_of] "}")) {
        template[body_of] = template[body_of] " " text
        return
    }
    sub(/^.*\//, "", text)
    sub(/\.[a-z]+$/, "", text)
    if (text ~ /^test_[A-Za-z0-9_]+$/) print text
}
