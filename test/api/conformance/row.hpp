// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// A row: one checkable statement about one function, run in a process of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace conformance {

class Rig;

struct Row {
    /// FUNCTION/CASE.
    std::string name;
    /// Answer that the specification requires: codes in hexadecimal (0 for success), names and
    /// numbers, in the order in which the body writes them.
    std::string answer;
    std::function<void(Rig&)> body;
    /// Why the row is not run on the reference, e.g. because it hangs there or damages memory;
    /// empty if the row is run.
    std::string not_asked = {};
};
using Rows = std::vector<Row>;

// One function for each file of rows.
Rows strerror_rows();
Rows registry_rows();
Rows ia_rows();
Rows ia_attribute_rows();
Rows handle_rows();
Rows context_rows();
Rows ep_create_rows();
Rows ep_query_rows();
Rows ep_modify_rows();
Rows ep_connect_rows();
Rows ep_end_rows();
Rows ep_state_rows();
Rows post_rows();
Rows transfer_rows();
Rows cr_rows();
Rows service_point_rows();
Rows evd_rows();
Rows evd_wait_rows();
Rows cno_rows();
Rows memory_rows();
Rows rmr_rows();
Rows srq_rows();
Rows extension_rows();
Rows proposal_rows();

}  // namespace conformance
