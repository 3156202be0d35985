# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Runs a case of test/check/program without its fault and with it. For scripts that set `program`, and
# `place` if the case is not to run on soft0: the name of the IA and its address.

# usage: run_case CASE right|wrong - leaves standard error in the file `told`; ends with the
# program's status.
run_case() {
    timeout $((60 * ${TEST_TIME_SCALE%%.*})) "${stack[@]}" "$program" "$1" "$2" "${place[@]}" 2>"$BATS_TEST_TMPDIR/told" >"$BATS_TEST_TMPDIR/printed"
}

told() { cat "$BATS_TEST_TMPDIR/told"; }

# usage: finds CASE ID TEXT - the right program is silent; the wrong one gets the message once, in
# which TEXT is named, and a count.
finds() {
    run_case "$1" right || { cat "$BATS_TEST_TMPDIR/printed"; told; return 1; }
    [ -z "$(told)" ] || { echo "the right program was told:"; told; return 1; }
    run_case "$1" wrong || [ $? -eq 1 ]
    [ "$(grep -c "\[$2\]" "$BATS_TEST_TMPDIR/told")" -eq 1 ] || { echo "not once $2:"; told; return 1; }
    grep "\[$2\]" "$BATS_TEST_TMPDIR/told" | grep -qE -- "$3" || { echo "lacks $3:"; told; return 1; }
    ! grep -vE "\[($2|DAT449|DAT29[0-9]|DAT2[0-9][0-9])\]" "$BATS_TEST_TMPDIR/told"
}
