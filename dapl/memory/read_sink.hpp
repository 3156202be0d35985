// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registered memory for reads whose data nobody wants: what they bring is that they were answered.
#pragma once

#include <memory>

#include "dapl/verbs/handles.hpp"
#include "support/base/result.hpp"

namespace dapl {

class Ia;

class ReadSink {
  public:
    /// @return a sink in this protection domain. A refusal by the device is reported.
    static support::Result<std::unique_ptr<ReadSink>> make(Ia& ia, ibv_pd* domain);

    /// One byte of it. All reads may use the same one.
    ibv_sge byte() const;

  private:
    /// Pages of their own: a forked child may lack those of a region.
    struct GiveBack {
        Ia* ia;
        void operator()(void* pages) const;
    };
    using Pages = std::unique_ptr<void, GiveBack>;
    ReadSink(Pages pages, verbs::MemoryRegion region)
        : pages_(std::move(pages)), region_(std::move(region)) {}

    Pages pages_;
    verbs::MemoryRegion region_;
};

}  // namespace dapl
