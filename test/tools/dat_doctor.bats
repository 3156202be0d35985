#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs dat_doctor as a process, alone and as a pair over soft0. The faults of the machine that runs
# the tests are not known, so warnings about it are accepted, errors are not.
load ../compat/helpers

setup() {
    need_program jq
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    unset SOFTVERBS_ADDRESS SOFTVERBS_COPY OPENDAT_CONFIG
    doctor=$TOP_BUILDDIR/dat_doctor
}
teardown() { stop_all; }

# usage: document NAME - checks the process's output against the schema.
document() { "$TOP_SRCDIR/test/tools/check-schema" "$TOP_SRCDIR/doc/schema/dat_doctor.json" <"$BATS_TEST_TMPDIR/$1.out"; }

# usage: ended NAME - sets $status to its status, which must be the one that its findings ask for.
ended() {
    status=0
    wait "${process_of[$1]}" || status=$?
    unset "process_of[$1]"
    [ ! -s "$BATS_TEST_TMPDIR/$1.err" ] || { cat "$BATS_TEST_TMPDIR/$1.err"; return 1; }
    document "$1"
    holds "$1" "([.findings[].severity] | if any(. == \"error\") then 1 elif length > 0 then 3 else 0 end) == $status"
}
holds() { jq -e "$2" "$BATS_TEST_TMPDIR/$1.out" >/dev/null || { echo "it lacks: $2"; cat "$BATS_TEST_TMPDIR/$1.out"; return 1; }; }
no_error() { holds "$1" '[.findings[] | select(.severity == "error")] == []'; }

@test "dat_doctor looks at one machine, and makes a tiny real transfer between two processes" {
    start doctor "${stack[@]}" "$doctor" --json
    ended doctor
    no_error doctor
    holds doctor '.ia == "ia" and (.checks | index("device files") and index("locked memory") and index("fork") and index("NUMA")
        and index("shared memory") and index("libraries") and index("the IA") and index("a transfer"))'
    holds doctor '.here.device == "soft0" and .here.mtu == "4096 bytes" and .peer == {}'
    # The kernel's own list has the same devices, or there is none.
    local devices
    devices=$(ls /sys/class/infiniband 2>/dev/null | sort | paste -sd ' ')
    holds doctor "[.ports[].device] | unique | join(\" \") == \"$devices\""
}

@test "dat_doctor as a pair: both sides tell each other what they have, and the transfer runs between them" {
    start listener "${stack[@]}" "$doctor" --json --listen
    start doctor "${stack[@]}" "$doctor" --json 127.0.0.1
    ended doctor
    ended listener
    for side in doctor listener; do
        no_error "$side"
        holds "$side" '.peer.device == "soft0" and .peer.gid == .here.gid and (.checks | index("the other machine") and index("a transfer"))'
    done
}

@test "dat_doctor as a pair makes its transfer over datagrams (libdaploucm) too" {
    use_stack ours libdaploucm.so.2 'soft0 1' preload
    start listener "${stack[@]}" "$doctor" --json --listen
    start doctor "${stack[@]}" "$doctor" --json 127.0.0.1
    ended doctor
    ended listener
    for side in doctor listener; do
        no_error "$side"
        holds "$side" '.peer.device == "soft0" and (.checks | index("a transfer"))'
    done
}

@test "dat_doctor finds an IA that cannot be opened, with the message's id and what to do, and tries no transfer" {
    use_stack ours libdaplsoft.so.2 'soft1 0'
    start doctor "${stack[@]}" "$doctor" --json
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor '.findings[] | select(.id == "DOC-002") | (.evidence | contains("[DAT202]")) and (.mend | contains("soft0"))'
    holds doctor '(.checks | index("a transfer")) == null'
}

@test "dat_doctor as a pair: one side's IA that cannot be opened is told on both" {
    start listener "${stack[@]}" "$doctor" --json --listen
    use_stack ours libdaplsoft.so.2 'soft1 0'
    start doctor "${stack[@]}" "$doctor" --json 127.0.0.1
    ended doctor
    ended listener
    [ "$status" -eq 1 ]
    holds doctor '.findings[] | select(.id == "DOC-002")'
    holds listener '.findings[] | select(.id == "DOC-060") | .evidence == "the other machine'"'"'s IA cannot be opened"'
}

# usage: serve TEXT - starts a server that takes the first connection to the doctor's port and sends
# this text.
serve() {
    need_program perl
    cat >"$BATS_TEST_TMPDIR/serve.pl" <<'PERL'
use IO::Socket::INET;
my $listener = IO::Socket::INET->new(Listen => 1, LocalPort => 45312, ReuseAddr => 1) or die "listen: $!";
my $socket = $listener->accept or die "accept: $!";
print $socket $ARGV[0];
$socket->flush;
while (sysread $socket, my $bytes, 4096) {}
PERL
    start server perl "$BATS_TEST_TMPDIR/serve.pl" "$1"
}
facts=$'opens yes\nrelease 9.9.9\nmanager CMA\ndevice soft0\nlink InfiniBand\nmtu 4096 bytes\ngid \naddress \nboot \nfabric \n'

@test "dat_doctor finds a transfer that fails, with what was expected of the other side" {
    serve "${facts}failed its cable is cut"$'\n'
    start doctor "${stack[@]}" "$doctor" --json 127.0.0.1
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor '.findings[] | select(.id == "DOC-060") | .evidence | contains("the other side: its cable is cut")'
    holds doctor '.findings[] | select(.id == "DOC-050") | .evidence | contains("9.9.9")'
}

@test "dat_doctor refuses what is no address, no line or no doctor at the other end" {
    serve "${facts}at 1 zz"$'\n'
    start doctor "${stack[@]}" "$doctor" --json 127.0.0.1
    ended doctor
    holds doctor '.findings[] | select(.id == "DOC-060") | .evidence | contains("expected a socket address")'
    wait "${process_of[server]}" || true
    for words in $'SSH-2.0-x\n' "$(printf 'x%.0s' {1..3000})"; do
        serve "$words"
        start doctor "${stack[@]}" "$doctor" 127.0.0.1
        status=0
        wait "${process_of[doctor]}" || status=$?
        unset 'process_of[doctor]'
        [ "$status" -eq 1 ]
        grep -q '^dat_doctor: receive from the other side' "$BATS_TEST_TMPDIR/doctor.err"
        wait "${process_of[server]}" || true
    done
}

@test "dat_doctor as a pair: two sides with separate fabrics are told so, and make no transfer" {
    mkdir -m 700 "$BATS_TEST_TMPDIR/separate"
    start listener "${stack[@]}" "$doctor" --json --listen
    start doctor "${stack[@]}" SOFTVERBS_FABRIC="$BATS_TEST_TMPDIR/separate" "$doctor" --json 127.0.0.1
    ended doctor
    [ "$status" -eq 1 ]
    ended listener
    for side in doctor listener; do
        holds "$side" "[.findings[] | select(.severity == \"error\") | .id] == [\"DOC-056\"]"
        holds "$side" ".findings[] | select(.id == \"DOC-056\") |
            (.evidence | contains(\"$BATS_TEST_TMPDIR/separate (device\") and contains(\"$fabric (device\")) and (.mend | contains(\"SOFTVERBS_FABRIC\"))"
        holds "$side" '(.checks | index("a transfer")) == null'
    done
}

@test "dat_doctor --listen ends when its client has failed, or has no IA" {
    # The client reports that it has failed while the listener waits for the connection.
    need_program perl
    cat >"$BATS_TEST_TMPDIR/client.pl" <<'PERL'
use IO::Socket::INET;
my ($last, $socket) = $ARGV[1];
until ($socket = IO::Socket::INET->new("127.0.0.1:45312")) { select undef, undef, undef, 0.05 }
print $socket $ARGV[0];
$socket->flush;
while (<$socket>) { last if /^at / }
print $socket $last;
PERL
    for last in $'failed its cable is cut\n' ''; do
        start listener "${stack[@]}" "$doctor" --json --listen --timeout 3000
        # A client that tries before may get this very port from the kernel, and be its own peer.
        await_port listener 45312
        run_to_end client perl "$BATS_TEST_TMPDIR/client.pl" "$facts" "$last"
        ended listener
        [ "$status" -eq 1 ]
        holds listener ".findings[] | select(.id == \"DOC-060\") | .evidence | contains(\"the other side: ${last:+its cable is cut}\")"
    done
    : >"$BATS_TEST_TMPDIR/empty.conf"
    start listener "${stack[@]}" "$doctor" --json --listen --timeout 3000
    start doctor "${stack[@]}" DAT_OVERRIDE="$BATS_TEST_TMPDIR/empty.conf" "$doctor" --json 127.0.0.1
    ended doctor
    ended listener
    holds listener '.findings[] | select(.id == "DOC-060") | .evidence == "the other machine'"'"'s IA cannot be opened"'
}

@test "dat_doctor shows what libraries print by the ids of their messages, never their lines" {
    serve "${facts}at 45000 0200b2d07f0000010000000000000000"$'\n'
    start doctor "${stack[@]}" "$doctor" --json --timeout 20 127.0.0.1
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor 'all(.findings[].evidence; contains("opendat:") or contains(" | ") | not)'
    holds doctor '.findings[] | select(.id == "DOC-060") | .evidence | contains("expected") and test("the libraries report DAT[0-9]{3}")'
}

@test "dat_doctor without any IA says so" {
    : >"$BATS_TEST_TMPDIR/dat.conf"
    start doctor "${stack[@]}" "$doctor" --json
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor '.ia == "" and (.findings[] | select(.id == "DOC-001") | .mend == "dat_conf generate")'
    holds doctor '.findings[] | select(.id == "DOC-001") | .evidence | contains("dapl fabric is not available")'
}

@test "dat_doctor knows what the reference prints of a library that cannot be loaded" {
    echo 'gone u2.0 nonthreadsafe default libdaplgone.so.2 dapl.2.0 "gone 0" ""' >"$BATS_TEST_TMPDIR/dat.conf"
    start doctor "${stack[@]}" "$doctor" -i gone --json
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor '.findings[] | select(.id == "DOC-002") | .evidence | contains("DAT005") and contains("DAT: library load failure")'
}

@test "dat_doctor finds little room for descriptors in the process's own limit" {
    start doctor "${stack[@]}" bash -c "ulimit -n 200 && exec '$doctor' --json"
    ended doctor
    holds doctor '.findings[] | select(.id == "DOC-024") | .severity == "warning" and (.evidence | contains("200")) and (.mend | contains("ulimit -n"))'
}

@test "dat_doctor --pid finds one library from two files in a running process" {
    need_program perl
    mkdir "$BATS_TEST_TMPDIR/other"
    cp "$TOP_BUILDDIR/.libs/libdat2.so.2" "$BATS_TEST_TMPDIR/other/"
    cat >"$BATS_TEST_TMPDIR/holder.pl" <<'PERL'
use DynaLoader;
$| = 1;
DynaLoader::dl_load_file($_, 0) or die DynaLoader::dl_error() for @ARGV;
print "loaded $$\n";
sleep 1000;
PERL
    start holder "${stack[@]}" perl "$BATS_TEST_TMPDIR/holder.pl" "$TOP_BUILDDIR/.libs/libdat2.so.2" \
        "$BATS_TEST_TMPDIR/other/libdat2.so.2"
    await_line holder '^loaded '
    start doctor "${stack[@]}" "$doctor" --json --pid "$(sed 's/loaded //' "$BATS_TEST_TMPDIR/holder.out")"
    ended doctor
    [ "$status" -eq 1 ]
    holds doctor ".findings[] | select(.id == \"DOC-015\") | .evidence | contains(\"$BATS_TEST_TMPDIR/other/libdat2.so.2\")"
}

@test "dat_doctor prints for people what it found and how to mend it, without colours or progress where there is no terminal" {
    start doctor "${stack[@]}" "$doctor" --ia nowhere
    status=0
    wait "${process_of[doctor]}" || status=$?
    unset 'process_of[doctor]'
    [ "$status" -eq 1 ]
    [ ! -s "$BATS_TEST_TMPDIR/doctor.err" ]
    grep -q '^kernel: ' "$BATS_TEST_TMPDIR/doctor.out"
    grep -q '^DOC-002 error: the IA cannot be opened$' "$BATS_TEST_TMPDIR/doctor.out"
    grep -q '^    fix:   the nearest name is ia$' "$BATS_TEST_TMPDIR/doctor.out"
    [ "$(grep -c $'\033' "$BATS_TEST_TMPDIR/doctor.out")" -eq 0 ]
}

@test "dat_doctor HOST gives up in its time where nobody listens, and says what to start there" {
    start doctor "${stack[@]}" "$doctor" --timeout 1 127.0.0.1
    status=0
    wait "${process_of[doctor]}" || status=$?
    unset 'process_of[doctor]'
    [ "$status" -eq 1 ]
    grep -q 'start dat_doctor --listen there first' "$BATS_TEST_TMPDIR/doctor.err"
}

@test "dat_doctor HOST is not its own peer where the kernel gives it the port at which nobody listens" {
    "${enter_network[@]}" sh -c 'echo 45312 45312 >/proc/sys/net/ipv4/ip_local_port_range' 2>/dev/null || skip "the range of ports cannot be set here"
    start doctor "${stack[@]}" "$doctor" --timeout 1 127.0.0.1
    status=0
    wait "${process_of[doctor]}" || status=$?
    unset 'process_of[doctor]'
    [ "$status" -eq 1 ]
    grep -q 'start dat_doctor --listen there first' "$BATS_TEST_TMPDIR/doctor.err"
}

@test "dat_doctor refuses wrong usage with status 2" {
    for options in '--listen host' '--pid 0' '--pid x' '--port 0' '--timeout 0' '--ia'; do
        status=0
        # shellcheck disable=SC2086 # words
        "$doctor" $options >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
        [ "$status" -eq 2 ]
        [ ! -s "$BATS_TEST_TMPDIR/out" ]
        [ -s "$BATS_TEST_TMPDIR/err" ]
    done
}

@test "dat_doctor(1) has every finding of the catalogue" {
    while read -r id; do grep -q "^\*$id\* " "$TOP_SRCDIR/doc/man/dat_doctor.1.scd" || false; done \
        < <(grep -oE 'DOC-[0-9]{3}' "$TOP_SRCDIR/tools/doctor/findings.def")
}
