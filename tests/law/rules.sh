# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The law of rules: each has something that fails when it is broken, or a line that says why not.
# Part of law.sh, whose variables and functions it uses.
#
# A rule of the product (client-lib, daemon, proto) is enough by itself if a check() in there names
# it, if its own text names a mutant of a model, or if a model names it. Every other one has a line
# in unchecked.txt:
#
#   module.K1  shown SUITE/NAME TEST...[: text]   those functions test_TEST are in test_NAME.c;
#                                                 SUITE/NAME.sh stands alone
#   module.K1  built PATH: text                   the compiler or linker keeps it, by what PATH says
#   module.K1  unseen: text                       why nothing that runs could tell
#
# A line that is not needed, names no rule, has no reason, or names what is not there, breaks the
# law itself.

# The rules of the product, one a line, of those listed in $WORK/labels.
product_rules()
{
    awk -F '\t' '$1 == "declared" && $3 ~ /^(client-lib|daemon|proto)\// { print $2 }' \
        "$WORK/labels" | sort -u
}

# Those of them that have a check or a model.
rules_with_either()
{
    awk -F '\t' -v list="$WORK/mutants" '
        BEGIN { while ((getline name <list) > 0) mutant[name] = 1 }
        $1 == "runs" && $3 ~ /^(client-lib|daemon|proto)\// { print $2 }
        $1 == "cited" && $3 ~ /^tests\/model\/.*\.pml$/ { print $2 }
        $1 == "mutant" && $2 in mutant && $5 != "" { print $5 }' "$WORK/labels" | sort -u
}

# rules_reason REASON: says what is wrong with it, if anything.
rules_reason()
{
    local kind=${1%%[ :]*} names=${1%%:*} text='' where name file
    [[ $1 != *:* ]] || text=${1#*:}
    read -ra names <<<"$names"
    where=${names[1]-}
    case $kind in
    shown)
        file=tests/${where%/*}/test_${where##*/}.c
        [[ $where != *.sh ]] || file=tests/$where
        if [ -z "$where" ] || [ ! -f "$file" ]; then
            echo "there is no test $where"
            return
        fi
        [[ $where == *.sh ]] || [ ${#names[@]} -gt 2 ] || echo "which test of $where?"
        for name in "${names[@]:2}"; do
            grep -q "\\btest_$name(" "$file" || echo "$where has no test $name"
        done
        ;;
    built)
        if [ -z "$where" ] || [ ! -f "$where" ]; then
            echo "there is no file $where"
        elif [ "$(wc -w <<<"$text")" -lt 3 ]; then
            echo "built: by what?"
        fi
        ;;
    unseen) [ "$(wc -w <<<"$text")" -ge 5 ] || echo "unseen: why?" ;;
    *) echo "has no reason: shown, built or unseen" ;;
    esac
}

check_rules()
{
    local list=$ROOT/tests/law/unchecked.txt line label fault
    local said='' number=0
    [ -e "$list" ] || list=/dev/null
    list_labels
    list_mutants >"$WORK/mutants"
    product_rules >"$WORK/rules"
    rules_with_either >"$WORK/either"
    sed -nE 's/^([a-z_]+\.[A-Z0-9]+).*/\1/p' "$list" | sort >"$WORK/excused"
    comm -23 "$WORK/rules" "$WORK/either" | comm -23 - <(sort -u "$WORK/excused") |
        while IFS= read -r label; do
            said=$(awk -F '\t' -v l="$label" \
                '$1 == "declared" && $2 == l { print $3 ":" $4; exit }' "$WORK/labels")
            echo "$said: $label has neither check nor model, and no reason in unchecked.txt"
        done >"$WORK/found"
    law "every rule has a check, a model, or a reason why it has neither" "$WORK/found"
    while IFS= read -r line; do
        number=$((number + 1))
        [[ $line =~ ^(#.*)?$ ]] && continue
        label=${line%% *}
        if ! grep -qxF -- "$label" "$WORK/rules"; then
            fault="is no rule of the product"
        elif grep -qxF -- "$label" "$WORK/either"; then
            fault="has a check or a model: the line is not needed"
        elif [ "$(grep -cxF -- "$label" "$WORK/excused")" != 1 ]; then
            fault="stands here twice"
        else
            line=${line#"$label"}
            fault=$(rules_reason "${line#"${line%%[! ]*}"}")
        fi
        [ -z "$fault" ] || echo "tests/law/unchecked.txt:$number: $label: ${fault//$'\n'/, }"
    done <"$list" >"$WORK/found"
    law "what has neither says why, and what it says is there" "$WORK/found"
}
