// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Attributes that are no members of DAT's structures: pairs of strings, in three lists of an
/// adapter instance.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "dapl/base/dat.hpp"

namespace dapl {

class NamedAttributes {
  public:
    NamedAttributes() = default;
    NamedAttributes(NamedAttributes&&) = default;  // a copy would point into the original

    /// @param name a literal.
    void add(const char* name, std::string value) {
        values_.push_back(std::move(value));
        list_.push_back({name, values_.back().c_str()});
    }
    /// Adds an address, which the consumer gets unchanged. @param value stays valid as long as the
    /// list.
    void add_address(const char* name, const char* value) { list_.push_back({name, value}); }
    DAT_COUNT count() const { return static_cast<DAT_COUNT>(list_.size()); }
    /// @return the list in the type of DAT's attribute structures; not to be modified.
    DAT_NAMED_ATTR* list() const { return const_cast<DAT_NAMED_ATTR*>(list_.data()); }

  private:
    std::deque<std::string> values_;  ///< their addresses are stable
    std::vector<DAT_NAMED_ATTR> list_;
};

}  // namespace dapl
