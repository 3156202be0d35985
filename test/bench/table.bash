# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Helpers for the tests of the programs that make a table of measurements.

# usage: make_table PROGRAM <MEASUREMENTS - runs it; its output goes to `printed`, its path to
# $table.
make_table() {
    table=$TOP_SRCDIR/test/bench/$1
    command -v python3 >/dev/null || skip "python3 is not installed"
    cat >"$BATS_TEST_TMPDIR/measurements"
    "$table" "$BATS_TEST_TMPDIR/measurements" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/printed"
}

# usage: row TITLE FILTER - checks that FILTER holds for that row of table.json.
row() {
    jq -e --arg title "$1" ".rows[] | select(.title == \$title) | $2" "$BATS_TEST_TMPDIR/table.json" >/dev/null || {
        jq --arg title "$1" '.rows[] | select(.title == $title)' "$BATS_TEST_TMPDIR/table.json"
        false
    }
}
