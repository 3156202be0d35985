// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The number of registrations that each RDMA device of this machine supports.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "broker/broker.hpp"

namespace regd_tool {

class Devices {
  public:
    /// @param adapter name and GUID, as clients report them. @return 0 if no device has them.
    std::uint64_t entries_of(const std::string& adapter);

  private:
    void read();

    std::map<std::string, std::uint64_t> entries_;
    dapl::memory::Time next_reading_ = 0;
};

}  // namespace regd_tool
