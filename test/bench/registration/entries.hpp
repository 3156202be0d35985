// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that shares a table, for experiments about the table's decisions: entries for numbered
/// regions, taken when they are needed and given up when others need them. It registers nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "test/bench/registration/shared.hpp"

namespace registration {

using dapl::memory::Broker;
using dapl::memory::Class;
using dapl::memory::Refusal;
using dapl::memory::SlotId;
using dapl::memory::SlotState;
using dapl::memory::SlotUse;
using dapl::memory::Terms;
using dapl::memory::Ticket;
using dapl::memory::Upcall;
using dapl::memory::Wanted;
using namespace std::chrono_literals;

/// A directory for tables of one run of an experiment, gone at its end.
class TableDirectory {
  public:
    TableDirectory();
    ~TableDirectory();
    TableDirectory(const TableDirectory&) = delete;
    TableDirectory& operator=(const TableDirectory&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

inline constexpr const char* kAdapter = "experiment";

/// How a process behaves.
struct Manners {
    bool tells_use = true;                  ///< keeps last_use and use_count of its slots
    bool answers = true;                    ///< gives up what is announced and idle
    std::function<int()> alternative = {};  ///< a region to give up instead; -1: none
    /// Until when what is announced shall not be asked for; 0: it may go.
    std::function<Time()> refusal = {};
    std::function<Time()> answer_delay = {};  ///< how long announcements are left lying
    bool named = false;                       ///< its entries can be ended by the device
    Class kind = Class::kRdma;
    std::uint32_t share = 1;
    std::uint64_t region_bytes = 4096;
};

class Entries {
  public:
    Entries(const std::string& directory, const Terms& terms, Ledger& ledger, int regions,
            Manners manners);
    ~Entries();
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;

    /// Begins a use of a region that has an entry. @return false: it has none.
    bool begin_use(int region);
    void end_use(int region);
    /// Gets an entry for a region that has none, and begins a use. @param deadline of the wait.
    std::optional<Refusal> acquire(int region, Time deadline);
    /// The same without waiting here. @param done called by the agent: nothing, or why not.
    std::optional<Refusal> request(int region, std::function<void(std::optional<Refusal>)> done);
    /// Gives the entry of an idle region back. @return false: it has none, or is in use.
    bool give_back(int region);

    bool has(int region);
    /// Says that the region has just been used and is still in use, which is not so.
    void pretend(int region);
    /// Whether it has one that nobody has asked for.
    bool stands(int region);
    Broker& broker() { return *broker_; }
    std::uint64_t failed_uses() const { return failed_uses_; }  ///< ended by a revocation
    std::uint64_t lost() const {
        return lost_;
    }  ///< entries that others have got from this process
    std::uint64_t windows() const { return pressed_; }
    /// Called by the agent with the region whenever one is lost.
    std::function<void(int)> on_loss = {};

  private:
    struct Region {
        SlotId slot;
        int uses = 0;
        bool offered = false;  ///< in the place of another one
    };
    struct Request {
        int region;
        std::function<void(std::optional<Refusal>)> done;
    };
    void serve();
    void carry_out(const Upcall& upcall);
    void announced(const Upcall& upcall);
    void revoked(const Upcall& upcall);
    void answered(const Upcall& upcall);
    void hold(int region, SlotId slot);
    void note_use(const Region& region);
    void drop(int region);
    int region_of(SlotId slot) const;

    Ledger& ledger_;
    const Manners manners_;
    std::unique_ptr<Broker> broker_;
    std::mutex mutex_;  ///< of all below
    std::vector<Region> regions_;
    std::map<std::uint32_t, int> by_slot_;
    std::map<std::uint32_t, Request> requests_;  ///< by index of the ticket
    std::atomic<std::uint64_t> failed_uses_{0}, lost_{0}, pressed_{0};
    std::atomic<bool> ending_{false};
    std::thread agent_;
};

}  // namespace registration
