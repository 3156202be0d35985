// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One failed call of the system or the allocator, at any place and in any thread, ends no program:
/// the DAT call concerned reports it, nothing is leaked, and the next attempt works.
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "test/api/failing_calls.hpp"
#include "test/api/failures_life.hpp"

namespace {

using namespace test;

/// What a worker reports.
struct Outcome {
    bool failed[2];  ///< whether the failing call was made: in the first life, in the third
    char text[240];  ///< what is wrong; empty: nothing
};

struct Held {
    int descriptors = ::test::open_descriptors();
    int threads = ::test::threads();
    std::int64_t blocks = g_blocks;
};

/// Runs in a process of its own and leads four lives. Call number `index` fails in the first and in
/// the third.
class Worker {
  public:
    Worker(Failing function, int index) : function_(function), index_(index) {}

    Outcome run() {
        const Held before;
        outcome_.failed[0] = fail_in("the first life");
        compare("the first life", before.descriptors, before.threads);
        whole("the life after it");
        const Held then;
        compare("the life after it", before.descriptors, before.threads);
        outcome_.failed[1] = fail_in("the third life");
        compare("the third life", before.descriptors, before.threads);
        const Held afterwards;
        if (afterwards.blocks > then.blocks + kSlack)
            say("%s keeps %ld blocks of memory", "the third life", afterwards.blocks - then.blocks);
        whole("the last life");
        compare("the last life", before.descriptors, before.threads);
        return outcome_;
    }

  private:
    /// Blocks that the C library may keep, for example for messages that it has written.
    static constexpr std::int64_t kSlack = 2;

    template <class... Values>
    void say(const char* format, Values... values) {
        if (outcome_.text[0] == '\0')
            snprintf(outcome_.text, sizeof outcome_.text, format, values...);
    }
    bool fail_in(const char* which) {
        Life life;
        let_fail(function_, index_);
        const bool whole = life.live();
        const bool failed = end_failing();
        if (life.fault()) say("%s: no end of %s", which, life.fault());
        if (!whole && !failed) say("%s: %s failed: %#x", which, life.failed_call(), life.code());
        return failed;
    }
    void whole(const char* which) {
        Life life;
        if (!life.live()) say("%s: %s failed: %#x", which, life.failed_call(), life.code());
    }
    void compare(const char* which, int descriptors, int threads) {
        // The kernel may still list a thread that has just been joined.
        eventually([&] { return ::test::threads() <= threads; }, scaled(2s));
        const Held now;
        if (now.descriptors != descriptors)
            say("after %s %d descriptors are open, before %d", which, now.descriptors, descriptors);
        if (now.threads != threads)
            say("after %s there are %d threads, before %d", which, now.threads, threads);
    }

    const Failing function_;
    const int index_;
    Outcome outcome_{};
};

/// Runs a Worker in a child. @return its report, or how the child itself failed.
Outcome outcome_of(Failing function, int index) {
    std::string said;
    Child child([&](Channel& channel) { channel.send(Worker(function, index).run()); });
    Outcome outcome{};
    const int status = [&] {
        try {
            outcome = child.channel().receive<Outcome>();
        } catch (const std::exception& error) {
            snprintf(outcome.text, sizeof outcome.text, "%s", error.what());
        }
        return child.wait(scaled(5s));
    }();
    if (status != 0 && status != -1)
        snprintf(outcome.text, sizeof outcome.text, "the program ended with %d", status);
    return outcome;
}

class FailingCalls : public testing::TestWithParam<Failing> {
  protected:
    FailingCalls() {
        setenv("OPENDAT_STATUS", "on", 1);
        setenv("OPENDAT_STATUS_DIRECTORY", (fabric_.path() + "/status").c_str(), 1);
    }
    ~FailingCalls() override {
        unsetenv("OPENDAT_STATUS");
        unsetenv("OPENDAT_STATUS_DIRECTORY");
    }
    TemporaryFabric fabric_;
    Child peer_{[](Channel& channel) {
        FailurePeer peer;
        channel.send('r');
        peer.serve();
    }};
};

TEST_P(FailingCalls, EndNoProgramAndLeaveNothingBehind) {
    if (kAddressSanitizer || kThreadSanitizer) GTEST_SKIP() << "the sanitizer has its own malloc";
    peer_.channel().receive<char>();
    const char* chosen = getenv("FAILING_CALL");
    const int stride = GetParam() == Failing::kMalloc ? std::max(1, 16 / scaled(1)) : 1;
    int index = chosen ? atoi(chosen) : 0;
    const std::string log = captured_stderr([&] {
        for (int beyond = 0; beyond < 2; index += stride) {
            const Outcome outcome = outcome_of(GetParam(), index);
            if (outcome.text[0]) ADD_FAILURE() << "call " << index << ": " << outcome.text;
            const bool failed = outcome.failed[0] || outcome.failed[1] || outcome.text[0];
            beyond = failed ? 0 : beyond + 1;
            if (chosen) break;
        }
    });
    printf("# %s: %d calls\n", kFailingNames[static_cast<int>(GetParam())], index);
    if (chosen) printf("# %s\n", log.c_str());
}

INSTANTIATE_TEST_SUITE_P(Of, FailingCalls,
                         testing::Values(Failing::kMalloc, Failing::kMmap, Failing::kSocket,
                                         Failing::kEventfd, Failing::kEpollCtl,
                                         Failing::kPthreadCreate, Failing::kMemfdCreate,
                                         Failing::kFtruncate),
                         [](const auto& of) {
                             return std::string(kFailingNames[static_cast<int>(of.param)]);
                         });

}  // namespace
