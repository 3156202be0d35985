// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/ends.hpp"

#include <algorithm>

namespace stat_tool {
namespace {

/// @return whether each end has the other's ports, and an address matches. Hosts have several
/// addresses, so one that matches is enough.
bool are_ends_of_one(const End& one, const End& other) {
    return one.ep != other.ep && one.ep->local_port == other.ep->peer_port &&
           one.ep->peer_port == other.ep->local_port &&
           (one.ep->peer == other.ia->address || other.ep->peer == one.ia->address);
}

}  // namespace

void add_ends(const Process& process, std::vector<End>& ends) {
    for (const Library& library : process.libraries)
        for (const Ia& ia : library.ias)
            for (const Ep& ep : ia.eps)
                if (!ep.peer.empty() && ep.type == "RC") ends.push_back({&process, &ia, &ep});
}

const End* peer_of(const End& end, const std::vector<End>& ends) {
    const auto found = std::find_if(ends.begin(), ends.end(),
                                    [&](const End& other) { return are_ends_of_one(end, other); });
    return found == ends.end() ? nullptr : &*found;
}

}  // namespace stat_tool
