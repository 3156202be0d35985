// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Objects that the program has not freed when their owner ends.
#pragma once

#include <cstdint>

#include "check/model/model.hpp"

namespace check {

/// Groups them by kind and by the place where they were made, each of which is one finding.
class LeftObjects {
  public:
    void add(const Object& object);
    /// @param tell gets a Found for each group. No lock may be held.
    template <class Tell>
    void for_each(const Tell& tell) const {
        for (int i = 0; i < count_; ++i) {
            Found found;
            describe(groups_[i], found);
            tell(found);
        }
    }

  private:
    struct Group {
        const char* kind;
        Origin made;
        std::uint64_t count;
    };
    static void describe(const Group& group, Found& found);

    static constexpr int kMost = 64;
    Group groups_[kMost];
    int count_ = 0;
};

}  // namespace check
