// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/left_objects.hpp"

namespace check {

void LeftObjects::add(const Object& object) {
    for (int i = 0; i < count_; ++i)
        if (groups_[i].kind == object.kind && groups_[i].made.place == object.made.place) {
            ++groups_[i].count;
            return;
        }
    if (count_ < kMost) groups_[count_++] = {object.kind, object.made, 1};
}

void LeftObjects::describe(const Group& group, Found& found) {
    Finding& finding = found.add(Kind::kLeft);
    finding.what = group.kind;
    finding.made = group.made;
    finding.number = group.count;
}

}  // namespace check
