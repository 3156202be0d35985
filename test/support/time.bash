# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash

# usage: is_long_run - in make check-long.
is_long_run() { [ "${TEST_SCALE:-1}" != 1 ]; }

# usage: scaled SECONDS - that many, multiplied by TEST_TIME_SCALE: for times after which a test gives up.
scaled() {
    awk -v seconds="$1" -v scale="${TEST_TIME_SCALE:-1}" 'BEGIN { printf "%.0f", seconds * (scale > 1 ? scale : 1) }'
}
