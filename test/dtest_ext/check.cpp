// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest_ext/check.hpp"

#include <cstdio>

#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

class Runner {
  public:
    explicit Runner(const Context& context) : context_(context) {}
    void run(const std::vector<Check>& checks) {
        for (const Check& check : checks) run(check);
    }
    unsigned passed() const { return passed_; }
    unsigned not_available() const { return not_available_; }

  private:
    void run(const Check& check);
    /// @return why one of the two sides cannot run the check, or nothing; the same on both sides.
    std::string lacking(const Check& check) const;

    const Context& context_;
    unsigned passed_ = 0, not_available_ = 0;
};

std::string Runner::lacking(const Check& check) const {
    const std::string mine = check.lacks(context_);
    const std::string theirs = context_.other.exchange(check.name, {mine, {}}).text;
    if (!mine.empty()) return mine;
    return theirs.empty() ? theirs : "at the other side: " + theirs;
}

void Runner::run(const Check& check) {
    if (context_.options.verbose) std::printf("%s: begins\n", check.name);
    const std::string lacks = lacking(check);
    if (!lacks.empty()) {
        ++not_available_;
        std::printf("%s: not available: %s\n", check.name, lacks.c_str());
    } else {
        try {
            const std::string proof = check.run(context_);
            context_.other.exchange(std::string("end of ") + check.name);
            std::printf("%s: passed: %s\n", check.name, proof.c_str());
        } catch (const std::exception& failure) {
            const bool gone = context_.other.gone();
            throw std::runtime_error(
                std::string(check.name) + ": " + failure.what() +
                (gone ? "; but the other side has ended: look at its messages first" : ""));
        }
        ++passed_;
        if (check.dtestx_name) std::printf(" %s test - PASSED\n", check.dtestx_name);
    }
    std::fflush(stdout);
}

}  // namespace

void run_checks(const Context& context) {
    Runner runner(context);
    for (unsigned round = 0; round < context.options.rounds; ++round) {
        if (!context.options.datagrams_only) {
            for (const auto* checks :
                 {&kAttributeChecks, &kImmediateChecks, &kAtomicChecks, &kSharedReceiveChecks,
                  &kProposalChecks, &kDelayedAckChecks, &kCounterChecks})
                runner.run(*checks);
        }
        runner.run(kDatagramChecks);
    }
    if (context.options.datagrams_only && runner.passed() == 0) {
        throw Failure("datagrams", "no datagram endpoints", "the attribute DAT_IB_UD to be TRUE",
                      "choose another provider with -P, or leave out -u, -U and -m");
    }
    std::printf("%u checks passed, %u not available\n", runner.passed(), runner.not_available());
}

}  // namespace dtest_ext
