# SPDX-License-Identifier: BSD-2-Clause
"""The same work over a range of sizes, queue depths and rates of completions, for the curves of doc/guides/tuning.md.

Keys are `WORK@X.STACK`; test/bench/curves draws them. All points are of the state that the machine is in most of the time.
"""
from runner import MEGA

SIZES = ["8", "64", "512", "4K", "32K", "256K", "2M"]
DEPTHS = [1, 2, 4, 8, 16, 32, 64, 128]
PROGRAMS_MEMORY = ("heap", "ordinary", "reference")  # where a program registers what it has allocated itself
STACKS = ("provided", *PROGRAMS_MEMORY)


def value_of(result):
    """What a result of dat_perf measured, in the units of the table."""
    if result["test"] == "latency":
        return result["latency_us"]["p50"]
    return result["bytes_per_second"] / 1e6 if result["test"] == "bandwidth" else result["messages_per_second"]


def over_sizes(bench, stack, test, operation):
    def measure(size):
        return [value_of(result) for result in bench.perf_results(stack, "-t", test, "-o", operation, "-s", size)]
    for size in SIZES:
        bench.sampler.in_main_state(f"{operation.replace('-', '_')}_{test}@{bytes_of(size)}.{stack}", lambda size=size: measure(size),
                                    stack != "reference")


def over_depths(bench, stack, work, options_of):
    """`options_of` gives the options for each of DEPTHS."""
    def measure(depth):
        return [value_of(result) for result in bench.perf_results(stack, "-t", "rate", "-o", "write", "-s", "8", *options_of(depth))]
    for depth in DEPTHS:
        bench.sampler.in_main_state(f"{work}@{depth}.{stack}", lambda depth=depth: measure(depth), stack != "reference")


def perftest(bench, work, program, column, scale=1.0):
    count = "100" if bench.short else "1000"

    def measure(size):
        return [float(bench.perftest_results(program, ["-s", str(size), "-n", count])[0][column]) * scale]
    for size in map(bytes_of, SIZES):
        bench.sampler.in_main_state(f"{work}@{size}.verbs", lambda size=size: measure(size), False)


def bytes_of(size):
    return int(size.translate(str.maketrans("", "", "KM"))) * {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)


def measure(bench):
    for stack in STACKS:
        over_sizes(bench, stack, "latency", "send")
        over_sizes(bench, stack, "latency", "write")
        over_sizes(bench, stack, "bandwidth", "write")
        over_depths(bench, stack, "rate_by_depth", lambda depth: ["--depth", str(depth), "--signal-rate", str(min(depth, 32))])
        over_depths(bench, stack, "rate_by_signals", lambda rate: ["--depth", "128", "--signal-rate", str(rate)])
    for stack in PROGRAMS_MEMORY:
        over_sizes(bench, stack, "latency", "register")
        over_sizes(bench, stack, "latency", "register-write")
    perftest(bench, "send_latency", "ib_send_lat", 4)
    perftest(bench, "write_latency", "ib_write_lat", 4)
    perftest(bench, "write_bandwidth", "ib_write_bw", 3, MEGA)
