// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The members of a fabric, asked for what they show. A member greets whoever connects to its
/// socket before it knows who it is: that greeting brings the arena, and then we hang up.
#pragma once

#include <memory>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "tools/softverbs/arena_snapshot.hpp"

namespace softverbs::tool {

enum class Answer { kShown, kSilent, kGone, kRefused };

struct MemberSnapshot {
    Index::MemberInfo info;
    Answer answer = Answer::kGone;
    pid_t pid = 0;        ///< 0: in a name space that we cannot see
    std::string program;  ///< its short name; "" where it cannot be seen
    ArenaSnapshot arena;  ///< with kShown
};

/// Living members only. Waits a few seconds at most for all of them together.
std::vector<MemberSnapshot> ask_members(const Directory& directory, const Index::Survey& survey);

}  // namespace softverbs::tool
