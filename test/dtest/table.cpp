// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/table.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

namespace dtest {

namespace {

bool is_ping_pong(Operation operation) {
    return operation == Operation::kMessagePingPong || operation == Operation::kWritePingPong;
}

const char* name(Operation operation) {
    switch (operation) {
        case Operation::kWrite:
            return "RDMA write";
        case Operation::kWriteImmediate:
            return "RDMA write with immediate";
        case Operation::kRead:
            return "RDMA read";
        case Operation::kMessagePingPong:
            return "message ping-pong";
        case Operation::kWritePingPong:
            return "RDMA write ping-pong";
    }
    return "?";
}

bool is_write(Operation operation) {
    return operation == Operation::kWrite || operation == Operation::kWriteImmediate;
}

/// @return the number of transfers by which the time is divided. Each direction of a round trip
/// counts as one, and where both sides write at the same time, the other side's writes count too,
/// as in the reference dtest.
std::uint32_t transfers(const Result& result, bool one_way) {
    const bool two = is_ping_pong(result.operation) || (is_write(result.operation) && !one_way);
    return two ? result.count * 2 : result.count;
}

double latency_us(const Result& result, bool one_way) {
    return result.total_us / transfers(result, one_way);
}

/// @return megabytes per second, which is the same as bytes per microsecond.
double bandwidth(const Result& result, bool one_way) {
    return result.size / latency_us(result, one_way);
}

void print_ping_pong(int pid, const Result& result) {
    std::printf("%d: %s PingPong: (%u x %u) Total %6.2f us: latency %3.2f us, BW %4.2f MB/s\n", pid,
                result.operation == Operation::kWritePingPong ? "RDMA write" : "Message",
                result.count, result.size, result.total_us, latency_us(result, true),
                bandwidth(result, true));
}

void print_write(int pid, const Result& result, bool one_way, unsigned long empty_polls) {
    const std::uint32_t messages = transfers(result, one_way);
    std::printf(
        "\n%d: RDMA write (%s): Total=%6.2f usec, itime=%6.2f us, poll=%lu, %u x %u, %4.2f "
        "MB/sec\n",
        pid, one_way ? "uni-direction" : "bi-direction", result.total_us,
        latency_us(result, one_way), empty_polls, messages, result.size,
        bandwidth(result, one_way));
}

}  // namespace

void print_table(const std::vector<Result>& results, bool one_way) {
    if (results.empty()) return;
    std::printf("\n%12s  %-36s %7s %14s %12s\n", "size (bytes)", "operation", "count",
                "latency (us)", "MB/s");
    for (const Result& result : results) {
        const bool both = is_write(result.operation) && !one_way;
        const std::string operation =
            std::string(name(result.operation)) + (both ? ", both ways" : "");
        std::printf("%12u  %-36s %7u %14.2f %12.2f\n", result.size, operation.c_str(),
                    both ? transfers(result, one_way) : result.count, latency_us(result, one_way),
                    bandwidth(result, one_way));
    }
}

void print_result_lines(const std::vector<Result>& results, const Options& options,
                        unsigned long empty_polls) {
    const int pid = getpid();
    std::printf("\n");
    for (const Result& result : results) {
        if (is_ping_pong(result.operation)) print_ping_pong(pid, result);
        if (result.operation == Operation::kWrite)
            print_write(pid, result, options.one_way, empty_polls);
    }
}

void print_step_times(const std::vector<Result>& results, const StepTimes& steps) {
    const int pid = getpid();
    for (const Result& result : results) {
        if (result.operation != Operation::kRead) continue;
        std::printf("%d: RDMA read:   Total=%10.2f usec,   %u bursts, itime=%10.2f usec\n", pid,
                    result.total_us, result.count, latency_us(result, true));
    }
    double total = 0;
    for (const auto& [step, microseconds] : steps) {
        std::printf("%d: %-10s %10.2f usec\n", pid, (step + ":").c_str(), microseconds);
        total += microseconds;
    }
    std::printf("%d: %-10s %10.2f usec\n", pid, "TOTAL:", total);
}

}  // namespace dtest
