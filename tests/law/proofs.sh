# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The law of proofs: what the README files of models, simulator and crash points say of mutants and
# deliberate bugs is what the programs have. Part of law.sh, whose variables and functions it uses.
MODELS=tests/model/README.md MODEL_ROWS=tests/model/run.sh

# How many mutants a row, and those behind it that are "the same", say; and models that have none.
compare_mutants()
{
    awk -v page=$MODELS -v rows=$MODEL_ROWS '
        FNR == NR { if ($1 == "breaks") mutants[$4]++; next }
        match($0, /^\| `[a-z_]+\.pml`/) { model = substr($0, 4, RLENGTH - 8) }
        /^\| (`[a-z_]+\.pml`|the same with) / && match($0, /[0-9]+ mutants/) {
            said[model] += substr($0, RSTART)
        }
        END {
            for (model in said) if (said[model] != mutants[model])
                print rows ": " mutants[model] + 0 " rows break " model ", and " page " says " \
                    said[model] " mutants"
            if (!length(said)) print page ": says of no model how many mutants it has"
        }' $MODEL_ROWS $MODELS
    sed -nE 's/^\| `([a-z_]+)[` ].*/\1/p' $MODELS | sort -u | while IFS= read -r model; do
        [ -f "tests/model/$model.pml" ] || echo "$MODELS: there is no model $model"
    done
}

# compare_bugs FOLDER MACRO: MACRO(NAME...) in its main.c is a bug, and the first column of the
# table of seeds on its page has them all.
compare_bugs()
{
    local page=$1/README.md list=$1/main.c
    grep -oE "\\b$2\\([a-z_]+[,)]" "$list" | grep -v "(name[,)]" | sed -E 's/.*\(([a-z_]+).*/\1/' |
        sort -u >"$WORK/bugs"
    awk -F '|' '
        /^\| seed \| broken rule \|/ { table = 1 }
        /^ *$/ { table = 0 }
        table && /^\| `/ {
            n = split($2, word, /[^a-z_]+/)
            for (i = 1; i <= n; i++) if (word[i] != "") print word[i]
        }' "$page" | sort -u >"$WORK/bugs_said"
    [ -s "$WORK/bugs" ] || echo "$list: has no deliberate bugs"
    comm -23 "$WORK/bugs" "$WORK/bugs_said" | sed "s|.*|$list: & has no row on $page|"
    comm -13 "$WORK/bugs" "$WORK/bugs_said" | sed "s|.*|$page: there is no & in $list|"
}

check_proofs()
{
    {
        compare_mutants
        compare_bugs tests/sim BUG
        compare_bugs tests/crashpoints SEED_OF
    } 2>&1 | sort >"$WORK/found"
    law "pages on proofs have the mutants and bugs that there are" "$WORK/found"
}
