// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// main() of every GoogleTest program: reports in TAP, which Automake's driver turns into one line
/// per test.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "test/support/quiet_fork.hpp"

namespace {

/// Prints a failure's text as comment lines, so that it does not break TAP lines.
void print_comment(const char* text) {
    std::string line;
    for (const char* c = text;; ++c) {
        if (*c != '\n' && *c != '\0') {
            line += *c;
            continue;
        }
        std::printf("# %s\n", line.c_str());
        line.clear();
        if (*c == '\0') return;
    }
}

class TapPrinter : public testing::EmptyTestEventListener {
    /// Prints the names first: if a program ends early, test/support/watch reports by name the
    /// tests that did not run.
    void OnTestProgramStart(const testing::UnitTest& unit) override {
        for (int i = 0; i < unit.total_test_suite_count(); ++i) {
            const testing::TestSuite& suite = *unit.GetTestSuite(i);
            for (int j = 0; j < suite.total_test_count(); ++j)
                if (const testing::TestInfo& test = *suite.GetTestInfo(j); test.should_run())
                    std::printf("# test %s.%s\n", suite.name(), test.name());
        }
        std::printf("1..%d\n", unit.test_to_run_count());
        std::fflush(stdout);
    }

    void OnTestPartResult(const testing::TestPartResult& part) override {
        if (part.skipped()) skip_reason_ = part.message();
        if (!part.failed()) return;
        std::printf("# %s:%d\n", part.file_name() ? part.file_name() : "?", part.line_number());
        print_comment(part.message());
    }

    void OnTestEnd(const testing::TestInfo& info) override {
        const testing::TestResult& result = *info.result();
        std::printf("%s %d - %s.%s", result.Failed() ? "not ok" : "ok", ++number_,
                    info.test_suite_name(), info.name());
        if (result.Skipped()) std::printf(" # SKIP %s", first_line(skip_reason_).c_str());
        std::printf("\n");
        std::fflush(stdout);
        skip_reason_.clear();
    }

    static std::string first_line(const std::string& text) {
        return text.substr(0, text.find('\n'));
    }

    int number_ = 0;
    std::string skip_reason_;
};

}  // namespace

/// Lets processes live on that start threads after a multi-threaded fork, as children of tests do:
/// they are forked while service threads run.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
    return "die_after_fork=0";
}

int main(int argc, char** argv) {
    test::fork_beside_sleepers_only();
    testing::InitGoogleTest(&argc, argv);
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new TapPrinter);
    return RUN_ALL_TESTS();
}
