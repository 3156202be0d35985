#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Tests softverbs run --shared-heap: foreign programs on a heap that peers map.
load helpers

setup() { start_network; }
teardown() { stop_all; }

tool=$TOP_BUILDDIR/softverbs
heap_library=$TOP_BUILDDIR/.libs/libsoftverbs-heap.so
heap=("$tool" run --shared-heap)

# usage: regions_are PATTERN COUNT - checks that there are COUNT regions, each listed like PATTERN.
regions_are() {
    "$tool" ls >"$BATS_TEST_TMPDIR/ls.out"
    [ "$(grep -c '^  region' "$BATS_TEST_TMPDIR/ls.out")" -eq "$2" ] &&
        [ "$(grep -cE "^  region .*$1" "$BATS_TEST_TMPDIR/ls.out")" -eq "$2" ]
}

# usage: pair PORT PROGRAM OPTIONS... - runs server and client to their end; neither may complain.
pair() {
    local port=$1
    shift
    need_program "$1"
    start server "${heap[@]}" stdbuf -oL "$@"
    await_port server "$port"
    run_to_end client "${heap[@]}" "$@" "$server_address"
    await_end server
    never grep -iE 'error|fail|warn|unable|couldn|problem|jemalloc|softverbs:' "$BATS_TEST_TMPDIR"/{server,client}.{out,err}
}

@test "softverbs run --shared-heap: both libraries are preloaded, each once" {
    preloaded=$("${heap[@]}" "${heap[@]}" sh -c 'echo "$LD_PRELOAD"')
    [ "$preloaded" = "$softverbs:$heap_library" ] || { echo "$preloaded"; false; }
}

@test "softverbs run --shared-heap: without the library it fails and names the package" {
    mkdir -p "$BATS_TEST_TMPDIR/alone/.libs"
    cp "$TOP_BUILDDIR/softverbs" "$BATS_TEST_TMPDIR/alone/"
    cp "$softverbs" "$BATS_TEST_TMPDIR/alone/.libs/"
    refuses alone 'softverbs run' 125 'libsoftverbs-heap.so .*libjemalloc-dev' "$BATS_TEST_TMPDIR/alone/softverbs" run --shared-heap true
}

@test "bash, its pipes, subshells and background jobs print what they print without the heap" {
    cat >"$BATS_TEST_TMPDIR/script" <<'SCRIPT'
x=$(for i in {1..50}; do echo "$i"; done | sort -rn | head -n 3 | tr '\n' ' ')
(x=changed; echo "$x")
echo "$x"
for i in {1..20}; do (a=$(seq "$i"); sleep 0; echo "${#a}" >/dev/null) & done
wait
text=$(printf '%100000s' '')
echo "${#text}"
SCRIPT
    run_to_end plain bash "$BATS_TEST_TMPDIR/script"
    run_to_end heap "${heap[@]}" bash "$BATS_TEST_TMPDIR/script"
    diff "$BATS_TEST_TMPDIR/plain.out" "$BATS_TEST_TMPDIR/heap.out"
    is_silent plain heap
}

@test "python3: fork, threads, subprocesses, worker processes and mmap" {
    need_program python3
    run_to_end python "${heap[@]}" python3 -c '
import mmap, multiprocessing, os, subprocess, threading
large = bytearray(50_000_000)
child = os.fork()
if child == 0:
    large[0] = 7
    many = [bytes(1000) for i in range(10000)]
    os._exit(large[0])
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and large[0] == 0
assert subprocess.check_output(["echo", "x"], close_fds=True) == b"x\n"
with multiprocessing.Pool(4) as pool:
    assert pool.map(abs, range(-100, 0)) == list(range(100, 0, -1))
threads = [threading.Thread(target=lambda: [bytearray(i * 1000) for i in range(1000)]) for i in range(8)]
for thread in threads: thread.start()
for i in range(5): assert os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)[1] == 0
for thread in threads: thread.join()
memory = mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[5] = 1
memory.madvise(mmap.MADV_DONTNEED)
assert memory[5] == 0
memory.resize(1 << 22)
memory.close()
print("done")'
    prints python <<<done
    is_silent python
}

@test "a limit of address space, of file sizes or of descriptors: the program runs, on ordinary memory where it must" {
    work='x=$(seq 1000); for i in 1 2 3; do (y=$x$x; true); done; echo "${#x}"'
    run_to_end space bash -c "ulimit -v 400000; exec \"\$@\"" - "${heap[@]}" bash -c "$work"
    run_to_end files bash -c "ulimit -f 1000; exec \"\$@\"" - "${heap[@]}" bash -c "$work"
    run_to_end descriptors bash -c "ulimit -n 64; exec \"\$@\"" - "${heap[@]}" bash -c "$work"
    run_to_end later "${heap[@]}" bash -c "ulimit -f 1000; $work"
    for each in space files descriptors later; do prints "$each" <<<3892; done
    is_silent space files descriptors later
}

@test "32 processes at a time, each with 1 GiB mapped, have only the pages that they touch" {
    need_program python3
    cat >"$BATS_TEST_TMPDIR/sparse.py" <<'PROGRAM'
import mmap, os, sys
memory = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory[1 << 29] = 1
print("ready", flush=True)
sys.stdin.read()
os.fork()
PROGRAM
    mkfifo "$BATS_TEST_TMPDIR/go"
    local before after i
    before=$(awk '$1 == "Shmem:" { print $2 }' /proc/meminfo)
    for i in {1..32}; do
        start "many$i" sh -c 'exec "$@" <"$0"' "$BATS_TEST_TMPDIR/go" "${heap[@]}" python3 "$BATS_TEST_TMPDIR/sparse.py"
    done
    exec 7>"$BATS_TEST_TMPDIR/go"
    for i in {1..32}; do await_line "many$i" ready; done
    after=$(awk '$1 == "Shmem:" { print $2 }' /proc/meminfo)
    exec 7>&-
    for i in {1..32}; do await_end "many$i"; is_silent "many$i"; done
    [ $((after - before)) -lt $((4 * 1024 * 1024)) ] || { echo "$((after - before)) KiB more"; false; }
}

@test "softverbs ls: regions of ibv_rc_pingpong are on path S, because of the shared heap" {
    need_program ibv_rc_pingpong
    start server "${heap[@]}" ibv_rc_pingpong -n 1000000000
    await_port server 18515
    start client "${heap[@]}" ibv_rc_pingpong -n 1000000000 127.0.0.1
    eventually regions_are 'path S \(shared heap\)' 2
    is_silent server client
}

@test "softverbs ls: a program whose own malloc takes memory by sbrk, mmap and mprotect has its regions on path S" {
    mkfifo "$BATS_TEST_TMPDIR/input"
    start own sh -c 'exec "$@" <"$0"' "$BATS_TEST_TMPDIR/input" "${heap[@]}" "$TOP_BUILDDIR/test/compat/own_malloc"
    exec 7>"$BATS_TEST_TMPDIR/input"
    await_line own ready
    eventually regions_are 'path S \(shared heap\)' 3
    exec 7>&-
    await_end own
    is_silent own
}

@test "perftest on the shared heap: ib_write_lat, ib_read_bw, ib_atomic_lat, ib_send_bw" {
    pair 18515 ib_write_lat -F -n 200 -s 8
    pair 18515 ib_read_bw -F -n 100 -s 1048576
    pair 18515 ib_atomic_lat -F -n 200
    pair 18515 ib_send_bw -F -n 100 -s 65536
}

@test "libfabric on the shared heap: fi_pingpong" {
    pair 47592 fi_pingpong -p verbs -e msg -d soft0 -I 50 -S 65536
}

@test "UCX on the shared heap: ucx_perftest tag_bw and tag_lat" {
    need_program ucx_perftest
    local test
    for test in tag_lat tag_bw; do
        ucx=(env UCX_TLS=rc_verbs,ud_verbs UCX_NET_DEVICES=soft0:1 UCX_WARN_UNUSED_ENV_VARS=n "${heap[@]}" stdbuf -oL ucx_perftest -p 13337)
        start server "${ucx[@]}"
        await_port server 13337
        run_to_end client "${ucx[@]}" -t "$test" -n 200 -w 10 -s 262144 127.0.0.1
        await_end server
        has client '^Final: +[0-9]+ +[0-9.]+ +[0-9.]+'
        never grep -E 'ERROR|WARN|FATAL|softverbs:' "$BATS_TEST_TMPDIR"/{server,client}.{out,err}
    done
}

@test "dtest over soft0 with the heap's library preloaded, on our libdat2" {
    use_stack ours "$TOP_BUILDDIR/.libs/libdaplsoft.so.2" 'soft0 0'
    stack+=("LD_PRELOAD=$heap_library")
    dtest_passes
    never grep softverbs "$BATS_TEST_TMPDIR"/{server,client}.{out,err}
}
