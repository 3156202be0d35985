#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests attributes whose values are addresses, in programs that print all of them with %s, and with
# our libdat2 and Debian's.
load helpers

setup() {
    need_library libdat2.so.2
    start_network
    program=$TOP_BUILDDIR/test/compat/.libs/vendor_attributes # the program itself: libtool's wrapper chooses our libdat2
    soft=$TOP_BUILDDIR/.libs/libdaplsoft.so.2
}
teardown() { stop_all; }

# usage: prints_attributes NAME BEFORE BETWEEN - checks for one line for each attribute, whose value
# is a short text.
prints_attributes() {
    local name
    for name in delayed_ack_supported='(true|false)' vendor_extension=true vendor_ext_version='1\.0' debug_query='[[:print:]]' \
        debug_modify='[[:print:]]'; do
        has "$1" "$2${name%%=*}$3${name#*=} *\$"
    done
    [ "$(LC_ALL=C grep -caP '[^[:print:]\t]' "$BATS_TEST_TMPDIR/$1.out")" -eq 0 ]
}

@test "Debian's dtest -v prints all attributes, those that are addresses as one character" {
    need_program dtest
    use_stack ours "$soft" 'soft0 0'
    dtest_passes -b 4096 -v
    prints_attributes server 'provider_specific_attr\[[0-9]+\] ' ' = '
    prints_attributes client 'provider_specific_attr\[[0-9]+\] ' ' = '
}

@test "Debian's dtestx -q prints all attributes, those that are addresses as one character" {
    need_program dtestx
    use_stack ours "$soft" 'soft0 0'
    run_to_end query "${stack[@]}" dtestx -P ia -q
    is_silent query
    prints_attributes query 'Attribute\[[0-9]+\] ' '='
}

@test "the functions behind the attributes work with our libdat2: both levels" {
    use_stack ours "$soft" 'soft0 0'
    run_to_end ia "${stack[@]}" "$program" ia
    prints ia <<'LINES'
query: 0x00000000 3 3
modify: 0x00000000
modify both: 0x00000000
query: 0x00000000 2 6
LINES
}

@test "the functions behind the attributes work with Debian's libdat2, which has no level: -1, and not to be changed" {
    use_stack debian "$soft" 'soft0 0'
    run_to_end ia "${stack[@]}" "$program" ia
    prints ia <<'LINES'
query: 0x00000000 -1 3
modify: 0x00000000
modify both: 0xbfff0000
query: 0x00000000 -1 4
LINES
}
