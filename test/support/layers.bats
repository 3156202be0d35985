#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the structure of the sources is what test/support/layers says.
layers=$TOP_SRCDIR/test/support/layers

setup() {
    cd "$TOP_SRCDIR"
    # A line for each #include of another room: ROOM INCLUDED_ROOM FILE.
    grep -rE '^#include "[^"]+/[^"/]+"' broker check dapl dat device providers support tools test/dtest test/dtest_ext --include='*.[ch]pp' --include='*.[ch]' |
        awk '{
            file = $1; sub(/:#include$/, "", file); room = file; sub(/\/[^\/]*$/, "", room)
            other = $2; gsub(/"/, "", other); sub(/\/[^\/]*$/, "", other)
            if (room != other) print room, other, file
        }' >"$BATS_TEST_TMPDIR/includes"
}

# usage: same EXPECTED_FILE FOUND_FILE
same() { diff "$1" "$2" || { echo "< is missing in the code, > in $layers"; return 1; }; }

@test "no room includes another one than test/support/layers permits, and none is permitted for nothing" {
    awk -F ': *' '/^[^#]/ { count = split($2, rooms, " "); for (i = 1; i <= count; i++) print $1, rooms[i] }' "$layers" |
        sort >"$BATS_TEST_TMPDIR/permitted"
    awk '{ print $1, $2 }' "$BATS_TEST_TMPDIR/includes" | sort -u >"$BATS_TEST_TMPDIR/found"
    same "$BATS_TEST_TMPDIR/permitted" "$BATS_TEST_TMPDIR/found"
}

@test "a room includes rooms alone that stand below it in the list" {
    awk -F ': *' '/^[^#]/ { place[$1] = NR; included[$1] = $2 }
        END {
            for (room in included) {
                count = split(included[room], rooms, " ")
                for (i = 1; i <= count; i++) if (place[rooms[i]] <= place[room]) { print room, rooms[i]; bad = 1 }
            }
            exit bad
        }' "$layers"
}

@test "no more than five headers of a room include each other" {
    command -v python3 >/dev/null || skip "not installed: python3"
    python3 "$TOP_SRCDIR/test/support/cycles" 5 broker check dapl dat device providers support tools
}

@test "the header of the adapter instance includes no object" {
    ! grep -E '"dapl/(ep|evd|ia|listen|memory|ud)/' dapl/adapter/*.hpp
}

@test "softverbs includes no header of DAT" {
    ! grep -rE '^#include [<"](dat2?|dapl)/' providers/soft/softverbs --include='*.[ch]pp' | grep -v '"dapl/verbs/'
}

@test "the page of a room has at most 40 lines of 110 columns" {
    count=0
    while read -r page; do
        awk -v page="$page" 'length > 110 || NR > 40 { print page ":" NR; bad = 1 } END { exit bad }' "$page"
        count=$((count + 1))
    done < <(find broker check dapl dat device providers support tools -name README.md)
    [ "$count" -ge 15 ]
}

@test "the tests of the API include no header that is not installed" {
    ! grep -rnE '^#include "(broker|dapl|dat|device|providers|support|tools)/' test/api --include='*.[ch]*'
}

@test "one header speaks to one kind of processor" {
    ! grep -rnE 'x86intrin|immintrin|cpuid\.h|__rdtsc|_mm_|__builtin_ia32|\basm\b.*"[a-z]+ ' broker dapl dat device providers support tools --include='*.[ch]pp' --include='*.[ch]' \
        --exclude=processor.hpp
}

@test "the architecture page shows the list as it is" {
    sed -n '/^<!-- layers -->$/,/^<!-- \/layers -->$/p' doc/architecture.md | sed -n 's/^    //p; s/^$//p' >"$BATS_TEST_TMPDIR/shown"
    diff <(grep . "$layers") <(grep . "$BATS_TEST_TMPDIR/shown")
}
