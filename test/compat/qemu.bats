#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Lets Debian's QEMU migrate a running guest over RDMA. The guest is a boot sector that counts, without
# end, in every word of 448 KiB: the source sends pages again and again while they change.
#
# QEMU before 9.0 loses writes of an emulated guest that it migrates, over TCP too: it clears a page's dirty bit
# and leaves the page's TLB entry, through which further writes do not set the bit again ("physmem: Fix migration
# dirty bitmap coherency with TCG memory access"). The guest therefore flushes its TLB, by CR0's bit WP, each time
# that it has counted in one word of each page.
load helpers

tool=$TOP_BUILDDIR/softverbs

setup() {
    need_package qemu-system-x86 qemu-system-x86_64
    need_program python3
    start_network
    cd "$BATS_TEST_TMPDIR" || return
    make_boot_sector
}
teardown() { stop_all; }

# 0x7c00: xor %di, %di
# 0x7c02: mov %cr0, %eax; xor $0x10000, %eax; mov %eax, %cr0; mov $0x2000, %ax
# 0x7c11: mov %ax, %es; incw %es:(%di); add $0x100, %ax; cmp $0x9000, %ax; jb 0x7c11
#         add $2, %di; and $0xfff, %di; jmp 0x7c02
make_boot_sector() {
    printf '\x31\xff\x0f\x20\xc0\x66\x35\x00\x00\x01\x00\x0f\x22\xc0\xb8\x00\x20' >boot
    printf '\x8e\xc0\x26\xff\x05\x05\x00\x01\x3d\x00\x90\x72\xf3\x83\xc7\x02\x81\xe7\xff\x0f\xeb\xdb' >>boot
    truncate -s 510 boot
    printf '\x55\xaa' >>boot
    truncate -s 1M boot
}

# usage: machine NAME OPTIONS... - starts it, with a monitor at the socket NAME.
machine() {
    local name=$1
    shift
    start "$name" "$tool" run qemu-system-x86_64 -accel tcg -m 64 -nodefaults -display none \
        -drive file=boot,format=raw,snapshot=on -monitor "unix:$name,server=on,wait=off" "$@"
    eventually_alive "$name" monitor "$name" 'info status'
}

# usage: monitor NAME COMMAND - prints the answer, behind the command's echo.
monitor() {
    python3 - "$1" "$2" <<'PYTHON'
import socket, sys
def until_prompt(connection):
    text = b""
    while not text.endswith(b"(qemu) "):
        text += connection.recv(65536) or sys.exit("the monitor has ended")
    return text.decode()
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    until_prompt(connection)
    connection.sendall(sys.argv[2].encode() + b"\n")
    print(until_prompt(connection).replace("\r", ""))
PYTHON
}

answers() { monitor "$1" "$2" | grep -qE "$3"; }

# usage: count_of NAME - prints the guest's first counter.
count_of() { monitor "$1" 'x /1dh 0x20000' | sed -nE 's/^0+20000: *//p'; }

counts() { [ "$(count_of "$1")" != "$2" ]; }

# usage: migrates COMMAND - gives the source's monitor the command, if any, and migrates.
migrates() {
    local stopped
    machine destination -S -incoming rdma:127.0.0.1:4444
    machine source
    [ -z "$1" ] || for side in source destination; do monitor "$side" "$1"; done
    eventually counts source 0
    monitor source 'migrate -d rdma:127.0.0.1:4444'
    eventually answers source 'info migrate' '^Migration status: (completed|failed)'
    monitor source 'info migrate'
    answers source 'info migrate' '^Migration status: completed'
    eventually answers destination 'info status' '^VM status: paused$'
    monitor source 'pmemsave 0 0x4000000 source.memory'
    monitor destination 'pmemsave 0 0x4000000 destination.memory'
    [ "$(stat -c %s source.memory)" -eq $((64 << 20)) ]
    cmp source.memory destination.memory
    stopped=$(count_of destination)
    monitor destination cont
    eventually counts destination "$stopped"
    monitor source quit || true
    monitor destination quit || true
    await_end source
    await_end destination
    fabric_gets_clean
}

@test "QEMU migrates a running guest over RDMA: both have the same memory, and it runs on" { migrates ""; }
@test "QEMU with rdma-pin-all on: the whole memory is registered first" { migrates "migrate_set_capability rdma-pin-all on"; }
