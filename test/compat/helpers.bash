# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=bash
# Helpers for tests that run foreign programs. Each test has its own fabric directory and, where the
# system permits, its own network name space, so that the programs' fixed ports are free; otherwise
# the tests take turns under one lock.
#
#     setup() { start_network; }
#     teardown() { stop_all; }
#     @test "..." { start server ARGS...; await_port server 18515; run_to_end client ARGS...; await_end server; ... }

load "$TOP_SRCDIR/test/support/time"

# shellcheck disable=SC2034 # for the tests
softverbs=$TOP_BUILDDIR/.libs/libsoftverbs.so
deadline_seconds=$(scaled 120)
# The address of the server of a pair; what starts a command on its machine; and its stack, if it is not the client's.
server_address=127.0.0.1
elsewhere=()
server_stack=()

# usage: missing REASON - skips the test because a peer is not installed. If `./bootstrap check`
# found all test packages, it left build/.peers-required, and the test fails instead.
missing() {
    [ -e "$TOP_BUILDDIR/.peers-required" ] || skip "$1"
    echo "$1, though the test packages have been installed"
    return 1
}

need_program() {
    local program
    for program in "$@"; do
        command -v "$program" >/dev/null || missing "$program is not installed"
    done
}

# usage: need_package PACKAGE PROGRAM... - for programs of packages that bootstrap does not install,
# because they are large or of use to the tests of check-long only: skips the test without them.
need_package() {
    local package=$1 program
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed: it is in the package $package"
    done
}

# usage: need_ring PACKAGE KIND - mpi_ring.c, compiled for an MPI as ring in the test's folder. PACKAGE has the
# MPI's header; another may have the compiler's script.
need_ring() {
    need_package "$1" "mpicc.$2" "mpirun.$2"
    "mpicc.$2" -E -include mpi.h -x c /dev/null >/dev/null 2>&1 || skip "mpi.h of mpicc.$2 is not installed: it is in the package $1"
    "mpicc.$2" -O1 -o "$BATS_TEST_TMPDIR/ring" "$TOP_SRCDIR/test/compat/mpi_ring.c"
}

need_library() {
    local library
    for library in "$@"; do
        ldconfig -p | grep -q "^[[:space:]]*$library " || missing "$library is not installed"
    done
}

# usage: never COMMAND... - expects the command to fail. `! COMMAND` alone fails no test.
never() { if "$@"; then echo "succeeded: $*"; return 1; fi; }

# usage: eventually COMMAND... - tries until it succeeds or the deadline has passed.
eventually() {
    local end=$((SECONDS + deadline_seconds))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || { echo "not within $deadline_seconds s: $*"; return 1; }
        sleep 0.05
    done
}

# Gives the test its fabric directory and its network. A process holds the name space open; its id
# is in network_process. Descriptor 3 belongs to bats: whatever keeps it open keeps bats waiting.
start_network() {
    fabric=$BATS_TEST_TMPDIR/fabric
    mkdir -m 700 "$fabric"
    export SOFTVERBS_FABRIC=$fabric
    network_process=
    enter_network=()
    local kind holding
    holding=$(scaled 600)
    for kind in -n -rn; do
        unshare "$kind" true 2>/dev/null || continue
        unshare "$kind" timeout "$holding" sh -c "ip link set lo up && touch '$fabric.network' && exec sleep $holding" 3>&- &
        network_process=$!
        eventually test -e "$fabric.network"
        enter_network=(nsenter -t "$network_process" -n)
        [ "$kind" = -n ] || enter_network=(nsenter -t "$network_process" -U --preserve-credentials -n)
        return
    done
    exec 8>"${TMPDIR:-/tmp}/compat-tests-$UID.lock"
    flock -w "$holding" 8
}

# Puts the command that starts another one in a container, in name spaces of its own, into the array
# `contain`; skips the test where that is not permitted. Where user name spaces are permitted, each
# container has its own, in which we are root.
find_containers() {
    local flags
    contain=()
    for flags in "--user --map-root-user --pid --fork --mount-proc --net" "--pid --fork --mount-proc --net"; do
        # shellcheck disable=SC2086 # a list of words
        unshare $flags --kill-child true 2>/dev/null || continue
        # shellcheck disable=SC2206
        contain=(unshare $flags --kill-child)
        return
    done
    skip "name spaces of processes are not permitted here"
}

# usage: start NAME COMMAND... - runs it in the background, in the test's network; its output goes
# to $BATS_TEST_TMPDIR/NAME.out, .err.
start() {
    local name=$1
    shift
    # Emptied here, so that a reader does not find what an earlier process of the same name wrote.
    truncate -s 0 "$BATS_TEST_TMPDIR/$name.out" "$BATS_TEST_TMPDIR/$name.err"
    "${enter_network[@]}" timeout -k 5 "$deadline_seconds" "$@" \
        >"$BATS_TEST_TMPDIR/$name.out" 2>"$BATS_TEST_TMPDIR/$name.err" </dev/null 3>&- 8>&- &
    process_of[$name]=$!
}
declare -gA process_of

# usage: await_end NAME - fails, with both outputs shown, unless the process ends by itself with
# status 0.
await_end() {
    local status=0
    wait "${process_of[$1]}" || status=$?
    unset "process_of[$1]"
    [ "$status" -eq 0 ] || { echo "$1 ended with status $status (124: by the deadline)"; return 1; }
}

# usage: run_to_end NAME COMMAND...
run_to_end() {
    start "$@"
    await_end "$1"
}

port_is_listening() {
    local hex
    hex=$(printf ':%04X' "$1")
    "${elsewhere[@]}" awk -v port="$hex" '$4 == "0A" && index($2, port) { found = 1 } END { exit !found }' \
        "/proc/${network_process:-self}/net/tcp" "/proc/${network_process:-self}/net/tcp6" 2>/dev/null
}

# usage: await_port NAME PORT - waits until somebody listens; fails at once if the server has ended.
await_port() {
    eventually_alive "$1" port_is_listening "$2"
}

# usage: await_line NAME PATTERN - waits until the process has written such a line to its standard
# output.
await_line() {
    eventually_alive "$1" grep -qE "$2" "$BATS_TEST_TMPDIR/$1.out"
}

eventually_alive() {
    local name=$1
    shift
    eventually succeeds_or_ended "$name" "$@"
    "$@" || { echo "$name has ended early"; return 1; }
}

succeeds_or_ended() {
    local name=$1
    shift
    "$@" || ! kill -0 "${process_of[$name]}" 2>/dev/null
}

output_of() {
    cat "$BATS_TEST_TMPDIR/$1.out"
}

# usage: has NAME PATTERN - checks that its standard output has such a line.
has() {
    grep -qE "$2" "$BATS_TEST_TMPDIR/$1.out" || { echo "$1 did not print '$2'"; return 1; }
}

# usage: is_silent NAME... - checks that they wrote nothing to standard error.
is_silent() {
    local name
    for name in "$@"; do
        [ ! -s "$BATS_TEST_TMPDIR/$name.err" ] || { echo "$name wrote to standard error"; return 1; }
    done
}

# Processes that close the device leave the index behind, but no sockets.
fabric_is_clean() {
    [ -z "$(find "$fabric" -type s)" ] || { echo "left in the fabric:"; find "$fabric" -type s; return 1; }
}

# For processes that end without closing the device: the next process cleans up after them.
fabric_gets_clean() {
    run_to_end next env LD_PRELOAD="$softverbs" ibv_devinfo
    is_silent next
    fabric_is_clean
}

# Ends what a failed test left running. bats shows the output only if the test failed.
stop_all() {
    local name file
    # TERM, because timeout passes it on to the program; KILL would end timeout alone.
    for name in "${!process_of[@]}"; do
        kill "${process_of[$name]}" 2>/dev/null || true
        wait "${process_of[$name]}" 2>/dev/null || true
    done
    [ -z "${network_process:-}" ] || kill "$network_process" 2>/dev/null || true
    for file in "$BATS_TEST_TMPDIR"/*.out "$BATS_TEST_TMPDIR"/*.err; do
        [ ! -s "$file" ] || { echo "-- ${file##*/}"; tail -n 40 "$file"; }
    done
}

# usage: installed LIBRARY - prints where the dynamic linker finds it.
installed() {
    ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# usage: use_stack debian|ours PROVIDER_FILE IA_PARAMETERS [preload] - chooses the libdat2, the
# provider and the verbs of commands that have ${stack[@]} in front; the IA is named `ia`.
use_stack() {
    printf 'ia u2.0 nonthreadsafe default %s dapl.2.0 "%s" ""\n' "$2" "$3" >"$BATS_TEST_TMPDIR/dat.conf"
    stack=(env "DAT_OVERRIDE=$BATS_TEST_TMPDIR/dat.conf")
    [ "$1" = debian ] || stack+=("LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs")
    [ "${4:-}" != preload ] || stack+=("LD_PRELOAD=$softverbs")
}

# usage: start_serving COMMAND... - the server of a pair, where it belongs.
start_serving() {
    local own_stack=("${server_stack[@]}")
    [ ${#server_stack[@]} -gt 0 ] || own_stack=("${stack[@]}")
    start server "${elsewhere[@]}" "${own_stack[@]}" "$@"
}

# Messages of a peer that has lost a race of its own: dtest's server prints its address before it
# listens, and the client tries only once.
lost_races='NON_PEER_REJECTED|conn established: 0x4003'

# usage: run_dapl_pair PROGRAM OPTIONS... - runs dtest or a similar program, again if it lost one of
# $lost_races.
run_dapl_pair() {
    local program attempt status
    program=$(command -v "$1")
    shift
    for attempt in {1..20}; do
        status=0
        start_serving "$program" -s -P "${adapter:-ia}" "$@"
        await_port server 15828
        start client "${stack[@]}" "$program" -P "${adapter:-ia}" -h "$server_address" "$@"
        wait "${process_of[client]}" || status=$?
        grep -qE "$lost_races" "$BATS_TEST_TMPDIR"/{client.out,client.err,server.err} || break
        kill "${process_of[server]}" 2>/dev/null || true
        wait "${process_of[server]}" || true
    done
    unset 'process_of[client]'
    [ "$status" -eq 0 ] || { echo "client ended with status $status (124: by the deadline), attempt $attempt"; return 1; }
    await_end server
}

# usage: dtest_passes OPTIONS... - runs Debian's dtest, server and client. Its exit status says
# nothing, its last line everything.
dtest_passes() {
    need_program dtest
    run_dapl_pair dtest "$@"
    local side
    for side in server client; do
        [[ $(grep . "$BATS_TEST_TMPDIR/$side.out" | tail -n 1) =~ ^[0-9]+:\ DAPL\ Test\ Complete\.\ PASSED$ ]] ||
            { echo "the $side's last line does not say PASSED"; return 1; }
    done
    is_silent server client
    fabric_is_clean
}

# usage: dapltest_passes THREADS EPS ITERATIONS OPERATIONS... - runs a transaction test with
# validated data (-V).
dapltest_passes() {
    need_program dapltest
    local threads=$1 eps=$2 iterations=$3
    shift 3
    start_serving stdbuf -oL dapltest -T S -D ia -n 45278
    await_line server 'Dapltest: Service Point Ready - ia'
    run_to_end client "${stack[@]}" dapltest -T T -V -s "$server_address" -D ia -n 45278 \
        -t "$threads" -w "$eps" -i "$iterations" "$@"
    has client "^----- Stats ---- : $threads threads, $eps EPs$"
    has client '^Total WQE  *: +[0-9.]+ WQE/Sec$'
    run_to_end quit "${stack[@]}" dapltest -T Q -s "$server_address" -D ia -n 45278
    await_end server
    is_silent server client quit
    fabric_is_clean
}

# usage: dtestx_passes - runs Debian's dtestx on the InfiniBand extensions; dtestx itself checks
# each answer.
dtestx_passes() {
    need_program dtestx
    local side
    run_dapl_pair dtestx
    for side in server client; do
        has "$side" 'RDMA_WRITE_WITH_IMMEDIATE_DATA test - PASSED'
        has "$side" 'CMP_SWAP test - PASSED'
        has "$side" 'FETCH_ADD test - PASSED'
        has "$side" 'IB extension test - immed/atomic test PASSED'
    done
}

# usage: prints NAME <<'LINES' - checks that its standard output is these lines and no others. They
# are extended regular expressions, each for a whole line. Blank lines and white space at the end of
# a line do not count.
prints() {
    local pattern line number=0
    exec 9< <(sed -E 's/[[:space:]]+$//' "$BATS_TEST_TMPDIR/$1.out" | grep .)
    while IFS= read -r pattern; do
        number=$((number + 1))
        IFS= read -r -u 9 line || { echo "$1 ended before line $number, '$pattern'"; return 1; }
        [[ $line =~ ^$pattern$ ]] || { echo "$1, line $number: '$line' instead of '$pattern'"; return 1; }
    done
    IFS= read -r -u 9 line && { echo "$1 printed more: '$line'"; return 1; }
    exec 9<&-
}

# usage: refuses NAME PROGRAM STATUS PATTERN COMMAND... - checks that the command ends with STATUS,
# prints one line like PATTERN on standard error, behind the program's name, and nothing on standard
# output.
refuses() {
    local name=$1 program=$2 wanted=$3 pattern=$4 status=0
    shift 4
    start "$name" "$@"
    wait "${process_of[$name]}" || status=$?
    unset "process_of[$name]"
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; return 1; }
    [ ! -s "$BATS_TEST_TMPDIR/$name.out" ] || { echo "it wrote to standard output"; return 1; }
    [ "$(wc -l <"$BATS_TEST_TMPDIR/$name.err")" -eq 1 ] || { echo "not one line"; return 1; }
    grep -qE "^$program: $pattern" "$BATS_TEST_TMPDIR/$name.err" || { echo "it did not tell '$pattern'"; return 1; }
}

# usage: await_rping NAME - waits for rping to end. At its end rping destroys the event channel
# while its own thread returns to it, and exits with an error if that thread comes too late. Then,
# and only then, the channel's EBADF is the last line that it writes.
await_rping() {
    local status=0
    wait "${process_of[$1]}" || status=$?
    unset "process_of[$1]"
    [ "$status" -eq 0 ] || [ "$(tail -n 1 "$BATS_TEST_TMPDIR/$1.err")" = 'rdma_get_cm_event: Bad file descriptor' ] ||
        { echo "$1 ended with status $status (124: by the deadline)"; return 1; }
}
