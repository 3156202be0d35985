// SPDX-License-Identifier: BSD-2-Clause
#include "tools/regd/leader.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "broker/broker.hpp"

namespace regd_tool {

using dapl::memory::Broker;

class Leaders::Leader {
  public:
    Leader(std::string adapter, std::unique_ptr<Broker> broker)
        : adapter_(std::move(adapter)), broker_(std::move(broker)), thread_([this] { lead(); }) {}
    ~Leader() {
        stop_ = true;
        broker_->wake();
        thread_.join();
    }
    Leader(const Leader&) = delete;
    Leader& operator=(const Leader&) = delete;
    const std::string& adapter() const { return adapter_; }
    bool is_alone() const { return broker_->status().processes.size() <= 1; }

  private:
    void lead() {
        broker_->lead();
        while (!stop_) {
            while (broker_->next()) {
            }
            broker_->sleep(broker_->work());
        }
    }

    const std::string adapter_;
    const std::unique_ptr<Broker> broker_;
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

Leaders::Leaders(std::string directory, std::string socket)
    : directory_(std::move(directory)), socket_(std::move(socket)) {}

Leaders::~Leaders() = default;

void Leaders::look() {
    std::erase_if(leaders_, [](const auto& leader) { return leader->is_alone(); });
    for (const std::string& adapter : dapl::memory::tables(directory_)) {
        const bool known = std::any_of(leaders_.begin(), leaders_.end(), [&](const auto& leader) {
            return leader->adapter() == adapter;
        });
        if (known) continue;
        auto broker = Broker::join_existing(directory_, adapter, {0, socket_});
        if (broker) leaders_.push_back(std::make_unique<Leader>(adapter, std::move(*broker)));
    }
}

}  // namespace regd_tool
