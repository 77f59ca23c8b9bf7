# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The laws of labels: rules, and mutants of models. Part of law.sh and of rules.sh, whose variables
# and functions it uses.

# Where each label is declared, cited, checked: see labels.awk.
list_labels()
{
    [ -e "$WORK/labels" ] || grep -E '\.(c|h|def|pml|md)$' "$WORK/files" |
        xargs -d '\n' awk -f "$HERE/labels.awk" >"$WORK/labels"
}

# The mutants that models have: names of switches in their text and in the list of run.sh.
list_mutants()
{
    grep -E '^tests/model/.*\.(pml|sh)$' "$WORK/files" | xargs -d '\n' -r cat |
        grep -oE '\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b' | sort -u
}

check_labels()
{
    list_labels
    awk -F '\t' '
        $1 == "declared" && $2 in at { print $3 "\t" $3 ":" $4 ": " $2 " is declared at " at[$2] }
        $1 == "declared" && !($2 in at) { at[$2] = $3 ":" $4 }
        $1 == "foreign" { print $3 "\t" $3 ":" $4 ": " $2 " is not a rule of this file" }
        ' "$WORK/labels" >"$WORK/found"
    [ -s "$WORK/labels" ] || echo "docs	no rule is declared anywhere" >"$WORK/found"
    pending declared
    law "a rule is declared once, in the file whose name it carries" "$WORK/found"
    awk -F '\t' '
        $1 == "declared" { declared[$2] = 1; sub(/.*\./, "", $2); short[$2] = 1; next }
        { line[++n] = $0 }
        END {
            for (i = 1; i <= n; i++) {
                split(line[i], f, "\t")
                where = f[3] "\t" f[3] ":" f[4] ": "
                if (f[1] == "bare" && f[2] in short) print where f[2] ": of which module?"
                if ((f[1] == "cited" || f[1] == "checked") && !(f[2] in declared) &&
                    f[2] !~ /^module\./) print where f[2] " is declared nowhere"
            }
        }' "$WORK/labels" >"$WORK/found"
    pending cited
    law "what cites a rule names its module, and the rule is there" "$WORK/found"
    list_mutants >"$WORK/mutants"
    awk -F '\t' -v list="$WORK/mutants" '
        BEGIN { while ((getline name <list) > 0) mutant[name] = 1 }
        $1 == "mutant" && !($2 in mutant) {
            print $3 "\t" $3 ":" $4 ": [" $2 "] is no mutant of a model" }
        ' "$WORK/labels" >"$WORK/found"
    pending mutants
    law "every name in brackets is a mutant of a model" "$WORK/found"
}
