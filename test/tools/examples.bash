# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash disable=SC2154 # stack comes from the helpers
# For tests that run the programs of doc/examples, on whatever device ${stack[@]} leads to.
examples=$TOP_BUILDDIR/doc/examples

# usage: example NAME - prints its path, without libtool's script in front of it.
example() {
    if [ -x "$examples/.libs/$1" ]; then echo "$examples/.libs/$1"; else echo "$examples/$1"; fi
}

# usage: start_example PROCESS EXAMPLE ARGS...
start_example() {
    local process=$1 program
    program=$(example "$2")
    shift 2
    start "$process" "${stack[@]}" "$program" ia "$@"
}

# usage: serve EXAMPLE ARGS... - starts the process `server` and sets $port to its port.
serve() {
    start_example server "$@"
    await_line server '^listening on port [0-9]+$'
    port=$(sed -n 's/^listening on port //p' "$BATS_TEST_TMPDIR/server.out")
}

# usage: ends PROCESS EXAMPLE ARGS... - the process must end well and print nothing on standard
# error.
ends() {
    start_example "$@"
    await_end "$1"
    is_silent "$1"
}

# usage: stop_server - ends it as its user would. The process is `timeout`'s child.
stop_server() {
    pkill -TERM -P "${process_of[server]}"
    await_end server
    is_silent server
}
