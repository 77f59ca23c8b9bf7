#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages say what the programs know: every command of `odeonctl help --all`, with its
# arguments, its options and its one-line description, is in odeonctl(1), and no command is there
# that the program does not have. What is said of an option in the page's section of its command
# begins as the command's help says, but for what either has in brackets.
#
#   test_ctl_manual.sh ODEONCTL MAN-FOLDER
set -eu

odeonctl=$1
man=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain()
{
    echo "FAIL: $*"
    failed=1
}

# without scdoc's marks; continued lines joined, because descriptions may be wrapped
sed 's/[*\\]//g; s/^_//; s/\([^A-Za-z0-9]\)_/\1/g; s/_\([^A-Za-z0-9]\)/\1/g' \
    "$man/odeonctl.1.scd" >"$work/page"
tr '\n\t' '  ' <"$work/page" | tr -s ' ' >"$work/text"
sed 's/^	*//' "$work/page" >"$work/options"
"$odeonctl" help --all >"$work/help"

commands=0
options=0
while IFS= read -r line; do
    case $line in
    "odeonctl "*)
        commands=$((commands + 1))
        grep -qxF -- "$line" "$work/page" || complain "odeonctl.1 has no heading '$line'"
        ;;
    "  --"*)
        options=$((options + 1))
        option=$(printf '%s\n' "$line" |
            sed 's/^  \(--[a-z-]*\(\[=[A-Z]*\]\| [^ ]*[A-Z|a-z]\)\{0,1\}\) .*/\1/; s/ *$//')
        grep -qxF -- "$option" "$work/options" || complain "odeonctl.1 does not describe '$option'"
        ;;
    "  "*)
        doc=$(printf '%s\n' "$line" | tr -s ' ' | sed 's/^ //')
        grep -qF -- "$doc." "$work/text" || complain "odeonctl.1 does not say '$doc'"
        ;;
    esac
done <"$work/help"

# texts FILE: a line for each option of each command, with its text: of the page, or of the help,
# where the options of every command come last. In the page those of a chapter have no command.
texts()
{
    awk '
        function tell()
        {
            gsub(/ *\([^()]*\)/, "", text)
            if (option != "") print command "\t" option "\t" text
            option = text = ""
        }
        /^odeonctl / { tell(); command = $0; next }
        /^#/ || /^Options of every/ { tell(); command = ""; next }
        /^[ \t]*--[a-z]/ {
            tell()
            sub(/^[ \t]*/, "")
            match($0, /^--[a-z-]+(\[=[A-Z]+\]| [^ ]*[A-Z|a-z])?( |$)/)
            option = substr($0, 1, RLENGTH)
            text = substr($0, RLENGTH + 1)
            gsub(/ *$/, "", option)
            gsub(/^ */, "", text)
            next
        }
        /^[ \t]*$/ { tell(); next }
        { gsub(/[ \t]+/, " "); sub(/^ /, ""); text = text (text == "" ? "" : " ") $0 }
        END { tell() }' "$1"
}

texts "$work/help" >"$work/of_help"
texts "$work/page" >"$work/of_page"
awk -F '\t' '
    FNR == NR { said[$1 "\t" $2] = $3; next }
    {
        key = $1 "\t" $2
        page = key in said ? said[key] : said["\t" $2]
        if (index(page, $3) != 1)
            print "of " $2 " of " $1 " odeonctl.1 says \047" page "\047, the help \047" $3 "\047"
    }' "$work/of_page" "$work/of_help" >"$work/other"
while IFS= read -r line; do
    complain "$line"
done <"$work/other"

sed -n 's/^[*]\(odeonctl [a-z][^*]*\)[*]$/\1/p' "$man/odeonctl.1.scd" | sort >"$work/described"
grep '^odeonctl ' "$work/help" | sort >"$work/known"
comm -23 "$work/described" "$work/known" >"$work/gone"
while IFS= read -r line; do
    complain "odeonctl.1 describes '$line', which the program does not have"
done <"$work/gone"

# What else names the kinds of queues: what refuses another one, and the completion.
"$odeonctl" queue list --kind none >"$work/refused" 2>&1 && complain "--kind none is taken"
kinds=$(sed -n 's/.*is no kind of queue\. Write //p' "$work/refused")
grep -qF -- "Only queues of this kind: $kinds" "$work/help" ||
    complain "the help of queue list names other kinds than '$kinds'"
"$odeonctl" completion bash | grep -qF -- "--kind) mapfile -t COMPREPLY < <(compgen -W '$(
    printf '%s\n' "$kinds" | sed 's/ or / /; s/,//g')'" ||
    complain "the completion offers other kinds of queues than '$kinds'"

[ "$commands" -ge 16 ] || complain "odeonctl help --all shows only $commands commands"
[ "$(wc -l <"$work/of_help")" -eq "$options" ] || complain "the texts of options cannot be read"
[ "$options" -ge 10 ] || complain "odeonctl help --all shows only $options options"
[ "$failed" -eq 0 ] && echo "ok: $commands commands and $options options are in odeonctl.1"
exit "$failed"
