#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks what tools find of the trace in the files of the libraries.

setup() {
    libraries=(libdat2 libdaplsoft libdaplofa libdaploscm)
    cd "${TOP_BUILDDIR:?}" || return
}

# Prints the notes of one library's probes: the name, and `counted` if they count their listeners.
probes() {
    readelf --notes ".libs/$1.so.2" |
        awk '/Provider: opendat/ { ours = 1 } ours && /Name:/ { name = $2 }
             ours && /Semaphore:/ { print name, ($NF ~ /[1-9a-f]/ && $NF !~ /^0x0+$/ ? "counted" : "not"); ours = 0 }'
}

@test "each library has USDT probes at the trace points, which count their listeners" {
    grep -q '^#define HAVE_SYS_SDT_H 1' config.h || skip 'built without <sys/sdt.h>: configure has said so'
    for library in "${libraries[@]}"; do
        for probe in call call_return state sent received post completion event trigger trigger_taken; do
            probes "$library" | grep -qx "$probe counted" || {
                echo "$library has no probe $probe"
                return 1
            }
        done
    done
}

@test "the trace object is found in a stripped library, and no symbol of it is exported" {
    for library in "${libraries[@]}"; do
        cp ".libs/$library.so.2" "$BATS_TEST_TMPDIR/stripped"
        strip "$BATS_TEST_TMPDIR/stripped"
        readelf --sections --wide "$BATS_TEST_TMPDIR/stripped" | grep -q ' opendat_trace  *PROGBITS'
        [ "$(nm --dynamic ".libs/$library.so.2" | grep -c -e opendat_trace -e semaphore)" = 0 ]
    done
}

# The names of two functions in the trace are that of their slot in the provider's table.
@test "every function of libdat2 is in the trace, also when no provider is called" {
    env DAT_TRACE_LEVEL=10 OPENDAT_LOG=stderr DAT_OVERRIDE=/dev/null test/api/every_function_test \
        2>"$BATS_TEST_TMPDIR/log"
    sed -nE 's/.*\b(dat_[a-z_]+) = 0x[0-9a-f]+$/\1/p' "$BATS_TEST_TMPDIR/log" | sort -u >"$BATS_TEST_TMPDIR/recorded"
    grep -o '^dat_[a-z_]*' "${TOP_SRCDIR:?}/test/api/libdat2.symbols" | grep -vx dat_extensions |
        sed -E 's/^dat_extension(_op)?$/dat_handle_extendedop/' | sort -u |
        diff - "$BATS_TEST_TMPDIR/recorded"
}
