// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The log of faults that were applied. Each line is a rule that applies the same fault to the same
/// request again, so that the log is itself a file of rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/base/unique_fd.hpp"

namespace softverbs::faults {

class FaultLog {
  public:
    /// Opens the file for appending, and makes it if it is missing. Reports it when it cannot be
    /// written; then nothing is logged.
    explicit FaultLog(const std::string& path);

    /// Appends a rule, `BEGIN NUMBER END` without the number if it is 0, with a comment, `REMARK,
    /// at TIME`. It is one write, so that lines of several processes do not mix. Allocates nothing.
    void write(std::string_view begin, std::uint64_t number, std::string_view end,
               std::string_view remark) const;

  private:
    support::UniqueFd file_;
};

}  // namespace softverbs::faults
