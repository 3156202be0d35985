#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests the completion of the tools' command lines in bash, zsh and fish.
load ../compat/helpers

setup() {
    export PATH="$TOP_BUILDDIR:$PATH" DAT_OVERRIDE="$BATS_TEST_TMPDIR/dat.conf"
    printf 'soft0 u2.0 threadsafe default libdaplsoft.so.2 dapl.2.0 "soft0 0" ""\n' >"$DAT_OVERRIDE"
}
teardown() { stop_all; }

# usage: completed WORD... - prints what bash offers for the last word.
completed() {
    bash -c '
        . "$TOP_SRCDIR/etc/completion/opendat.bash"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _opendat "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf "%s\n" "${COMPREPLY[@]}"' completion "$@"
}

# usage: offers WORD... -- EXPECTED...
offers() {
    local words=()
    while [ "$1" != -- ]; do
        words+=("$1")
        shift
    done
    shift
    completed "${words[@]}" >"$BATS_TEST_TMPDIR/offered"
    printf '%s\n' "$@" | diff - "$BATS_TEST_TMPDIR/offered"
}

@test "options are completed from --help, long and short" {
    offers dat_trace --da -- --dapl --dat
    offers dat_perf --si -- --signal-rate --size
    offers dat_strerror -l -- -l
    offers softverbs --ver -- --version
    offers dtest --buf -- --buffer-length
}

@test "every tool is completed, and offers all options that its --help names" {
    tools=$(sed -n 's/^ *complete -F _opendat //p' "$TOP_SRCDIR/etc/completion/opendat.bash")
    [ "$(wc -w <<<"$tools")" -ge 10 ]
    for script in opendat.zsh opendat.fish; do
        grep -qE "^(#compdef|for tool in) $tools$" "$TOP_SRCDIR/etc/completion/$script" || { echo "$script has others"; false; }
    done
    for tool in $tools; do
        [ -x "$TOP_BUILDDIR/$tool" ] || continue
        "$TOP_BUILDDIR/$tool" --help | grep -oE '^ +(-[A-Za-z0-9], ?)?--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort -u >"$BATS_TEST_TMPDIR/help"
        completed "$tool" -- >"$BATS_TEST_TMPDIR/offered"
        [ -s "$BATS_TEST_TMPDIR/help" ]
        diff "$BATS_TEST_TMPDIR/help" "$BATS_TEST_TMPDIR/offered"
    done
}

@test "an argument that may be missing is completed after a = only" {
    offers softverbs run --check = mem -- memory
    offers softverbs run --check = memory,bu -- memory,buffers
    completed softverbs run --check ibv_devin >"$BATS_TEST_TMPDIR/offered"
    ! grep -E '^(memory|buffers)' "$BATS_TEST_TMPDIR/offered"
}

@test "the options of a command are those of its own --help" {
    offers softverbs ru -- run
    offers softverbs ls --js -- --json
}

@test "an argument is completed by what it is: files, adapters of dat.conf" {
    touch "$BATS_TEST_TMPDIR/some.core"
    offers dat_trace --core "$BATS_TEST_TMPDIR/some" -- "$BATS_TEST_TMPDIR/some.core"
    offers dat_perf --ia so -- soft0
    offers dat_perf --ia = so -- soft0
    offers dat_perf --ia = -- soft0
    offers dtest --provider so -- soft0
    offers dat_info --explain so -- soft0
    offers dat_conf remove so -- soft0
}

@test "the words that an argument can be are those that the tool accepts, also behind a comma" {
    for option in --test --operation --completion --direction --memory; do
        "$TOP_BUILDDIR/dat_perf" "$option" nosuch 2>&1 | sed -E "s/.* is not one of: //; s/;.*//; s/, /\n/g" | sort >"$BATS_TEST_TMPDIR/accepted"
        completed dat_perf "$option" '' >"$BATS_TEST_TMPDIR/offered"
        [ "$(wc -l <"$BATS_TEST_TMPDIR/offered")" -ge 2 ]
        diff "$BATS_TEST_TMPDIR/accepted" "$BATS_TEST_TMPDIR/offered"
    done
    offers dat_perf -o write, -- write,compare-swap write,fetch-add write,read write,register write,register-write write,send write,write-immediate
    offers dat_perf --memory o -- ordinary
    offers softverbs run --cm s -- soft0 system
}

@test "softverbs run completes programs, and what follows is the program's" {
    completed softverbs run ibv_rc_ping >"$BATS_TEST_TMPDIR/offered"
    completed softverbs run --cm soft0 mkf | grep -qx mkfifo
    completed softverbs run --cm = soft0 mkf | grep -qx mkfifo
    touch "$BATS_TEST_TMPDIR/argument"
    offers softverbs run mkfifo "$BATS_TEST_TMPDIR/arg" -- "$BATS_TEST_TMPDIR/argument"
}

@test "softverbs explore completes its options, and the command behind --" {
    offers softverbs expl -- explore
    offers softverbs explore --ig -- --ignore-output
    offers softverbs explore --cm s -- soft0 system
    completed softverbs explore --seeds 3 -- mkf | grep -qx mkfifo
    mkdir -p "$BATS_TEST_TMPDIR/kept"
    offers softverbs explore --keep "$BATS_TEST_TMPDIR/ke" -- "$BATS_TEST_TMPDIR/kept"
    touch "$BATS_TEST_TMPDIR/argument"
    completed softverbs explore --only -- mkfifo "$BATS_TEST_TMPDIR/arg" | grep -qx "$BATS_TEST_TMPDIR/argument"
}

@test "dat_stat completes the processes that answer, dat_trace those that have loaded OpenDAT" {
    start_network
    use_stack ours libdaplsoft.so.2 'soft0 0'
    export OPENDAT_STATUS_DIRECTORY=$BATS_TEST_TMPDIR/status
    start answering "${stack[@]}" OPENDAT_STATUS=on "$TOP_BUILDDIR/.libs/dat_ping" --listen -i ia
    start silent "${stack[@]}" OPENDAT_STATUS=off "$TOP_BUILDDIR/.libs/dat_ping" --listen -i ia -p 45999
    await_line answering '^listening at '
    await_line silent '^listening at '
    answering=$(pgrep -P "${process_of[answering]}") silent=$(pgrep -P "${process_of[silent]}")
    offers dat_stat "$answering" -- "$answering"
    offers dat_stat "$silent" -- ''
    offers dat_trace "$silent" -- "$silent"
    offers dat_doctor --pid "$answering" -- "$answering"
}

# usage: shell_script NAME - prints the script as installed, which asks bash's script in a folder of
# the test.
shell_script() {
    cp "$TOP_SRCDIR/etc/completion/opendat.bash" "$BATS_TEST_TMPDIR/opendat"
    sed "s|@completionsdir@|$BATS_TEST_TMPDIR|" "$TOP_SRCDIR/etc/completion/opendat.$1"
}

@test "fish offers options, words, adapters, files and programs" {
    need_program fish
    mkdir -p "$BATS_TEST_TMPDIR/home" && export HOME=$BATS_TEST_TMPDIR/home XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/home
    shell_script fish >"$BATS_TEST_TMPDIR/opendat.fish"
    touch "$BATS_TEST_TMPDIR/some.core"
    fish_offers() { fish -c "source $BATS_TEST_TMPDIR/opendat.fish; complete -C '$1'" | cut -f 1 | sort >"$BATS_TEST_TMPDIR/offered"; printf '%s\n' "${@:2}" | diff - "$BATS_TEST_TMPDIR/offered"; }
    fish_offers 'dat_perf --si' --signal-rate --size
    fish_offers 'dat_perf --memory o' ordinary
    fish_offers 'dat_perf --test latency,ba' latency,bandwidth
    fish_offers 'dat_info --explain s' soft0
    fish_offers 'dat_info --explain=s' --explain=soft0
    fish_offers "dat_trace --core $BATS_TEST_TMPDIR/some" "$BATS_TEST_TMPDIR/some.core"
    fish_offers 'softverbs run mkfif' mkfifo
}

@test "zsh offers options, words, adapters, files and programs" {
    need_program zsh
    shell_script zsh >"$BATS_TEST_TMPDIR/_opendat"
    # Functions that print replace the calls of the completion widget.
    zsh_offers() {
        zsh -f -c 'compadd() { print -l -- "${(@P)2}" }; _files() { print FILES }; fpath=($1 $fpath); autoload -U _opendat
            words=("${@[2,-1]}"); CURRENT=$#words; _opendat' zsh "$BATS_TEST_TMPDIR" "$@"
    }
    [ "$(zsh_offers dat_perf --si)" = $'--signal-rate\n--size' ]
    [ "$(zsh_offers dat_perf --memory o)" = ordinary ]
    [ "$(zsh_offers dat_perf --test latency,ba)" = latency,bandwidth ]
    [ "$(zsh_offers dat_info --explain s)" = soft0 ]
    [ "$(zsh_offers dat_trace --core x)" = FILES ]
    [ "$(zsh_offers softverbs run mkfif)" = mkfifo ]
    [ "$(zsh_offers softverbs run mkfifo x)" = FILES ]
}
