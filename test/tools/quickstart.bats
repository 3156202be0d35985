#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Checks that the commands of doc/quickstart.md do what they do there.

@test "every command of doc/quickstart.md ends as it does there, and prints something where it does there" {
    "$TOP_SRCDIR/test/tools/transcript" --check "$TOP_SRCDIR/doc/quickstart.md"
}

@test "a command that ends otherwise than in a document is found, and the command after it still runs" {
    document=$BATS_TEST_TMPDIR/document.md
    printf '```console\n$ true\n$ false\n$ echo a > b; cat b\na\n$ false\n(exit status 1)\n```\n' >"$document"
    run "$TOP_SRCDIR/test/tools/transcript" --check "$document"
    [ "$status" = 1 ]
    [ "$(grep -c '^ends with' <<<"$output")" = 1 ] || { echo "$output"; false; }
    "$TOP_SRCDIR/test/tools/transcript" "$document"
    printf '```console\n$ true\n$ false\n(exit status 1)\n$ echo a > b; cat b\na\n$ false\n(exit status 1)\n```\n' | diff - "$document"
    "$TOP_SRCDIR/test/tools/transcript" --check "$document"
}
