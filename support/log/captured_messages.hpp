// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Messages kept for a caller instead of being written, for dry runs.
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

/// While it lives, messages that report() gets from this thread through this library are kept here,
/// at any trace level. When several are nested, the innermost one gets them.
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
