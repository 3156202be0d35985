# SPDX-License-Identifier: BSD-2-Clause
"""The same work over a range of sizes, queue depths and rates of completions, for the curves of doc/guides/tuning.md.

Keys are `WORK@X.STACK`; test/bench/curves draws them.
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


def over_sizes(bench, stack, test, operations):
    def measure():
        for result in bench.perf_results(stack, "-t", test, "-o", operations, "-s", ",".join(SIZES)):
            bench.record(f"{result['operation'].replace('-', '_')}_{test}@{result['size']}.{stack}", value_of(result))
    name = operations.split(",", maxsplit=1)[0].replace("-", "_")
    bench.attempt([f"{name}_{test}@8.{stack}"], stack != "reference", measure)


def over_depths(bench, stack, work, options_of):
    """`options_of` gives the options for each of DEPTHS."""
    for depth in DEPTHS:
        def measure(depth=depth):
            (result,) = bench.perf_results(stack, "-t", "rate", "-o", "write", "-s", "8", *options_of(depth))
            bench.record(f"{work}@{depth}.{stack}", value_of(result))
        bench.attempt([f"{work}@{depth}.{stack}"], stack != "reference", measure)


def perftest(bench, work, program, column, scale=1.0):
    """All sizes in one run; those of SIZES are kept."""
    wanted = {bytes_of(size) for size in SIZES}

    def measure():
        for line in bench.perftest_results(program, ["-a", "-n", "100" if bench.short else "1000"]):
            if int(line[0]) in wanted:
                bench.record(f"{work}@{line[0]}.verbs", float(line[column]) * scale)
    bench.attempt([f"{work}@8.verbs"], False, measure)


def bytes_of(size):
    return int(size.translate(str.maketrans("", "", "KM"))) * {"K": 1 << 10, "M": 1 << 20}.get(size[-1], 1)


def measure(bench):
    for stack in STACKS:
        over_sizes(bench, stack, "latency", "send,write")
        over_sizes(bench, stack, "bandwidth", "write")
        over_depths(bench, stack, "rate_by_depth", lambda depth: ["--depth", str(depth), "--signal-rate", str(min(depth, 32))])
        over_depths(bench, stack, "rate_by_signals", lambda rate: ["--depth", "128", "--signal-rate", str(rate)])
    for stack in PROGRAMS_MEMORY:
        over_sizes(bench, stack, "latency", "register,register-write")
    perftest(bench, "send_latency", "ib_send_lat", 4)
    perftest(bench, "write_latency", "ib_write_lat", 4)
    perftest(bench, "write_bandwidth", "ib_write_bw", 3, MEGA)
