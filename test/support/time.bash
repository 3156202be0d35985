# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash

# usage: is_long_run - whether TEST_SCALE is other than 1, as in make check-long.
is_long_run() { [ "${TEST_SCALE:-1}" != 1 ]; }

# usage: scaled SECONDS - prints that many, multiplied by TEST_TIME_SCALE if that is above 1: for
# timeouts of tests.
scaled() {
    awk -v seconds="$1" -v scale="${TEST_TIME_SCALE:-1}" 'BEGIN { printf "%.0f", seconds * (scale > 1 ? scale : 1) }'
}
