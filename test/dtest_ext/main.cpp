// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dtest_ext: two processes check the extensions of a DAT provider, and print a line per check.
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "test/dtest_ext/attributes.hpp"
#include "test/dtest_ext/check.hpp"
#include "tools/common/failure.hpp"

namespace {

using namespace dtest_ext;

void check(const Context& context) {
    run_checks(context);
    if (context.options.counters) print_counters(context);
}

void serve(const Options& options) {
    Device device(options);
    device.listen();
    const OtherSide other(options,
                          dtest::record_for(device.address(), options.provider, options.terms()));
    check({options, device, other});
    device.close();
}

void call(Options& options) {
    const OtherSide other(options);
    if (options.provider_given && options.provider != other.record().provider) {
        std::fprintf(stderr, "dtest_ext: note: using the server's provider %s in place of %s\n",
                     other.record().provider.c_str(), options.provider.c_str());
    }
    options.provider = other.record().provider;
    std::printf("%s: client\n", options.provider.c_str());
    Device device(options);
    check({options, device, other});
    device.close();
}

void run(Options& options) {
    if (options.query) {
        print_attributes(options);
    } else if (options.server()) {
        serve(options);
    } else {
        call(options);
    }
}

}  // namespace

int main(int argc, char** argv) {
    int exit_status = 0;
    std::optional<Options> options = parse_options(argc, argv, exit_status);
    if (!options) return exit_status;
    try {
        run(*options);
    } catch (const std::exception& failure) {
        std::fflush(stdout);
        std::fprintf(stderr, "dtest_ext: error: %s\n", failure.what());
        exit_status = 1;
    }
    if (!options->query) {
        std::printf("\n IB extension test - %s test %s\n",
                    options->datagrams_only ? "UD" : "immed/atomic",
                    exit_status == 0 ? "PASSED" : "FAILED");
    }
    return exit_status;
}
