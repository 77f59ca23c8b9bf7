#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The man pages say what the programs know: every command of `odeonctl help --all`, with its
# arguments, its options and its one-line description, is in odeonctl(1), and no command is there
# that the program does not have.
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

sed -n 's/^[*]\(odeonctl [a-z][^*]*\)[*]$/\1/p' "$man/odeonctl.1.scd" | sort >"$work/described"
grep '^odeonctl ' "$work/help" | sort >"$work/known"
comm -23 "$work/described" "$work/known" >"$work/gone"
while IFS= read -r line; do
    complain "odeonctl.1 describes '$line', which the program does not have"
done <"$work/gone"

[ "$commands" -ge 16 ] || complain "odeonctl help --all shows only $commands commands"
[ "$options" -ge 10 ] || complain "odeonctl help --all shows only $options options"
[ "$failed" -eq 0 ] && echo "ok: $commands commands and $options options are in odeonctl.1"
exit "$failed"
