// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Messages kept for a caller in place of being written, for dry runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/base/messages.hpp"

namespace support {

struct CapturedMessage {
    const Message* message;
    std::string text;  ///< without the next step
    std::string next_step;
};

/// While it lives, what report() tells from this thread and through this library is kept here, at
/// any trace level. The innermost one listens.
class CapturedMessages {
  public:
    CapturedMessages();
    ~CapturedMessages();
    CapturedMessages(const CapturedMessages&) = delete;
    CapturedMessages& operator=(const CapturedMessages&) = delete;

    void add(CapturedMessage message) { all_.push_back(std::move(message)); }
    const std::vector<CapturedMessage>& all() const { return all_; }

  private:
    CapturedMessages* outer_;
    std::vector<CapturedMessage> all_;
};

}  // namespace support
