#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Programs that read the devices in /sys see them there under softverbs run.
load helpers

tool=$TOP_BUILDDIR/softverbs
run=("$tool" run)
class=/sys/class/infiniband

setup() { start_network; }
teardown() { stop_all; }

# usage: field NAME FIELD - prints what `NAME` has printed behind `FIELD:`, its first such line.
field() {
    sed -nE "s/^[[:space:]]*$2:[[:space:]]*//p" "$BATS_TEST_TMPDIR/$1.out" | sed -n 1p
}

# usage: same WHAT ONE OTHER
same() { [ "$2" = "$3" ] || { echo "$1: '$2' and '$3'"; return 1; }; }

# usage: reads FILE TEXT [OPTION...] - checks what cat reads under softverbs run with the options.
reads() {
    local file=$1 text=$2
    shift 2
    same "$file" "$("${run[@]}" "$@" cat "$class/$file")" "$text"
}

@test "each call of the C library that takes a path" {
    run_to_end calls env "BATS_TEST_TMPDIR=$BATS_TEST_TMPDIR" "${run[@]}" "$TOP_BUILDDIR/test/compat/sysfs_calls"
    is_silent calls
}

@test "a library whose constructor runs before ours" {
    "${CC##* }" -shared -fPIC -Wall -Werror -o "$BATS_TEST_TMPDIR/early.so" "$TOP_SRCDIR/test/compat/early_reader.c"
    run_to_end early env "LD_PRELOAD=$softverbs:$BATS_TEST_TMPDIR/early.so" true
    prints early <<LINES
/proc/sys/kernel/ostype: 6
$class/soft0/node_guid: 20
LINES
    is_silent early
}

@test "ibstat prints what ibv_devinfo prints" {
    need_program ibstat ibv_devinfo
    run_to_end stat "${run[@]}" --devices 2 ibstat soft1
    run_to_end info "${run[@]}" --devices 2 ibv_devinfo -v -d soft1
    is_silent stat info
    has stat "^CA 'soft1'$"
    local guid
    guid=$(field info node_guid)
    same "node GUID" "$(field stat 'Node GUID')" "0x${guid//:/}"
    guid=$(field info sys_image_guid)
    same "system image GUID" "$(field stat 'System image GUID')" "0x${guid//:/}"
    same "firmware" "$(field stat 'Firmware version')" "$(field info fw_ver)"
    same "ports" "$(field stat 'Number of ports')" "$(field info phys_port_cnt)"
    same "LID" "$(field stat 'Base lid')" "$(field info port_lid)"
    same "SM LID" "$(field stat 'SM lid')" "$(field info sm_lid)"
    same "link layer" "$(field stat 'Link layer')" "$(field info link_layer)"
    same "capabilities" "$(field stat 'Capability mask')" "$(field info port_cap_flags)"
    same "state" "$(field stat State)" Active
    same "physical state" "$(field stat 'Physical state')" LinkUp
    run_to_end list "${run[@]}" --devices 2 ibstat -l
    prints list <<<$'soft0\nsoft1'
    fabric_is_clean
}

@test "ibstatus, a shell script, prints all ports" {
    need_program ibstatus ibv_devinfo
    run_to_end status "${run[@]}" --devices 2 --ports 2 ibstatus
    run_to_end info "${run[@]}" ibv_devinfo -v
    is_silent status info
    same "ports" "$(grep -c '^Infiniband device' "$BATS_TEST_TMPDIR/status.out")" 4
    has status "^Infiniband device 'soft1' port 2 status:$"
    same "GID" "$(field status 'default gid')" "$(sed -nE 's/.*GID\[ *0\]:[[:space:]]*([0-9a-f:]+).*/\1/p' "$BATS_TEST_TMPDIR/info.out")"
    same "LID" "$(field status 'base lid')" "$(printf '0x%x' "$(field info port_lid)")"
    same "rate" "$(field status rate)" "100 Gb/sec (4X EDR)"
}

@test "a shell with cat, ls -l, patterns, cd and pwd" {
    need_program ibv_devices
    run_to_end shell "${run[@]}" bash -c '
        cat /sys/class/infiniband/soft0/ports/1/state
        ls -l /sys/class/infiniband
        echo /sys/class/infiniband/*/ports/*/state
        cd /sys/class/infiniband/soft0/ports/1 && cat link_layer && pwd && pwd -P && /bin/pwd
        [ -r ../../node_guid ] && [ -d gids ] && [ ! -e nothing ] && echo tested
        find /sys/class/infiniband/soft0/ -name node_type
        cd / && cat sys/class/infiniband/soft0/hca_type'
    is_silent shell
    prints shell <<'LINES'
4: ACTIVE
total 0
lrwxrwxrwx .* soft0 -> ../../devices/softverbs/softverbs0/infiniband/soft0
/sys/class/infiniband/soft0/ports/1/state
InfiniBand
/sys/class/infiniband/soft0/ports/1
/sys/devices/softverbs/softverbs0/infiniband/soft0/ports/1
/sys/devices/softverbs/softverbs0/infiniband/soft0/ports/1
tested
/sys/class/infiniband/soft0/node_type
softverbs
LINES
}

@test "a link that goes and comes back, for paths, working directories and readers that never see half a line" {
    start reader "${run[@]}" --devices 2 --ports 2 bash -c '
        cd /sys/class/infiniband/soft1/ports/2 && touch "$1.ready"
        until [ -e "$1" ]; do cat state phys_state /sys/class/infiniband/soft1/ports/2/state; done | sort -u' bash "$BATS_TEST_TMPDIR/stop"
    eventually test -e "$BATS_TEST_TMPDIR/stop.ready"
    for turn in 1 2 3 4 5; do
        "$tool" port soft1/2 down
        reads soft1/ports/2/state "1: DOWN" --devices 2 --ports 2
        reads soft1/ports/2/phys_state "2: Polling" --devices 2 --ports 2
        reads soft1/ports/2/counters/link_downed "$turn" --devices 2 --ports 2
        "$tool" port soft1/2 up
        reads soft1/ports/2/state "4: ACTIVE" --devices 2 --ports 2
    done
    reads soft1/ports/1/counters/link_downed 0 --devices 2 --ports 2
    "$tool" device soft1 remove
    reads soft1/ports/1/state "1: DOWN" --devices 2
    reads soft1/ports/1/counters/link_downed 1 --devices 2
    touch "$BATS_TEST_TMPDIR/stop"
    await_end reader
    is_silent reader
    prints reader <<<$'1: DOWN\n2: Polling\n4: ACTIVE\n5: LinkUp'
}

@test "the interface of a device on RoCE" {
    run_to_end interfaces "${run[@]}" --link roce --devices 2 ls "$class/soft1/device/net/"
    prints interfaces <<<lo
    reads soft1/device/net/lo/address 00:00:00:00:00:00 --link roce --devices 2
    never "${run[@]}" --link infiniband ls "$class/soft0/device/net/"
}

@test "a process sees its own devices, and nothing is there without softverbs run" {
    run "${run[@]}" cat "$class/soft1/node_guid"
    [ "$status" -ne 0 ]
    reads soft1/node_type "1: CA" --devices 2
    run cat "$class/soft0/node_type"
    [ "$status" -ne 0 ]
}

@test "the machine's own devices stay where they are, and --only hides them" {
    unshare -m true 2>/dev/null || skip "mount name spaces are not permitted here"
    cat >"$BATS_TEST_TMPDIR/machine" <<'SCRIPT'
set -e
mount -t tmpfs none /sys/class
mkdir -p /sys/class/infiniband/mlx9_0/ports/1
echo "4: ACTIVE" >/sys/class/infiniband/mlx9_0/ports/1/state
"$1" run ls /sys/class/infiniband
"$1" run sh -c 'cat /sys/class/infiniband/mlx9_0/ports/1/state; readlink /sys/class/infiniband/mlx9_0 || realpath /sys/class/infiniband/mlx9_0
    echo written >/sys/class/infiniband/mlx9_0/ports/1/state; cat /sys/class/infiniband/*/ports/1/state'
"$1" run --only ls /sys/class/infiniband
"$1" run --only cat /sys/class/infiniband/mlx9_0/ports/1/state || echo hidden
SCRIPT
    run_to_end machine unshare -m sh "$BATS_TEST_TMPDIR/machine" "$tool"
    prints machine <<'LINES'
mlx9_0
soft0
4: ACTIVE
/sys/class/infiniband/mlx9_0
written
4: ACTIVE
soft0
hidden
LINES
}

@test "a fabric that cannot be used is reported once, and /sys shows what the machine has" {
    mkdir -m 755 "$BATS_TEST_TMPDIR/open"
    run env "LD_PRELOAD=$softverbs" "SOFTVERBS_FABRIC=$BATS_TEST_TMPDIR/open" bash -c 'for name in /sys/class/infiniband/soft0/*; do echo "$name"; done; [ ! -e /sys/class/infiniband/soft0 ]'
    [ "$status" -eq 0 ]
    same "messages" "$(grep -c DAT301 <<<"$output")" 1
    [[ $output == *"/sys/class/infiniband/soft0/*" ]]
}

@test "hwloc shows the device, on no node of its own" {
    need_program lstopo-no-graphics
    run_to_end topology "${run[@]}" lstopo-no-graphics -v --of console
    is_silent topology
    has topology 'OpenFabrics.*soft0'
    local guid
    guid=$("${run[@]}" cat "$class/soft0/node_guid")
    has topology "NodeGUID=$guid"
    same "node" "$("${run[@]}" cat "$class/soft0/device/numa_node")" -1
    same "processors" "$("${run[@]}" cat "$class/soft0/device/local_cpulist")" "$(cat /sys/devices/system/cpu/online)"
}

@test "UCX finds the device and warns of nothing" {
    need_program ucx_info
    run_to_end ucx env UCX_LOG_LEVEL=warn "${run[@]}" ucx_info -d
    is_silent ucx
    has ucx 'Device: soft0:1'
    [ "$(grep -c 'WARN\|ERROR' "$BATS_TEST_TMPDIR/ucx.out")" -eq 0 ]
}
