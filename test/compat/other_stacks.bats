#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Runs communication libraries above verbs, unmodified, each under softverbs run: UCX and libfabric.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() { start_network; }
teardown() { stop_all; }

# usage: [UCX_TLS=...] ucx_measures TEST OPTIONS... - runs ucx_perftest on the RC transport alone
# (and UD, by which it connects), or on those of UCX_TLS.
ucx_measures() {
    need_program ucx_perftest
    local ucx=(env UCX_TLS="${UCX_TLS:-rc_verbs,ud_verbs}" UCX_NET_DEVICES=soft0:1 UCX_WARN_UNUSED_ENV_VARS=n "$tool" run stdbuf -oL ucx_perftest)
    start server "${ucx[@]}" -p 13337
    await_port server 13337
    run_to_end client "${ucx[@]}" -p 13337 -t "$@" 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+ +[0-9.]+'
    unexpected=$(cat "$BATS_TEST_TMPDIR"/{server,client}.{out,err} | grep -E 'ERROR|WARN|FATAL|opendat:' || true)
    [ -z "$unexpected" ] || { echo "unexpected: $unexpected"; return 1; }
}

@test "ucx_perftest tag_lat over rc_verbs" { ucx_measures tag_lat -n 200 -w 10 -s 64; }
@test "ucx_perftest put_lat over rc_verbs" { ucx_measures ucp_put_lat -n 200 -w 10 -s 64; }
@test "ucx_perftest tag_bw over rc_verbs, 1 MiB" { ucx_measures tag_bw -n 20 -w 2 -s 1048576; }

@test "ucx_perftest put_lat of the RC transport itself" {
    need_program ucx_perftest
    uct=("$tool" run stdbuf -oL ucx_perftest -x rc_verbs -d soft0:1 -p 13337)
    start server "${uct[@]}"
    await_port server 13337
    run_to_end client "${uct[@]}" -t put_lat -n 200 -w 10 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+'
}

@test "ucx_perftest am_lat of the UD transport itself" {
    need_program ucx_perftest
    uct=("$tool" run stdbuf -oL ucx_perftest -x ud_verbs -d soft0:1 -p 13337)
    start server "${uct[@]}"
    await_port server 13337
    run_to_end client "${uct[@]}" -t am_lat -n 200 -w 10 127.0.0.1
    await_end server
    has client '^Final: +[0-9]+ +[0-9.]+'
}

@test "ucx_perftest tag_lat over ud_verbs alone" { UCX_TLS=ud_verbs ucx_measures tag_lat -n 200 -w 10 -s 64; }
@test "ucx_perftest tag_bw over ud_verbs alone, 64 KiB" { UCX_TLS=ud_verbs ucx_measures tag_bw -n 20 -w 2 -s 65536; }

@test "fi_info -p verbs lists soft0" {
    need_program fi_info
    run_to_end info "$tool" run fi_info -p verbs
    has info '^ *domain: soft0'
    is_silent info
}

@test "fi_pingpong -p verbs: messages of several sizes" {
    need_program fi_pingpong
    fi=("$tool" run stdbuf -oL fi_pingpong -p verbs -e msg -d soft0 -I 50)
    start server "${fi[@]}" -S 65536
    await_port server 47592
    run_to_end client "${fi[@]}" -S 65536 127.0.0.1
    await_end server
    has client '^64k +50 '
    is_silent server client
}

@test "fi_pingpong -p verbs;ofi_rxm: reliable datagrams over connections" {
    need_program fi_pingpong
    fi=("$tool" run stdbuf -oL fi_pingpong -p 'verbs;ofi_rxm' -e rdm -d soft0 -I 50)
    start server "${fi[@]}" -S 4096
    await_port server 47592
    run_to_end client "${fi[@]}" -S 4096 127.0.0.1
    await_end server
    has client '^4k +50 '
    is_silent server client
}
