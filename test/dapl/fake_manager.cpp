// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fake device's connection manager, whose peer always accepts.
#include <netinet/in.h>

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "dapl/cm/manager.hpp"
#include "dapl/cm/unlocked_step.hpp"
#include "test/dapl/fake_device.hpp"

namespace {

std::atomic<int> disconnected;
dapl::cm::User* last_user;
dapl::cm::ListenUser* last_listener;
DAT_RETURN accept_refusal;
std::function<void()> work_of_answer;
bool answer_went_on;
DAT_RETURN listen_refusal;
std::vector<std::uint64_t> listened;

/// Its peer reports nothing by itself: establish() reports in its place.
class AgreeableConnection final : public dapl::cm::Connection {
  public:
    support::Result<void> accept(const dapl::cm::Parameters& parameters,
                                 dapl::cm::User& user) override {
        if (accept_refusal) return support::failure(accept_refusal);
        fake::connect(parameters.qp);
        last_user = &user;
        return {};
    }
    void answer() override REQUIRES(dapl::connection_lock) {
        if (!work_of_answer) return;
        const bool goes_on = moving_.run(std::exchange(work_of_answer, nullptr));
        answer_went_on = goes_on;
    }
    void reject(dapl::cm::PrivateData) override {}
    void disconnect() override REQUIRES(dapl::connection_lock) {
        ++disconnected;
        moving_.overtake();
    }
    sockaddr_storage peer_address() const override { return {}; }
    std::uint16_t local_port() const override { return 1; }
    std::uint16_t remote_port() const override { return 2; }

  private:
    dapl::cm::UnlockedStep moving_;
};

class AgreeableManager final : public dapl::cm::Manager {
  public:
    AgreeableManager(dapl::cm::LoopHold loop, int number) : Manager(std::move(loop)) {
        adapter_.context = fake::context(number);
        adapter_.port = 1;
        adapter_.address.ss_family = AF_INET;
    }
    const dapl::cm::Adapter& adapter() const override { return adapter_; }
    const char* name() const override { return "FAKE"; }
    DAT_COUNT max_private_data() const override { return 56; }
    dapl::cm::Limits limits() const override { return {56, 196, 148}; }
    void explain(const support::Facts&) const override {}
    support::Result<std::unique_ptr<dapl::cm::Connection>> connect(
        const sockaddr*, std::uint64_t, const dapl::cm::Parameters& parameters,
        dapl::cm::User& user) override {
        fake::connect(parameters.qp);
        last_user = &user;
        return std::make_unique<AgreeableConnection>();
    }
    support::Result<std::unique_ptr<dapl::cm::Listener>> listen(
        std::uint64_t conn_qual, dapl::cm::ListenUser& user) override {
        listened.push_back(conn_qual);
        if (listen_refusal) return support::failure(listen_refusal);
        last_listener = &user;
        return std::make_unique<dapl::cm::Listener>();
    }

  private:
    dapl::cm::Adapter adapter_{};
};

}  // namespace

namespace fake {

const dapl::Library kLibrary = {
    [](std::string_view ia_name,
       std::string_view) -> support::Result<std::unique_ptr<dapl::cm::Manager>> {
        return std::make_unique<AgreeableManager>(
            dapl::cm::LoopHold(**dapl::cm::EventLoop::acquire()), ia_name == "second");
    },
    {}};

void establish() {
    const support::MutexLock guard(dapl::connection_lock);
    last_user->report(dapl::cm::Outcome::kEstablished, {});
}

void request() {
    const support::MutexLock guard(dapl::connection_lock);
    last_listener->request(std::make_unique<AgreeableConnection>(), {});
}
void refuse_accepts(DAT_RETURN code) {
    accept_refusal = code;
}
void during_answer(std::function<void()> work) {
    work_of_answer = std::move(work);
}
bool last_answer_went_on() {
    return answer_went_on;
}
void refuse_listeners(DAT_RETURN code) {
    listen_refusal = code;
}
std::vector<std::uint64_t> take_listened() {
    return std::exchange(listened, {});
}
int disconnects() {
    return disconnected;
}

}  // namespace fake
