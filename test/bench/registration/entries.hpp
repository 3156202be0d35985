// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that shares a table, for experiments about the table's decisions: it has entries for
/// numbered regions, acquires them when needed and gives them up when others need them. It
/// registers no memory.
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

/// A directory for the tables of one run of an experiment, removed by the destructor.
class TableDirectory {
  public:
    TableDirectory();
    ~TableDirectory();
    TableDirectory(const TableDirectory&) = delete;
    TableDirectory& operator=(const TableDirectory&) = delete;
    const std::string& path() const { return path_; }
    /// @return the status of the table in it; nothing if nobody has one open.
    std::optional<dapl::memory::TableStatus> look() const;

  private:
    std::string path_;
};

inline constexpr const char* kAdapter = "experiment";

/// How a process behaves.
struct Manners {
    bool tells_use = true;                  ///< maintains last_use and use_count of its slots
    bool answers = true;                    ///< gives up announced entries that are idle
    std::function<int()> alternative = {};  ///< a region to give up instead; -1: none
    /// @return until when an announced entry must not be requested again; 0: it may go.
    std::function<Time()> refusal = {};
    std::function<Time()> answer_delay = {};  ///< how long an announcement stays unanswered
    bool named = false;                       ///< the device can end its entries
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

    /// Begins a use of a region. @return false if the region has no entry or is about to lose it.
    bool begin_use(int region);
    void end_use(int region);
    /// Acquires an entry for a region that has none, and begins a use. @param deadline end of the
    /// wait.
    std::optional<Refusal> acquire(int region, Time deadline);
    /// Requests an entry without waiting. @param done called by the agent with nothing, or the
    /// reason of the refusal.
    std::optional<Refusal> request(int region, std::function<void(std::optional<Refusal>)> done);
    /// Gives back the entry of an idle region. @return false if it has none or is in use.
    bool give_back(int region);

    bool has(int region);
    /// Falsely reports that the region has just been used and is still in use.
    void pretend(int region);
    /// @return whether the region has an entry that nobody has requested.
    bool stands(int region);
    Broker& broker() { return *broker_; }
    std::uint64_t failed_uses() const { return failed_uses_; }  ///< ended by a revocation
    std::uint64_t lost() const { return lost_; }                ///< entries lost to other processes
    std::uint64_t windows() const { return pressed_; }
    /// Called by the agent with the region whenever one is lost.
    std::function<void(int)> on_loss = {};

  private:
    struct Region {
        SlotId slot;
        int uses = 0;
        bool offered = false;  ///< as the alternative to another region
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
    std::mutex mutex_;  ///< guards all below
    std::vector<Region> regions_;
    std::map<std::uint32_t, int> by_slot_;
    std::map<std::uint32_t, Request> requests_;  ///< by index of the ticket
    std::atomic<std::uint64_t> failed_uses_{0}, lost_{0}, pressed_{0};
    std::atomic<bool> ending_{false};
    std::thread agent_;
};

}  // namespace registration
