// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_regd: how much each user gets, what is recalled from whom, and that clients work without it.
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <future>
#include <mutex>

#include "broker/regd/link.hpp"
#include "test/broker/registration_fixture.hpp"
#include "test/support/threads.hpp"
#include "tools/regd/leader.hpp"
#include "tools/regd/server.hpp"
#include "tools/regd/status.hpp"

namespace registration {
namespace {

using dapl::memory::regd::Amount;
using dapl::memory::regd::Message;
using regd_tool::Arbiter;
using Numbers = std::vector<std::uint64_t>;

TEST(RegdArbiter, GivesEachWhatItsWeightEntitlesItTo) {
    EXPECT_EQ(regd_tool::share_out(12, {100, 100}, {1, 1}), (Numbers{6, 6}));
    EXPECT_EQ(regd_tool::share_out(12, {100, 100}, {1, 3}), (Numbers{3, 9}));
}

TEST(RegdArbiter, SharesOutWhatOthersLeave) {
    EXPECT_EQ(regd_tool::share_out(12, {2, 100, 100}, {1, 1, 1}), (Numbers{2, 5, 5}));
    EXPECT_EQ(regd_tool::share_out(12, {0, 0, 100}, {1, 1, 1}), (Numbers{0, 0, 12}));
    EXPECT_EQ(regd_tool::share_out(12, {0, 0}, {1, 2}), (Numbers{4, 8}))
        << "nobody wants it: to all";
}

TEST(RegdArbiter, LosesNothingOfTheCapacity) {
    for (std::uint64_t capacity = 0; capacity < 40; ++capacity) {
        const Numbers given = regd_tool::share_out(capacity, {3, 50, 50, 7}, {1, 2, 3, 1});
        std::uint64_t sum = 0;
        for (const std::uint64_t one : given) sum += one;
        EXPECT_EQ(sum, capacity);
    }
}

Message report(std::uint64_t used, std::uint64_t wanted, std::uint64_t obeyed) {
    Message message = dapl::memory::regd::make(regd::Kind::kReport, kAdapter);
    message.used = {used, 0};
    message.wanted = {wanted, 0};
    message.budget = {obeyed, regd::kUnlimited};
    return message;
}

/// @return rules with this capacity for every adapter, whatever its name.
regd_tool::Rules rules_with(std::uint64_t entries) {
    regd_tool::Rules rules;
    rules.capacity = {entries, 0};
    return rules;
}

TEST(RegdArbiter, AUserGetsNoMoreBeforeAnotherHasComeDown) {
    Arbiter arbiter(rules_with(8));
    auto orders = arbiter.report(1, 100, 10, report(8, 5, regd::kUnlimited), 0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 8u);
    orders = arbiter.report(2, 200, 20, report(0, 5, regd::kUnlimited), 0);
    ASSERT_EQ(orders.size(), 2u);
    EXPECT_EQ(orders[0].client, 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 4u) << "recalled";
    EXPECT_EQ(orders[1].budget.budget.entries, 0u) << "nothing is free yet";
    EXPECT_EQ(arbiter.adapters().at(kAdapter).recalls, 1u);
    orders = arbiter.report(2, 200, 20, report(0, 5, 0), 0);
    EXPECT_TRUE(orders.empty());
    orders = arbiter.report(1, 100, 10, report(6, 5, 4), 0);
    ASSERT_EQ(orders.size(), 1u) << "six are still used";
    EXPECT_EQ(orders[0].budget.budget.entries, 2u);
    orders = arbiter.report(1, 100, 10, report(4, 5, 4), 0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].client, 2u);
    EXPECT_EQ(orders[0].budget.budget.entries, 4u);
}

TEST(RegdArbiter, WhatIsClaimedAndNotGivenBackIsLentOut) {
    Arbiter arbiter(rules_with(8));
    Message claim = report(8, 5, regd::kUnlimited);
    claim.grace = 3600 * kSecond;
    arbiter.report(1, 100, 10, claim, 0);
    auto orders = arbiter.report(2, 200, 20, report(0, 5, 0), kSecond);
    ASSERT_EQ(orders.size(), 2u);
    EXPECT_EQ(orders[1].budget.budget.entries, 0u) << "he has time to come down";
    EXPECT_TRUE(arbiter.report(1, 100, 10, claim, 2 * kSecond).empty());
    EXPECT_TRUE(arbiter.pass(10 * kSecond).empty());
    orders = arbiter.pass(15 * kSecond);
    ASSERT_EQ(orders.size(), 1u) << "his grace is not the others'";
    EXPECT_EQ(orders[0].client, 2u);
    EXPECT_EQ(orders[0].budget.budget.entries, 4u);
    EXPECT_TRUE(arbiter.report(3, 100, 11, claim, 16 * kSecond).size() == 1)
        << "another connection of his gets no other budget, and no time again";
    EXPECT_TRUE(arbiter.pass(16 * kSecond).empty());
    EXPECT_EQ(arbiter.adapters().at(kAdapter).users[1].budget.entries, 4u);
}

TEST(RegdArbiter, NoClientSaysHowMuchAnAdapterHas) {
    regd_tool::Rules rules;
    rules.entries_of = [](const std::string& name) { return name == kAdapter ? 6u : 0u; };
    Arbiter arbiter(rules);
    Message message = report(1, 1, regd::kUnlimited);
    message.capacity = {1, 1};
    auto orders = arbiter.report(1, 100, 10, message, 0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 6u) << "the device's";
    EXPECT_EQ(orders[0].budget.budget.bytes, regd::kUnlimited);
    snprintf(message.adapter, sizeof message.adapter, "made_up");
    EXPECT_TRUE(arbiter.report(1, 100, 10, message, 0).empty());
    EXPECT_EQ(arbiter.adapters().size(), 1u) << "nothing is kept of what no device is";
}

TEST(RegdArbiter, WhatAUserHasWhomNobodySpeaksForCountsForAWhile) {
    Arbiter arbiter(rules_with(8));
    arbiter.report(1, 100, 10, report(6, 0, 8), 0);
    arbiter.report(2, 200, 20, report(0, 8, 0), 0);
    arbiter.leave(1, 1000);
    auto orders = arbiter.report(2, 200, 20, report(0, 8, 0), 0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 2u);
    EXPECT_TRUE(arbiter.pass(1001).empty());
    orders = arbiter.pass(1000 + 60 * kSecond);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 8u);
}

TEST(RegdArbiter, TheAdministratorsCapacityAndWeightsHold) {
    regd_tool::Rules rules;
    rules.capacity = {4, 0};
    rules.weights[200] = 3;
    Arbiter arbiter(rules);
    arbiter.report(1, 100, 10, report(0, 8, 0), 0);
    arbiter.report(2, 200, 20, report(0, 8, 0), 0);
    arbiter.report(1, 100, 10, report(0, 8, 1), 0);
    arbiter.report(2, 200, 20, report(0, 8, 3), 0);
    const auto& users = arbiter.adapters().at(kAdapter).users;
    EXPECT_EQ(users[0].budget.entries, 1u);
    EXPECT_EQ(users[1].budget.entries, 3u);
}

TEST(RegdArbiter, OneUsersMadeUpAdaptersKeepNobodyElseOut) {
    Arbiter arbiter(rules_with(8));
    Message made_up = report(0, 1, regd::kUnlimited);
    for (int i = 0; i < 10000; ++i) {
        snprintf(made_up.adapter, sizeof made_up.adapter, "made_up%d", i);
        arbiter.report(1, 100, 10, made_up, 0);
    }
    EXPECT_EQ(arbiter.adapters().size(), 64u);
    EXPECT_TRUE(arbiter.report(1, 100, 10, report(1, 1, regd::kUnlimited), 0).empty());
    const auto orders = arbiter.report(2, 200, 20, report(1, 1, regd::kUnlimited), 0);
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].budget.budget.entries, 8u);
    snprintf(made_up.adapter, sizeof made_up.adapter, "made_up%d", 0);
    EXPECT_EQ(arbiter.report(2, 200, 20, made_up, 0).size(), 2u) << "those of others are not his";
    EXPECT_TRUE(arbiter.report(1, 100, 10, made_up, 0).empty());
    arbiter.leave(1, 0);
    arbiter.pass(60 * kSecond);
    EXPECT_FALSE(arbiter.report(3, 100, 10, report(1, 1, regd::kUnlimited), 0).empty());
}

TEST(RegdMessage, OnlyWhatCanBeIsTaken) {
    using dapl::memory::regd::parse;
    const Message good = report(1, 2, 3);
    EXPECT_TRUE(parse(&good, sizeof good));
    EXPECT_FALSE(parse(&good, sizeof good - 1));
    EXPECT_FALSE(parse(&good, 0));
    const auto refused = [&](auto change) {
        Message bad = good;
        change(bad);
        return !parse(&bad, sizeof bad);
    };
    EXPECT_TRUE(refused([](Message& m) { m.magic ^= 1; }));
    EXPECT_TRUE(refused([](Message& m) { m.kind = static_cast<regd::Kind>(77); }));
    EXPECT_TRUE(refused([](Message& m) { m.adapter[0] = '\0'; }));
    EXPECT_TRUE(refused([](Message& m) { m.adapter[0] = '/'; }));
    EXPECT_TRUE(refused([](Message& m) { memset(m.adapter, 'a', sizeof m.adapter); }));
    EXPECT_TRUE(refused([](Message& m) { m.kind = regd::Kind::kRow; }));
    EXPECT_TRUE(refused([](Message& m) { m.capacity.entries = 1u << 20; }));
    EXPECT_TRUE(refused([](Message& m) { m.used.bytes = ~std::uint64_t{0}; }));
    EXPECT_TRUE(refused([](Message& m) { m.wanted.entries = ~std::uint64_t{0}; }));
    EXPECT_TRUE(refused([](Message& m) { m.budget.entries = 1u << 20; }));
    EXPECT_TRUE(refused([](Message& m) { m.grace = ~std::uint64_t{0}; }));
}

/// A daemon in its own process.
class Daemon {
  public:
    Daemon(const std::string& socket, const std::string& directory,
           regd_tool::Rules rules = rules_with(8))
        : socket_(socket), rules_(std::move(rules)) {
        start(directory);
    }
    void start(const std::string& directory) {
        child_ = std::make_unique<Child>([&, directory](Channel& channel) {
            regd_tool::Server server(socket_, rules_);
            regd_tool::Leaders leaders(directory, socket_);
            channel.send('r');
            server.run(channel.input(), [&] { leaders.look(); });
        });
        child_->channel().receive<char>();
    }
    /// Ends the daemon as SIGTERM does. @return the exit status.
    int stop() {
        child_->channel().send('s');
        return child_->wait();
    }
    void kill() {
        child_->kill();
        child_->wait();
    }
    pid_t pid() const { return child_->pid(); }

  private:
    const std::string socket_;
    const regd_tool::Rules rules_;
    std::unique_ptr<Child> child_;
};

#define SKIP_UNDER_THREAD_SANITIZER \
    if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer cannot follow threads after fork"

bool leads(const TableStatus& status, pid_t pid) {
    return std::any_of(status.processes.begin(), status.processes.end(),
                       [&](const auto& one) { return one.pid == pid && one.holds_lease; });
}

TEST(Regd, LeadsTheTablesOfItsOwnUserAndLeavesWhenNobodyElseIsThere) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    Daemon daemon(place.path() + "/socket", place.path());
    {
        auto broker = place.join(terms(2));
        EXPECT_TRUE(eventually([&] { return leads(broker->status(), daemon.pid()); }));
        take(*broker);
        auto other = place.join(terms(2));
        broker->use(take(*other)).use_count = 1;
        EXPECT_TRUE(broker->queue({}));
        // The daemon decides; this thread only fetches upcalls.
        EXPECT_TRUE(eventually([&] { return broker->next() || other->next(); }));
    }
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(place.file()); }));
    EXPECT_EQ(daemon.stop(), 0);
    EXPECT_TRUE(std::filesystem::is_empty(place.path())) << "the socket is removed";
}

TEST(Regd, AfterItsKillSomebodyElseLeadsAndItLeadsAgainOnceItIsBack) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    Daemon daemon(place.path() + "/socket", place.path());
    auto broker = place.join(terms(1));
    EXPECT_TRUE(eventually([&] { return leads(broker->status(), daemon.pid()); }));
    daemon.kill();
    const SlotId slot = take(*broker);
    ASSERT_TRUE(broker->queue({}));
    broker->release(slot);
    EXPECT_TRUE(eventually([&] {
        broker->work();
        const auto upcall = broker->next();
        return upcall && upcall->kind == Upcall::Kind::kGranted;
    }));
    EXPECT_TRUE(leads(broker->status(), getpid()));
    daemon.start(place.path());
    EXPECT_TRUE(eventually([&] { return leads(broker->status(), daemon.pid()); }));
}

TEST(Regd, TellsWhoReportsHowMuchItMayUse) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place, elsewhere;
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, elsewhere.path(), rules_with(5));
    auto broker = *Broker::join(place.path(), kAdapter, terms(8), Member{1, socket});
    take(*broker);
    EXPECT_TRUE(eventually([&] {
        broker->work();
        const auto rows = regd_tool::ask_status(socket);
        return rows.size() == 1 && rows[0].used.entries == 1 && rows[0].budget.entries == 5 &&
               rows[0].connected;
    }));
    const Message row = regd_tool::ask_status(socket).at(0);
    EXPECT_STREQ(row.adapter, kAdapter);
    EXPECT_EQ(row.user, geteuid());
    EXPECT_EQ(row.process, getpid());
    EXPECT_EQ(row.capacity.entries, 5u);
    broker.reset();
    EXPECT_TRUE(eventually([&] { return regd_tool::ask_status(socket).at(0).connected == 0; }));
}

TEST(Regd, ASecondOneAtTheSameSocketIsRefused) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    Daemon daemon(place.path() + "/socket", place.path());
    EXPECT_THROW(regd_tool::Server(place.path() + "/socket", {}), std::runtime_error);
    EXPECT_NO_THROW(regd_tool::ask_status(place.path() + "/socket"));
}

TEST(Regd, OneThatHasManyToAcceptIsThereAndIsWaitedFor) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, place.path());
    ASSERT_EQ(kill(daemon.pid(), SIGSTOP), 0);
    {
        std::vector<support::UniqueFd> many;
        auto fd = dapl::memory::regd::connect_to(socket);
        for (; fd && many.size() < 1000; fd = dapl::memory::regd::connect_to(socket))
            many.push_back(std::move(*fd));
        ASSERT_FALSE(fd);
        ASSERT_EQ(fd.error(), EAGAIN);
        EXPECT_THROW(regd_tool::Server(socket, {}), std::runtime_error);
    }
    auto asked = std::async(std::launch::async, [&] { return regd_tool::ask_status(socket); });
    EXPECT_EQ(asked.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    ASSERT_EQ(kill(daemon.pid(), SIGCONT), 0);
    EXPECT_NO_THROW(asked.get());
    EXPECT_EQ(daemon.stop(), 0);
}

TEST(Regd, GarbageAndTooManyConnectionsHurtNobodyElse) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, place.path());
    for (const size_t size : {size_t{1}, sizeof(Message), sizeof(Message) + 1, size_t{4096}}) {
        auto fd = dapl::memory::regd::connect_to(socket);
        ASSERT_TRUE(fd);
        const std::string garbage(size, 'x');
        send(fd->get(), garbage.data(), size, MSG_NOSIGNAL);
        char byte;
        EXPECT_TRUE(eventually([&] { return recv(fd->get(), &byte, 1, 0) == 0; })) << size;
    }
    {
        std::vector<support::UniqueFd> many;
        for (int i = 0; i < 200; ++i)
            if (auto fd = dapl::memory::regd::connect_to(socket)) many.push_back(std::move(*fd));
        EXPECT_GE(many.size(), 64u);
    }
    EXPECT_TRUE(eventually([&] {
        try {
            return regd_tool::ask_status(socket).empty();
        } catch (const std::runtime_error&) {
            return false;
        }
    }));
    EXPECT_EQ(daemon.stop(), 0);
}

TEST(Regd, TheStatusHasEveryRowHoweverManyThereAreAndASlowReaderDelaysNobody) {
    SKIP_UNDER_THREAD_SANITIZER;
    constexpr int kRows = 3000;
    const Place place;
    const std::string socket = place.path() + "/socket";
    regd_tool::Rules rules = rules_with(8);
    rules.adapters_per_user = kRows;
    Daemon daemon(socket, "/nonexistent", rules);
    auto reporter = dapl::memory::regd::connect_to(socket);
    ASSERT_TRUE(reporter);
    fcntl(reporter->get(), F_SETFL, 0);
    Message message = report(1, 0, regd::kUnlimited);
    for (int i = 0; i < kRows; ++i) {
        snprintf(message.adapter, sizeof message.adapter, "adapter%04d", i);
        ASSERT_EQ(send(reporter->get(), &message, sizeof message, MSG_NOSIGNAL),
                  static_cast<ssize_t>(sizeof message));
        Message budget;
        ASSERT_EQ(recv(reporter->get(), &budget, sizeof budget, 0),
                  static_cast<ssize_t>(sizeof budget));
    }
    auto slow = dapl::memory::regd::connect_to(socket);
    ASSERT_TRUE(slow);
    const Message question = dapl::memory::regd::make(regd::Kind::kStatus);
    ASSERT_EQ(send(slow->get(), &question, sizeof question, 0),
              static_cast<ssize_t>(sizeof question));
    for (int round = 0; round < 3; ++round) {
        const auto rows = regd_tool::ask_status(socket);
        ASSERT_EQ(rows.size(), static_cast<std::size_t>(kRows));
        for (int i = 0; i < kRows; ++i) ASSERT_EQ(rows[i].adapter, fmt::format("adapter{:04}", i));
    }
    fcntl(slow->get(), F_SETFL, 0);
    int rows = 0;
    for (Message row{}; row.kind != regd::Kind::kEnd; ++rows)
        ASSERT_EQ(recv(slow->get(), &row, sizeof row, 0), static_cast<ssize_t>(sizeof row));
    EXPECT_EQ(rows, kRows + 1);
    EXPECT_EQ(daemon.stop(), 0);
}

TEST(Regd, EightUsersWithAllTheirConnectionsKeepANinthNotOut) {
    SKIP_UNDER_THREAD_SANITIZER;
    if (geteuid() != 0) GTEST_SKIP() << "only root can be many users";
    constexpr uid_t kFirst = 60000;
    const Place place;
    ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, "/nonexistent");
    std::vector<std::unique_ptr<Child>> users;
    for (uid_t user = kFirst; user < kFirst + 8; ++user) {
        users.push_back(std::make_unique<Child>([&, user](Channel& channel) {
            test::require(setgid(user) == 0 && setuid(user) == 0, "another user");
            std::vector<support::UniqueFd> all;
            for (int i = 0; i < 64; ++i) {
                auto fd = dapl::memory::regd::connect_to(socket);
                while (!fd && fd.error() == EAGAIN) fd = dapl::memory::regd::connect_to(socket);
                test::require(fd.has_value(), "a connection");
                all.push_back(std::move(*fd));
            }
            channel.send('r');
            channel.receive_whenever<char>();
        }));
        users.back()->channel().receive<char>();
    }
    EXPECT_NO_THROW(regd_tool::ask_status(socket));
    for (auto& user : users) user->channel().send('.');
    for (auto& user : users) EXPECT_EQ(user->wait(), 0);
    EXPECT_EQ(daemon.stop(), 0);
}

/// A member of the table of adapter0 whose agent thread gives back what others want.
class Holder {
  public:
    Holder(const Place& place, const std::string& socket)
        : broker_(*Broker::join(place.path(), kAdapter, terms(8), Member{1, socket})),
          agent_([this] { serve(); }) {}
    ~Holder() {
        stop_ = true;
        broker_->wake();
        agent_.join();
    }
    Broker& broker() const { return *broker_; }

  private:
    void serve() {
        while (!stop_) {
            while (const auto upcall = broker_->next())
                if (upcall->kind == Upcall::Kind::kRevoke) broker_->release(upcall->slot);
            broker_->sleep(broker_->work());
        }
    }

    const std::unique_ptr<Broker> broker_;
    std::atomic<bool> stop_{false};
    test::Thread agent_;
};

/// @return what dat_regd knows of the only user of adapter0; nothing if it knows no user.
Message only_row(const std::string& socket) {
    const auto rows = regd_tool::ask_status(socket);
    return rows.size() == 1 ? rows[0] : Message{};
}

/// A process with a Holder that has one entry.
class HoldingChild {
  public:
    HoldingChild(const Place& place, const std::string& socket)
        : child_([&](Channel& channel) { hold(channel, place, socket); }) {
        child_.channel().receive<char>();
    }
    /// @return how often its other threads have gone to sleep.
    long sleeps() {
        child_.channel().send('?');
        return child_.channel().receive<long>();
    }
    pid_t pid() const { return child_.pid(); }
    void kill() {
        child_.kill();
        child_.wait();
    }
    void end() {
        child_.channel().send('e');
        EXPECT_EQ(child_.wait(), 0);
    }

  private:
    static void hold(Channel& channel, const Place& place, const std::string& socket) {
        const Holder holder(place, socket);
        take(holder.broker());
        channel.send('t');
        while (channel.receive_whenever<char>() == '?') channel.send(test::sleeps_of_others());
    }

    Child child_;
};

/// @return whether dat_regd learns that the only user of adapter0 has this many entries.
bool learns(const std::string& socket, std::uint64_t entries) {
    return eventually([&] { return only_row(socket).used.entries == entries; });
}

TEST(Regd, WhoReportsSleepsWhileNothingHappensAndReportsWhatOthersDo) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, "/nonexistent", rules_with(5));
    HoldingChild holder(place, socket);
    EXPECT_TRUE(learns(socket, 1));
    std::this_thread::sleep_for(300ms);  // what it still has to do
    const long before = holder.sleeps();
    std::this_thread::sleep_for(1500ms);
    EXPECT_EQ(holder.sleeps(), before);
    const auto broker = place.join(terms(8));
    const SlotId slot = take(*broker);
    EXPECT_TRUE(learns(socket, 2));
    broker->release(slot);
    EXPECT_TRUE(learns(socket, 1));
    holder.end();
}

TEST(Regd, WhoSleepsLearnsThatOneIsThereAndThatItHasGone) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    const std::string socket = place.path() + "/socket";
    HoldingChild holder(place, socket);
    std::this_thread::sleep_for(100ms);  // it is asleep, as a rule
    Daemon daemon(socket, "/nonexistent", rules_with(5));
    EXPECT_TRUE(learns(socket, 1));
    daemon.kill();
    std::this_thread::sleep_for(100ms);
    daemon.start("/nonexistent");
    EXPECT_TRUE(learns(socket, 1));
    holder.end();
}

TEST(Regd, AnotherProcessSpeaksForAUserWhenTheOneThatDidIsKilled) {
    SKIP_UNDER_THREAD_SANITIZER;
    const Place place;
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, "/nonexistent", rules_with(5));
    HoldingChild speaker(place, socket);
    EXPECT_TRUE(eventually([&] { return only_row(socket).process == speaker.pid(); }));
    HoldingChild heir(place, socket);
    EXPECT_TRUE(learns(socket, 2));
    std::this_thread::sleep_for(100ms);  // both are asleep, as a rule
    speaker.kill();
    EXPECT_TRUE(eventually([&] {
        const Message row = only_row(socket);
        return row.process == heir.pid() && row.used.entries == 1 && row.connected;
    })) << "the heir speaks, and without what the dead one had";
    heir.end();
}

/// How a process answers when others want what it has.
enum class Way { kGives, kPins, kRefuses, kPosts };

Class class_of(Way way) {
    return way == Way::kPins    ? Class::kPinned
           : way == Way::kPosts ? Class::kMessaging
                                : Class::kRdma;
}

/// @return whether an upcall takes its slot from a process of this kind.
bool is_lost(Broker& broker, const Upcall& upcall, Way way) {
    if (upcall.kind == Upcall::Kind::kRevoke) return true;
    if (upcall.kind != Upcall::Kind::kAnnounced) return false;
    if (way == Way::kRefuses) broker.refuse(upcall.slot, kNever);
    return way == Way::kGives;
}

/// Runs a process of a user that wants all of a table. Answers each '?' on the channel with the
/// number of entries that it has.
void greedy(Channel& channel, uid_t user, const std::string& socket, Way way = Way::kGives) {
    if (user != 0) test::require(setgid(user) == 0 && setuid(user) == 0, "another user");
    const Place place;
    auto broker =
        *Broker::join(place.path(), kAdapter, terms(8, "lru", kMillisecond), Member{1, socket});
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::vector<SlotId> held;
    test::Thread agent([&] {
        while (!stop) {
            while (const auto upcall = broker->next()) {
                const bool goes = is_lost(*broker, *upcall, way);
                const std::lock_guard guard(mutex);
                if (goes && std::erase(held, upcall->slot)) broker->release(upcall->slot);
            }
            broker->sleep(broker->work());
        }
    });
    test::Thread taker([&] {
        while (!stop)
            if (auto slot = broker->take({class_of(way), 4096}, now() + 20 * kMillisecond)) {
                broker->use(*slot).use_count = 1;
                broker->use(*slot).busy = way == Way::kPosts;
                const std::lock_guard guard(mutex);
                held.push_back(*slot);
            }
    });
    while (channel.receive_whenever<char>() == '?') channel.send(broker->status().entries);
    stop = true;
    taker.join();
    broker->wake();
    agent.join();
}

TEST(Regd, SharesOutAmongUsersAndEverybodyGoesOnWhenItIsKilled) {
    SKIP_UNDER_THREAD_SANITIZER;
    if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
    constexpr uid_t kOther = 65534;
    const Place place;
    ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);  // so that both users can connect
    const std::string socket = place.path() + "/socket";
    Daemon daemon(socket, "/nonexistent");
    Child ours([&](Channel& channel) { greedy(channel, 0, socket); });
    Child theirs([&](Channel& channel) { greedy(channel, kOther, socket); });
    const auto has = [](Child& child) {
        child.channel().send('?');
        return child.channel().receive<std::uint64_t>();
    };
    const auto shared_out = [&] {
        const auto rows = regd_tool::ask_status(socket);
        return rows.size() == 2 && rows[0].budget.entries == 4 && rows[1].budget.entries == 4 &&
               has(ours) == 4 && has(theirs) == 4;
    };
    EXPECT_TRUE(eventually(shared_out));
    Child stranger([&](Channel&) {
        test::require(setgid(kOther) == 0 && setuid(kOther) == 0, "another user");
        const auto rows = regd_tool::ask_status(socket);
        test::require(rows.size() == 1 && rows[0].user == kOther, "others' use is not told");
    });
    EXPECT_EQ(stranger.wait(), 0);
    daemon.kill();
    EXPECT_TRUE(eventually([&] { return has(ours) == 8 && has(theirs) == 8; }))
        << "without a daemon each user has his table";
    daemon.start("/nonexistent");
    EXPECT_TRUE(eventually(shared_out)) << "they have connected again";
    for (Child* child : {&ours, &theirs}) child->channel().send('.');
    EXPECT_EQ(ours.wait(), 0);
    EXPECT_EQ(theirs.wait(), 0);
}

TEST(Regd, AUserWhoPinsRefusesOrPostsAllComesDownToTheBudgetToo) {
    SKIP_UNDER_THREAD_SANITIZER;
    if (geteuid() != 0) GTEST_SKIP() << "only root can be two users";
    constexpr uid_t kOther = 65534;
    const auto has = [](Child& child) {
        child.channel().send('?');
        return child.channel().receive<std::uint64_t>();
    };
    for (const Way way : {Way::kPins, Way::kRefuses, Way::kPosts}) {
        const Place place;
        ASSERT_EQ(chmod(place.path().c_str(), 0755), 0);  // so that both users can connect
        const std::string socket = place.path() + "/socket";
        Daemon daemon(socket, "/nonexistent");
        Child holder([&](Channel& channel) { greedy(channel, 0, socket, way); });
        EXPECT_TRUE(eventually([&] { return has(holder) == 8; })) << "alone it has all";
        Child newcomer([&](Channel& channel) { greedy(channel, kOther, socket); });
        EXPECT_TRUE(eventually([&] { return has(holder) == 4 && has(newcomer) == 4; }));
        for (Child* child : {&holder, &newcomer}) {
            child->channel().send('.');
            EXPECT_EQ(child->wait(), 0);
        }
    }
}

}  // namespace
}  // namespace registration
