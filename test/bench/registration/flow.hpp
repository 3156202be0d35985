// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A process that writes from its own regions to memory of another process, through DAT over soft0,
/// for experiments that move data. What arrives is compared with what was sent.
#pragma once

#include <dat2/dat_reg_extensions.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "test/api/side.hpp"
#include "test/bench/registration/results.hpp"
#include "test/bench/registration/shared.hpp"

namespace registration {

/// The settings with which an IA is opened: OPENDAT_REGISTRATIONS and the like in the environment
/// of this process.
struct Settings {
    std::string directory, mode, policy = "weighted-fair-lru", brackets = "windows";
    int entries = 0, grace_us = 10000, wait_ms = 20000, low = 0, high = 0;
    void apply() const;
};

/// @return processor time of this process, in ns.
std::uint64_t cpu_time();

/// Registers memory with dat_lmr_create and all privileges, for as long as the IA is open.
test::Window expose(const test::Side& side, void* memory, std::size_t bytes);

/// The process to whose memory the others write: one connection and one part of the memory for each
/// writer. It does not share the table.
class Sink {
  public:
    Sink(int writers, std::size_t bytes);
    /// To be called in the writer's process. @return the writer's part.
    test::Window window(int writer);
    static DAT_CONN_QUAL qualifier(int writer) {
        return 46100 + static_cast<DAT_CONN_QUAL>(writer);
    }
    /// @return the memory of a writer's part, which all processes share.
    std::uint8_t* memory(int writer) const {
        return memory_ + static_cast<std::size_t>(writer) * bytes_;
    }
    void end();

  private:
    void serve(test::Channel& channel, int writers) const;
    const std::size_t bytes_;
    std::uint8_t* memory_ = nullptr;
    std::vector<test::Window> windows_;
    std::unique_ptr<test::Child> child_;
};

class Writer {
  public:
    static constexpr int kMostOutstanding = 64;
    /// @param bytes size of each region.
    Writer(Sink& sink, int self, int regions, std::size_t bytes);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    bool is_registered(int region) const {
        return lmrs_[static_cast<std::size_t>(region)] != DAT_HANDLE_NULL;
    }
    /// Registers a region with dat_lmr_create, as every program does. @return its code.
    DAT_RETURN create(int region);
    /// Registers a region with dat_reg_lmr_create_wait. @param timeout us.
    DAT_RETURN create_wait(int region, DAT_TIMEOUT timeout,
                           DAT_REG_CLASS kind = DAT_REG_CLASS_RDMA);
    void free(int region);
    /// Posts a write of the region to the sink. @return the code of the post.
    DAT_RETURN post(int region);
    /// Waits for the completion of the oldest write. @return whether it succeeded.
    bool reap();
    /// Writes the region to the sink and waits for the completion. @return whether the write
    /// succeeded.
    /// @param code code of the post; DAT_SUCCESS if the completion has the error.
    bool write(int region, DAT_RETURN& code);
    /// @return whether the sink has received the region's contents.
    bool arrived(int region) const;

    test::Side side;
    std::vector<DAT_LMR_HANDLE> lmrs_;

  private:
    std::uint8_t* memory(int region) const {
        return memory_ + static_cast<std::size_t>(region) * bytes_;
    }

    Sink& sink_;
    const int self_;
    const std::size_t bytes_;
    std::uint8_t* memory_ = nullptr;
    std::size_t all_bytes_;
    std::vector<DAT_LMR_CONTEXT> keys_;
    test::Window window_{};
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    DAT_UINT64 posted_ = 0, reaped_ = 0;
};

}  // namespace registration
