// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The record that a client gets from its server over TCP before any use of DAT.
#pragma once

#include "test/dtest/record.hpp"
#include "tools/common/socket.hpp"

namespace dtest {

constexpr tools::MeetingPoint kMeetingPoint{"dtest", 15828, "dtest without -h", "dtest -h HOST"};

/// Both functions throw a Failure on an error or when the deadline passes.
void send_record(const tools::Socket& socket, const Record& record,
                 const tools::Deadline& deadline);
Record receive_record(const tools::Socket& socket, const tools::Deadline& deadline);

}  // namespace dtest
