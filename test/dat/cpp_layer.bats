#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the C++ layer as compilers see it: what it costs, what it refuses, and the example of its
# page.
load ../compat/helpers

setup() {
    headers=$TOP_SRCDIR/dat/include
    work=$BATS_TEST_TMPDIR
    strict='-Wall -Wextra -Wpedantic -Werror'
    compilers=("$CXX")
    # The long run uses a second compiler.
    ! is_long_run || ! command -v clang++-14 >/dev/null || compilers+=("clang++-14 -std=c++20")
    operations='post_recv post_send post_write post_read poll wait'
}

# usage: on_soft0 COMMAND... - runs it with the libraries just built.
on_soft0() {
    mkdir -pm 700 "$work/fabric"
    env "LD_LIBRARY_PATH=$TOP_BUILDDIR/.libs" "DAT_OVERRIDE=$TOP_BUILDDIR/test/api/dat.conf" "SOFTVERBS_FABRIC=$work/fabric" \
        LD_BIND_NOW=1 timeout "$deadline_seconds" "$@"
}

# usage: build_cost COMPILER
build_cost() {
    # shellcheck disable=SC2086 # lists of words
    $1 -O2 $strict -I"$headers" "$TOP_SRCDIR/test/dat/cpp_layer_cost.cpp" -o "$work/cost" -L"$TOP_BUILDDIR/.libs" -ldat2
}

# usage: instructions FUNCTION - prints how many it has, without padding.
instructions() {
    objdump -d --no-show-raw-insn --disassemble="$1" "$work/cost" | grep -E '^ +[0-9a-f]+:' | grep -vcE '\s(nop|nopl|nopw|cs nopw|data16|xchg +%ax,%ax)'
}

# usage: costs_no_more COUNT LEAST - COUNT is a command that prints the cost of a function. A
# function of the layer may cost no more than the one in C, which must cost at least LEAST, because
# else nothing was counted.
costs_no_more() {
    local operation in_c in_layer
    for operation in $operations; do
        in_c=$("$1" "c_$operation")
        in_layer=$("$1" "layer_$operation")
        echo "$compiler: $operation: $in_c in C, $in_layer in the layer"
        [ "$in_c" -ge "$2" ]
        [ "$in_layer" -le "$in_c" ]
    done
}

@test "at no cost: each call of the layer on the data path compiles to no more instructions than the C call, with each compiler" {
    for compiler in "${compilers[@]}"; do
        build_cost "$compiler"
        costs_no_more instructions 10
    done
}

@test "under C++17 and older the layer says in one line that it needs C++20, by either path and with each compiler" {
    for compiler in "${compilers[@]%% -std=*}"; do
        for standard in c++98 c++11 c++17; do
            for header in dat2/dat.hpp dat/dat.hpp; do
                # shellcheck disable=SC2086 # a list of words
                run $compiler -std=$standard -I"$headers" -fsyntax-only -x c++ - <<<"#include <$header>"
                [ "$status" -ne 0 ]
                [ "$(grep -c 'error:' <<<"$output")" -eq 1 ]
                [[ $output == *'needs C++20: compile with -std=c++20'* ]]
            done
        done
    done
}

# usage: executed FUNCTION - prints the instructions of its own in the run that $work/profile
# describes.
executed() {
    awk -v name=":$1" 'index($0, name " ") || $0 ~ name "$" { gsub(/,/, "", $1); print $1; exit }' "$work/profile"
}

@test "at no cost: over soft0 the layer executes no more instructions than C calls for the same transfers, with each compiler" {
    need_program valgrind
    for compiler in "${compilers[@]}"; do
        build_cost "$compiler"
        on_soft0 valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" "$work/cost" >"$work/out" 2>"$work/errors" ||
            { cat "$work/out" "$work/errors"; false; }
        grep -qx works "$work/out"
        callgrind_annotate --threshold=100 "$work/callgrind" >"$work/profile"
        costs_no_more executed 500
    done
}

@test "each header of the layer compiles alone, in C++20 and C++23, and without exceptions" {
    count=0
    for header in dat.hpp dat/{connection,ep,evd,evd_view,ia,memory,owner,result}.hpp; do
        # shellcheck disable=SC2086
        echo "#include <dat2/$header>" | ${compilers[0]} $strict -I"$headers" -fsyntax-only -x c++ -
        count=$((count + 1))
    done
    [ "$count" -eq "$(find "$headers"/dat2 -name '*.hpp' | wc -l)" ]
    for compiler in "${compilers[@]}" "${compilers[0]} -std=c++23" "${compilers[0]} -fno-exceptions"; do
        # shellcheck disable=SC2086
        echo '#include <dat/dat.hpp>' | $compiler $strict -I"$headers" -fsyntax-only -x c++ -
    done
}

@test "the layer uses calls of DAT 2.0 alone: it compiles with the headers of Debian's libdapl-dev" {
    [ -e /usr/include/dat2/udat.h ] || missing "libdapl-dev is not installed"
    mkdir -p "$work/include/dat2"
    cp -r "$headers/dat2/dat.hpp" "$headers/dat2/dat" "$work/include/dat2"
    ${compilers[0]} -O2 -I"$work/include" -c "$TOP_SRCDIR/test/dat/cpp_layer_cost.cpp" -o "$work/cost.o" -H 2>"$work/used"
    grep -q '/usr/include/dat2/udat.h' "$work/used"
    [ "$(grep -c "$headers" "$work/used")" = 0 ]
}

# usage: compiles STATEMENTS - compiles them in a function that has one object of each kind.
compiles() {
    local uses=$BATS_FILE_TMPDIR/uses.hpp
    # Compiled once for all the sources that include it.
    if [ ! -e "$uses.gch" ]; then
        printf '#include <%s>\n' dat2/dat.hpp string vector >"$uses"
        # shellcheck disable=SC2086
        ${compilers[0]} $strict -I"$headers" -x c++-header "$uses" -o "$uses.gch"
    fi
    cat >"$work/use.cpp" <<END
#include "$uses"
void use(dat::ia& ia, dat::pz& pz, dat::evd& evd, dat::ep& ep, dat::lmr& lmr, dat::cr& cr, std::vector<int>& numbers,
         std::vector<std::string>& strings, DAT_RMR_TRIPLET remote) {
    static_cast<void>(ia), static_cast<void>(pz), static_cast<void>(evd), static_cast<void>(ep), static_cast<void>(lmr);
    static_cast<void>(cr), static_cast<void>(numbers), static_cast<void>(strings), static_cast<void>(remote);
    $1
}
END
    # shellcheck disable=SC2086
    ${compilers[0]} $strict -I"$headers" -fsyntax-only "$work/use.cpp" 2>"$work/errors"
}

# usage: is_refused PATTERN STATEMENTS - they must not compile, for that reason.
is_refused() {
    if compiles "$2"; then
        echo "it compiles: $2"
        return 1
    fi
    grep -qE "$1" "$work/errors" || { cat "$work/errors"; return 1; }
}

@test "an owner cannot be copied" {
    compiles 'dat::ep other = std::move(ep);'
    is_refused 'deleted function' 'dat::ep other = ep;'
    is_refused 'deleted function' 'pz = pz;'
    is_refused 'deleted function' 'std::vector<dat::lmr> all{std::move(lmr)};'
}

@test "a result cannot be left unlooked at" {
    compiles 'if (!ep.disconnect()) return;'
    is_refused 'nodiscard' 'ep.disconnect();'
    is_refused 'nodiscard' 'ep.post_rdma_write(lmr.segment(numbers), remote, dat::cookie(1));'
    is_refused 'nodiscard' 'dat::pz::create(ia);'
    is_refused 'nodiscard' 'pz.release();'
}

@test "an RDMA write of what is not its bytes alone does not compile, nor its registration" {
    compiles 'ep.post_rdma_write(lmr.segment(numbers), remote, dat::cookie(1)).value();'
    is_refused 'transferable' 'ep.post_rdma_write(lmr.segment(strings), remote, dat::cookie(1)).value();'
    is_refused 'transferable' 'dat::lmr::create(ia, pz, std::span(strings)).value();'
    is_refused 'const' 'dat::lmr::create(ia, pz, std::span<const int>(numbers)).value();'
}

@test "handles of one kind do not go for another, nor does a number for a time" {
    compiles 'evd.next(std::chrono::seconds(1)).value();'
    is_refused 'no matching function|cannot convert|invalid initialization' 'dat::pz::create(evd).value();'
    is_refused 'no matching function|cannot convert|invalid initialization' 'cr.accept(pz).value();'
    is_refused 'no matching function|cannot convert|could not convert' 'evd.next(1000).value();'
}

@test "where the library has std::expected, a result becomes one" {
    printf '%s\n' '#include <dat2/dat.hpp>' '#ifndef __cpp_lib_expected' '#error there is none' '#endif' \
        'std::expected<dat::pz, dat::error> zone(const dat::ia& ia) { return dat::pz::create(ia); }' \
        'std::expected<void, dat::error> end(dat::ep& ep) { return ep.free(); }' >"$work/expected.cpp"
    # shellcheck disable=SC2086
    ${compilers[0]} -std=c++23 $strict -I"$headers" -fsyntax-only "$work/expected.cpp"
}

@test "the example of dat_hpp(7) compiles without a warning and its RDMA write arrives" {
    awk '/^\*\*EXAMPLE|^# EXAMPLE/ { wanted = 1 } /^```$/ { if (inside) exit; if (wanted) { inside = 1; next } } inside' \
        "$TOP_SRCDIR/doc/man/dat_hpp.7.scd" >"$work/example.cpp"
    [ "$(wc -l <"$work/example.cpp")" -ge 20 ]
    # The page would lose backslashes.
    [ "$(grep -c '\\' "$work/example.cpp")" = 0 ]
    # shellcheck disable=SC2086
    ${compilers[0]} $strict -I"$headers" "$work/example.cpp" -o "$work/example" -L"$TOP_BUILDDIR/.libs" -ldat2
    run on_soft0 "$work/example"
    echo "$output"
    [ "$status" = 0 ]
    [ "$output" = "hello through RDMA" ]
}
