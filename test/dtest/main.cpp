// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dtest: two processes connect over a DAT provider, transfer data in every way, and check it.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "test/dtest/checked_tests.hpp"
#include "test/dtest/reference_tests.hpp"

namespace {

using namespace dtest;

void print_modes(const Options& options) {
    const int pid = getpid();
    if (options.data_check) std::printf("%d Running DATA CHECK mode\n", pid);
    if (options.cno) std::printf("%d Creating CNO for DTO EVD's\n", pid);
    if (options.poll) std::printf("%d Polling\n", pid);
    std::fflush(stdout);
}

void run(Options& options) {
    Endpoint endpoint(options);
    const Peer peer = establish(endpoint, options);
    if (!peer.checks) {
        std::printf("%d The other side is another dtest: checking what it lets us check\n",
                    static_cast<int>(getpid()));
    }
    const std::vector<Result> results = peer.checks ? run_checked_tests(endpoint, options, peer)
                                                    : run_reference_tests(endpoint, options);
    endpoint.disconnect(!options.server(), patience(options, 0));
    endpoint.close();
    print_table(results, options.one_way);
    print_result_lines(results, options, endpoint.empty_polls());
    if (options.times) print_step_times(results, endpoint.times());
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    std::optional<Options> options = parse_options(argc, argv, exit_status);
    if (!options) return exit_status;
    print_modes(*options);
    try {
        run(*options);
    } catch (const std::exception& failure) {
        std::fflush(stdout);
        std::fprintf(stderr, "%d Error %s\n", static_cast<int>(getpid()), failure.what());
        exit_status = 1;
    }
    std::printf("\n%d: DAPL Test Complete. %s\n\n", static_cast<int>(getpid()),
                exit_status == 0 ? "PASSED" : "FAILED");
    return exit_status;
}
