// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Everything that can be reported to a user by code, name or message id, from the tables that the
/// libraries themselves use.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace explaining {

struct Entry {
    /// "message", "type", "subtype", "completion status", "DTO status", "reject reason", "SIDR
    /// status", "event", "rdma_cm event", "finding", "symptom"
    std::string kind;
    std::string name;          ///< DAT240, DAT_ABORT, IBV_WC_REM_ACCESS_ERR, IB_CM_REJ_TIMEOUT
    std::optional<long> code;  ///< none for messages
    std::string meaning;
    std::string causes;
    std::string next_step;
};

/// @return all entries, kind by kind.
const std::vector<Entry>& catalogue();

/// @param word a code (decimal, or hexadecimal after 0x, with or without its class bits), a name in
/// any case, a message id, a line with a message id in brackets, a text that other libraries print,
/// or several codes and names separated by blanks, such as a type and its subtype.
/// @return what it may mean: a type comes before its subtype; a small number can be of several
/// kinds. Empty if it is unknown.
std::vector<Entry> look_up(std::string_view word);

/// @return the names that are most like `word`.
std::vector<std::string> nearest_names(std::string_view word);

}  // namespace explaining
