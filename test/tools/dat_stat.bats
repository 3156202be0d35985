#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_stat on real programs over soft0: what they report, what hangs in them, and what it
# prints when it cannot ask.
load ../compat/helpers

setup() {
    need_program jq
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    export OPENDAT_STATUS=on OPENDAT_STATUS_DIRECTORY=$BATS_TEST_TMPDIR/status
    built dat_stat
    built dat_perf
    built test/tools/hanging_ends
}
teardown() { stop_all; }

# usage: built PROGRAM - sets the variable of its name to its path, without libtool's script, whose
# shell would be the process.
built() {
    local path=$TOP_BUILDDIR/$1 plain
    plain=${path%/*}/.libs/${path##*/}
    [ ! -x "$plain" ] || path=$plain
    printf -v "${1##*/}" %s "$path"
}

# usage: start_ends KIND - starts two ends that hang in this way; sets server_pid and client_pid.
start_ends() {
    start ends "${stack[@]}" DAT_TEST_IA=ia "$hanging_ends" "$1"
    await_line ends '^ready [0-9]+ [0-9]+$'
    read -r _ server_pid client_pid <"$BATS_TEST_TMPDIR/ends.out"
}

# usage: asked STATUS OPTIONS... - dat_stat must end with STATUS and print nothing to standard
# error; its output goes to stat.out.
asked() {
    local wanted=$1 status=0
    shift
    start stat "$dat_stat" "$@"
    wait "${process_of[stat]}" || status=$?
    unset 'process_of[stat]'
    [ "$status" -eq "$wanted" ] || { echo "it ended with status $status"; return 1; }
    is_silent stat
}

# usage: json FILTER - FILTER must hold for the document in stat.out, and the document must match
# its schema.
json() {
    "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_stat.json" <"$BATS_TEST_TMPDIR/stat.out"
    jq -e "$1" "$BATS_TEST_TMPDIR/stat.out" >/dev/null || { echo "the document lacks: $1"; return 1; }
}

# usage: finds KIND PID - whether dat_stat --hang finds this in the process; its output is in
# stat.out.
finds() {
    local status=0
    "$dat_stat" --hang --after 1 --json "$2" >"$BATS_TEST_TMPDIR/stat.out" || status=$?
    [ "$status" -eq 3 ] && jq -e ".hangs[] | select(.kind == \"$1\" and .pid == $2)" "$BATS_TEST_TMPDIR/stat.out" >/dev/null
}

# usage: fails STATUS PATTERN COMMAND... - it must print one line like this on standard error and
# nothing on standard output.
fails() { refuses stat dat_stat "$@"; }

@test "dat_stat PID shows endpoints with peer and state, what is posted, the oldest request, dispatchers and service points" {
    start_ends no-receives
    asked 0 "$client_pid"
    has stat "^process $client_pid, hanging_ends: libdaplsoft\.so\.2[.0-9]*, ages exact to 1\.0 s$"
    has stat '^  IA ia: soft0 port 1, address 127\.0\.0\.1, CMA; 1 PZ, 1 LMR \(256 bytes\), 0 RMRs$'
    has stat '^    [0-9a-f]+ +CONNECTED +127\.0\.0\.1:4711 +12/[0-9]+ +12/[0-9]+ +send 0x70 for '
    has stat '^      dat_ep_connect -> ACTIVE_CONNECTION_PENDING .* ago, both sides connected -> CONNECTED .* ago$'
    shows_waiter() {
        "$dat_stat" "$client_pid" >"$BATS_TEST_TMPDIR/stat.out" &&
            grep -qE '^    [0-9a-f]+ +transfers +0 +[0-9]+ +a thread waits$' "$BATS_TEST_TMPDIR/stat.out"
    }
    eventually shows_waiter
    asked 0 "$server_pid"
    has stat '^    PSP [0-9a-f]+: at qualifier 4711$'
    asked 0 --counters "$client_pid"
    has stat '^      DCNT_EP_POST_SEND +12$'
}

@test "dat_stat --json is the document that its schema describes, of all processes asked" {
    start_ends no-receives
    asked 0 --json "$server_pid" "$client_pid"
    json '.tool == "dat_stat" and .version == 1 and (has("hangs") | not)'
    json "[.processes[].pid] == [$server_pid, $client_pid] and all(.processes[]; .program == \"hanging_ends\")"
    json '.processes[1].libraries[0].ias[0].eps[0] | .peer == "127.0.0.1" and .peer_port == 4711 and .requests.posted == 12'
    json '.processes[1].libraries[0].ias[0].eps[0].requests.oldest | .cookie == "0x70" and .operation == "send" and .bytes == 256'
    json '.processes[1].libraries[0].ias[0].eps[0].counters.DCNT_EP_POST_SEND == 12'
    json '[.processes[0].libraries[0].ias[0].eps[0].history[].to] == ["COMPLETION_PENDING", "CONNECTED"]'
}

# usage: id_of FILTER - prints the id at this place in the document in stat.out.
id_of() { jq -er "$1" "$BATS_TEST_TMPDIR/stat.out"; }

@test "dat_stat --object shows an object with what it works with, and its peer in another process" {
    start_ends no-receives
    asked 0 --json "$server_pid" "$client_pid"
    local ep peer receives server_psp client_ia
    ep=$(id_of '.processes[1].libraries[0].ias[0].eps[0].id')
    receives=$(id_of '.processes[1].libraries[0].ias[0].eps[0].receives.evd')
    client_ia=$(id_of '.processes[1].libraries[0].ias[0].id')
    peer=$(id_of '.processes[0].libraries[0].ias[0].eps[0].id')
    server_psp=$(id_of '.processes[0].libraries[0].ias[0].service_points[0].id')
    # The peer's process is found although only this one is named.
    asked 0 --object "$ep" "$client_pid"
    has stat "^process $client_pid, hanging_ends: "
    has stat "^process $server_pid, hanging_ends: "
    has stat "^    $ep +CONNECTED "
    has stat "^    $peer +CONNECTED "
    has stat "^    $receives +transfers "
    never grep -q 'PSP' "$BATS_TEST_TMPDIR/stat.out"
    asked 0 --object "0x$server_psp"
    has stat "^    PSP $server_psp: at qualifier 4711\$"
    never grep -qE "process $client_pid|CONNECTED" "$BATS_TEST_TMPDIR/stat.out"
    asked 0 --object "$client_ia" --counters
    has stat "^    $ep +CONNECTED "
    has stat '^      DCNT_IA_EP_CREATE +1$'
    never grep -q "process $server_pid" "$BATS_TEST_TMPDIR/stat.out"
    fails 1 'object 123456: no process that answers has it: expected an IA, EP, .*; see what it was with .dat_trace --object 123456 PID.' \
        "$dat_stat" --object 123456
}

@test "dat_stat --prometheus prints each metric with help, type and labelled samples" {
    start_ends no-receives
    asked 0 --prometheus "$server_pid" "$client_pid"
    has stat '^# HELP opendat_ep_posted_requests .+$'
    has stat '^# TYPE opendat_ep_posted_requests gauge$'
    has stat "^opendat_ep_posted_requests\{pid=\"$client_pid\",program=\"hanging_ends\",.*ia=\"ia\",.*peer=\"127\.0\.0\.1:4711\"\} 12$"
    has stat '^# TYPE opendat_ep_post_send_total counter$'
    [ "$(grep -c '^# TYPE opendat_ep_posted_requests ' "$BATS_TEST_TMPDIR/stat.out")" -eq 1 ]
    # There must be nothing but comments and samples: NAME{LABELS} VALUE.
    strange=$(grep -vE '^# (HELP|TYPE) [a-z_]+ |^[a-z_]+\{([a-z_]+="[^"]*",?)+\} [0-9.e+]+$' "$BATS_TEST_TMPDIR/stat.out" || true)
    [ -z "$strange" ] || { echo "$strange"; return 1; }
}

@test "dat_stat --hang finds sends that wait for receives and joins the two ends, whichever is asked" {
    start_ends no-receives
    eventually finds no-completion "$client_pid"
    json '.hangs[0].text | test("^EP [0-9a-f]+ \\(peer 127.0.0.1:4711\\): nothing completed for [0-9.]+ s; 12 requests posted, .* 0 receives posted there, 12 receives posted here$")'
    json '.hangs[0].next_step | test("let the peer.s program post some")'
    eventually finds no-receives "$server_pid"
    json '.hangs[0].text | test("12 requests posted there, the oldest a send; 0 receives posted here$")'
    asked 3 --hang --after 1 "$server_pid" "$client_pid"
    has stat "^process $client_pid: EP [0-9a-f]+ \(peer 127\.0\.0\.1:4711\): nothing completed for "
}

@test "dat_stat --hang says that it does not see the other end when that tells nothing" {
    start_ends no-receives
    rm "$OPENDAT_STATUS_DIRECTORY/$server_pid".*
    eventually finds no-completion "$client_pid"
    json '.hangs[0].text | test("the other end is not visible")'
    json '.hangs[0].next_step | test("start it with OPENDAT_STATUS=on too")'
}

@test "dat_stat --hang finds two ends that wait for each other, and tells it once" {
    start_ends both-wait
    eventually finds both-wait "$client_pid"
    asked 3 --hang --after 1 "$server_pid" "$client_pid"
    [ "$(grep -c 'both ends wait for a message from the other' "$BATS_TEST_TMPDIR/stat.out")" -eq 1 ]
}

@test "dat_stat --hang finds requests without an answer at both ends, and events that nobody takes" {
    start_ends unanswered
    eventually finds unanswered "$server_pid"
    eventually finds connecting "$client_pid"
    kill "${process_of[ends]}"
    wait "${process_of[ends]}" || true
    start_ends untaken
    eventually finds untaken "$client_pid"
}

@test "dat_stat --hang ends with 0 where nothing hangs, and finds a process that is stopped" {
    start_ends nothing
    asked 0 --hang "$server_pid" "$client_pid"
    has stat '^nothing has hung for 5\.0 s$'
    asked 0 --hang --json "$client_pid"
    json '.hangs == []'
    kill -STOP "$server_pid"
    eventually is_stopped "$server_pid"
    asked 3 --hang --json "$server_pid"
    json ".hangs[0].kind == \"stopped\" and .processes[0].stopped == true"
    asked 0 "$server_pid"
    has stat "^process $server_pid, hanging_ends: stopped$"
    kill -CONT "$server_pid"
}
is_stopped() { grep -q '^State:[[:space:]]T' "/proc/$1/status"; }

@test "dat_stat --watch shows the state again and again until the process ends" {
    start_ends nothing
    start watch "$dat_stat" --watch 0.1 "$client_pid"
    shown_twice() { [ "$(grep -c "^process $client_pid" "$BATS_TEST_TMPDIR/watch.out")" -ge 2 ]; }
    eventually shown_twice
    kill "${process_of[ends]}"
    local status=0
    wait "${process_of[watch]}" || status=$?
    unset 'process_of[watch]'
    [ "$status" -eq 1 ]
    grep -qE "^dat_stat: process $client_pid: " "$BATS_TEST_TMPDIR/watch.err"
}

@test "dat_stat sees a working connection of dat_perf go on, over rdma_cm, over sockets and by datagrams" {
    local provider
    for provider in libdaplsoft.so.2 libdaploscm.so.2 libdaploucm.so.2; do
        use_stack ours "$provider" 'soft0 1' "$([ "$provider" = libdaplsoft.so.2 ] || echo preload)"
        start server "${stack[@]}" "$dat_perf" -P ia
        start client "${stack[@]}" "$dat_perf" -P ia -t latency -o send -s 8 --seconds 3000 127.0.0.1
        works() {
            "$dat_stat" --json $(printf '%s\n' "$OPENDAT_STATUS_DIRECTORY"/*.so.* | sed -E 's,.*/([0-9]+)\..*,\1,') \
                >"$BATS_TEST_TMPDIR/stat.out" 2>/dev/null &&
                jq -e '[.processes[].libraries[].ias[].eps[] | select(.state == "CONNECTED" and .counters.DCNT_EP_RECV > 0)] | length == 2' \
                    "$BATS_TEST_TMPDIR/stat.out" >/dev/null
        }
        eventually_alive client works
        json '[.processes[].libraries[].ias[].eps[]] | .[0].local_port == .[1].peer_port and .[1].local_port == .[0].peer_port'
        kill "${process_of[client]}" "${process_of[server]}"
        wait "${process_of[client]}" "${process_of[server]}" || true
        unset 'process_of[client]' 'process_of[server]'
    done
}

@test "dat_stat says what is wrong and what to do: no process, no state told, wrong rights, another user's process" {
    fails 1 'process 999999: No such process: expected a process that is running; ' "$dat_stat" 999999
    fails 1 "process $$: it reports no state: expected .* OPENDAT_STATUS=on; start it with that" "$dat_stat" "$$"
    start_ends nothing
    chmod 755 "$OPENDAT_STATUS_DIRECTORY"
    fails 1 '.*/status: other users have access to it \(mode 0755\): expected a directory that only user [0-9]+ may access; ' \
        "$dat_stat" "$client_pid"
    chmod 700 "$OPENDAT_STATUS_DIRECTORY"
    asked 0 "$client_pid"
    [ "$(id -u)" -eq 0 ] || skip "only root can be another user"
    command -v setpriv >/dev/null || missing "setpriv is not installed"
    cp "$dat_stat" "$BATS_TEST_TMPDIR/dat_stat"
    chmod 755 "$BATS_TEST_TMPDIR/dat_stat"
    local user=(setpriv --reuid 65534 --regid 65534 --clear-groups "$BATS_TEST_TMPDIR/dat_stat")
    "${user[@]}" --version >/dev/null 2>&1 || skip "another user cannot run programs from here"
    fails 1 "process $client_pid: .*Permission denied: expected a process of the calling user; run dat_stat as user 0 or as root" \
        "${user[@]}" "$client_pid"
}

@test "dat_stat shows those that answer where another one does not, and fails" {
    start_ends nothing
    local status=0
    "$dat_stat" "$client_pid" 999999 >"$BATS_TEST_TMPDIR/stat.out" 2>"$BATS_TEST_TMPDIR/stat.err" || status=$?
    [ "$status" -eq 1 ]
    has stat "^process $client_pid, "
    grep -q '^dat_stat: process 999999: ' "$BATS_TEST_TMPDIR/stat.err"
}

@test "dat_stat refuses answers that are too long, cut, no JSON, of another version, or lack something" {
    command -v python3 >/dev/null || missing "python3 is not installed"
    mkdir -m 700 "$OPENDAT_STATUS_DIRECTORY"
    answers() { # usage: answers PATTERN TEXT
        start fake python3 -c '
import os, socket, sys
directory, text = sys.argv[1:]
path = f"{directory}/{os.getpid()}.fake.so.0"
server = socket.socket(socket.AF_UNIX)
server.bind(path + ".new"); server.listen(); os.rename(path + ".new", path)
print("pid", os.getpid(), flush=True)
client, _ = server.accept()
client.recv(64); client.sendall(text.encode().decode("unicode_escape").encode()); client.close()
' "$OPENDAT_STATUS_DIRECTORY" "$2"
        await_line fake '^pid '
        fails 1 "process [0-9]+: $1" "$dat_stat" "$(sed -n 's/^pid //p' "$BATS_TEST_TMPDIR/fake.out")"
        await_end fake
    }
    answers 'its answer has an invalid length: ' '99999999999\n{}'
    answers 'its answer has an invalid length: ' '-1\n{}'
    answers 'its answer has no head: ' "$(printf 'x%.0s' {1..100})"
    answers 'it closed the connection before the end of its answer: ' '10\n{}'
    answers 'its answer cannot be read: it is not JSON: ' '2\n{x'
    answers 'its answer cannot be read: its version is 2, this dat_stat reads 1: ' '20\n{"opendat_status": 2}'
    answers "its answer cannot be read: 'library' is not there: " '20\n{"opendat_status": 1}'
    answers "its answer cannot be read: 'opendat_status' is not in an object: " '2\n[]'
}

@test "a provider that can be asked for its state is unloaded as any other, and leaves no socket" {
    run_to_end unload "${stack[@]}" "$TOP_BUILDDIR/test/compat/unload" --open ia "$TOP_BUILDDIR/.libs/libdat2.so.2" \
        "$TOP_BUILDDIR/.libs/libdaplsoft.so.2"
    is_silent unload
    [ -d "$OPENDAT_STATUS_DIRECTORY" ]
    [ -z "$(ls -A "$OPENDAT_STATUS_DIRECTORY")" ]
}

# usage: hold NAME CAPACITY [CLASS BYTES]... - starts a process with entries of a table; sets
# holder_pid.
hold() {
    export OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/registrations
    built test/tools/entry_holder
    start "$1" "$entry_holder" "${@:2}"
    await_line "$1" '^ready [0-9]+$'
    read -r _ holder_pid <"$BATS_TEST_TMPDIR/$1.out"
}

@test "dat_stat --registrations shows capacity, policy, owners, waiters and what is on its way out" {
    export OPENDAT_REGISTRATION_DIRECTORY=$BATS_TEST_TMPDIR/registrations
    asked 0 --registrations
    has stat '^no process of this user shares registrations \(OPENDAT_REGISTRATIONS\)$'
    hold one 4 rdma 4096 rdma 4096 pinned 100
    local one=$holder_pid
    asked 0 --registrations
    has stat '^registrations of soft0-test: 3 of 4 entries, 8292 bytes of no limit; 0 wait$'
    has stat '^  policy lru, grace period 3600000000 us; nothing is taken back ahead of need$'
    has stat '^  so far: granted [0-9]+, refused 0, announced 0, taken back 0, of the dead 0$'
    has stat "^  process $one: 3 entries, 8292 bytes, share 1; waits for 0 \\(0 bytes\\); .*\$"
    has stat '^    3 active$'
    hold two 4 rdma 50 rdma 70
    announces() {
        "$dat_stat" --registrations >"$BATS_TEST_TMPDIR/stat.out" && grep -q 'announced, 4096 bytes' "$BATS_TEST_TMPDIR/stat.out"
    }
    eventually announces
    has stat '^registrations of soft0-test: 4 of 4 entries, 8342 bytes of no limit; 1 wait$'
    has stat '^  so far: granted 4, refused 0, announced [1-9], taken back 0, of the dead 0$'
    has stat '^    slot [0-9]+: rdma, announced, 4096 bytes, busy 0, taken back in [0-9.]+ (s|min|h)$'
    has stat "^  process $holder_pid: 1 entries, 50 bytes, share 1; waits for 1 \\(70 bytes\\); .*\$"
    asked 0 --registrations "$one"
    if grep "process $holder_pid" "$BATS_TEST_TMPDIR/stat.out"; then return 1; fi
}

@test "dat_stat --registrations --json is the document that its schema describes, also of processes that are stopped" {
    hold one 4 rdma 4096 messaging 8192 pinned 100
    kill -STOP "$holder_pid"
    eventually is_stopped "$holder_pid"
    asked 0 --registrations --json
    kill -CONT "$holder_pid"
    json '.processes == [] and (.registrations | length) == 1'
    json '.registrations[0] | .adapter == "soft0-test" and .capacity_entries == 4 and .entries == 3 and .bytes == 12388'
    json ".registrations[0].processes | length == 1 and .[0].pid == $holder_pid and .[0].entries == 3 and .[0].program == null"
    json '[.registrations[0].slots[].class] | sort == ["messaging", "pinned", "rdma"]'
    json 'all(.registrations[0].slots[]; .state == "active" and .busy == 0 and .goes_in_ns == null)'
    asked 0 --registrations --json 1
    json '.registrations[0] | .entries == 3 and .processes == [] and .slots == []'
}

@test "dat_stat --registrations tells of a table that it cannot read, and shows the others" {
    hold one 4 rdma 4096
    printf 'garbage' >"$OPENDAT_REGISTRATION_DIRECTORY/registrations-broken"
    chmod 600 "$OPENDAT_REGISTRATION_DIRECTORY/registrations-broken"
    local status=0
    "$dat_stat" --registrations >"$BATS_TEST_TMPDIR/stat.out" 2>"$BATS_TEST_TMPDIR/stat.err" || status=$?
    [ "$status" -eq 1 ]
    has stat '^registrations of soft0-test: 1 of 4 entries'
    grep -qE '^dat_stat: the registrations of broken cannot be read: ' "$BATS_TEST_TMPDIR/stat.err"
}

# usage: ids FILE... - prints the ids of all objects in documents of dat_stat, one per line.
ids() { jq -r '.processes[].libraries[].ias[] | .id, (.eps, .evds, .cnos, .srqs)[].id' "$@"; }

# usage: no_id_comes_twice COUNT FILE... - there must be at least COUNT ids, all different.
no_id_comes_twice() {
    local count=$1 twice
    shift
    [ "$(ids "$@" | wc -l)" -ge "$count" ] || { echo "fewer than $count ids"; return 1; }
    twice=$(ids "$@" | sort | uniq -d)
    [ -z "$twice" ] || { echo "ids of more than one object:" $twice; return 1; }
}

@test "objects of four provider libraries in one process have different ids" {
    need_library libibverbs.so.1 librdmacm.so.1
    built test/tools/open_adapters
    {
        echo "cma u2.0 nonthreadsafe default libdaplofa.so.2 dapl.2.0 \"lo 0\" \"\""
        echo "scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"soft0 1\" \"\""
        echo "ucm u2.0 nonthreadsafe default libdaploucm.so.2 dapl.2.0 \"soft0 1\" \"\""
        echo "soft u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 \"soft0 1\" \"\""
    } >"$BATS_TEST_TMPDIR/dat.conf"
    # shellcheck disable=SC2154
    start adapters "${stack[@]}" LD_PRELOAD="$softverbs" DAPL_SCM_NETDEV=lo "$open_adapters" cma scm ucm soft
    await_line adapters '^ready [0-9]+$'
    asked 0 --json "$(sed 's/^ready //' "$BATS_TEST_TMPDIR/adapters.out")"
    json '[.processes[].libraries[].library] | length == 4'
    no_id_comes_twice 24 "$BATS_TEST_TMPDIR/stat.out"
}

@test "objects of two containers whose processes have the same pids have different ids" {
    find_containers
    built test/tools/open_adapters
    local side
    for side in one other; do
        mkdir -m 700 "$BATS_TEST_TMPDIR/$side.status"
        # shellcheck disable=SC2016 # for the shell inside
        start "$side" "${contain[@]}" "${stack[@]}" OPENDAT_STATUS_DIRECTORY="$BATS_TEST_TMPDIR/$side.status" sh -c '
            ip link set lo up
            "$1" ia >"$3.started" & until grep -q ^ready "$3.started"; do kill -0 $! || exit; sleep 0.05; done
            "$2" --json $! >"$3.json" && echo answered && wait' \
            sh "$open_adapters" "$dat_stat" "$BATS_TEST_TMPDIR/$side"
        await_line "$side" '^answered$'
    done
    [ "$(jq -s 'map(.processes[0].pid) | unique | length' "$BATS_TEST_TMPDIR"/{one,other}.json)" -eq 1 ]
    no_id_comes_twice 12 "$BATS_TEST_TMPDIR"/{one,other}.json
}

@test "dat_stat without arguments lists the programs that answer, and says where there is none" {
    start empty "$dat_stat"
    await_end empty
    grep -q '^dat_stat: no program of this user answers; .*OPENDAT_STATUS=on$' "$BATS_TEST_TMPDIR/empty.err"
    start_ends no-receives
    asked 0
    diff <(printf '%s\n' "$server_pid 1 ia" "$client_pid 1 ia" | sort) \
        <(sed 1d "$BATS_TEST_TMPDIR/stat.out" | awk '{ print $1, $3, $4 }' | sort)
    asked 0 --json
    json ".processes | map(.pid) | sort == ([$server_pid, $client_pid] | sort)"
}

@test "dat_stat tells wrong usage" {
    fails 2 '--registrations cannot be combined with --prometheus, --hang or --counters; ' "$dat_stat" --registrations --hang
    fails 2 '.*x' "$dat_stat" x
    fails 2 '--prometheus cannot be combined with --json, --hang or --watch; ' "$dat_stat" --prometheus --json 1
    fails 2 '--object cannot be combined with --json, --prometheus, --hang or --registrations; ' "$dat_stat" --object 5 --json
    fails 2 ".*'x' is not the id of an object" "$dat_stat" --object x
    fails 2 '--counters cannot be combined with --json, --prometheus or --hang; ' "$dat_stat" --counters --hang 1
}

@test "what a program calls itself is printed, and no terminal obeys it" {
    cp "$hanging_ends" "$BATS_TEST_TMPDIR/"$'a\033[2Jb'
    hanging_ends=$BATS_TEST_TMPDIR/$'a\033[2Jb'
    start_ends no-receives
    asked 0 "$client_pid"
    has stat "^process $client_pid, a\?\[2Jb: "
    asked 0
    has stat ' a\?\[2Jb '
    [ "$(grep -c $'\033' "$BATS_TEST_TMPDIR/stat.out")" -eq 0 ]
}
