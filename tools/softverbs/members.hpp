// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Queries the members of a fabric for their state. A member greets every process that connects to
/// its socket, before it knows which it is: that greeting carries the arena's descriptor, and then
/// we close the connection.
#pragma once

#include <memory>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "tools/softverbs/arena_snapshot.hpp"

namespace softverbs::tool {

enum class Answer { kShown, kSilent, kGone, kRefused };

struct MemberSnapshot {
    Index::MemberInfo info;
    Answer answer = Answer::kGone;
    pid_t pid = 0;        ///< 0: in a name space that is not visible here
    std::string program;  ///< its short name; "" if not visible
    ArenaSnapshot arena;  ///< valid with kShown
};

/// Queries living members only. Waits a few seconds at most for all of them together.
std::vector<MemberSnapshot> ask_members(const Directory& directory, const Index::Survey& survey);

/// Makes all members look at the fabric's states and fault rules: they do so when somebody
/// connects, and greet us when they have done what follows. Reports on stderr who does not answer.
/// @return how many have.
std::size_t tell_members(const Directory& directory);

}  // namespace softverbs::tool
