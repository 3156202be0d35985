// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A tiny real transfer: a connection over the IA, a message and an answer, both checked byte by
/// byte.
#pragma once

#include <string>

#include "tools/doctor/link.hpp"

namespace doctor {

/// The passive side. @throw tools::Failure, which is also sent to the other side.
void serve_transfer(const std::string& ia_name, Link& link, double seconds);
/// The active side.
void make_transfer(const std::string& ia_name, Link& link, double seconds);

}  // namespace doctor
