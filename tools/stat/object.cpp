// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/object.hpp"

#include <set>

#include "tools/stat/ends.hpp"

namespace stat_tool {
namespace {

using Ids = std::set<std::string>;

/// Calls `use` for each IA.
template <class Processes, class Use>
void for_each_ia(Processes& processes, const Use& use) {
    for (auto& process : processes)
        for (auto& library : process.libraries)
            for (auto& ia : library.ias) use(ia);
}

void add_peer(const std::vector<Process>& processes, const std::string& id, Ids& wanted) {
    std::vector<End> ends;
    for (const Process& process : processes) add_ends(process, ends);
    for (const End& end : ends) {
        const End* peer = end.ep->id == id ? peer_of(end, ends) : nullptr;
        if (peer) wanted.insert(peer->ep->id);
    }
}

void add_servants(const Ia& ia, Ids& wanted) {
    for (const Ep& ep : ia.eps)
        if (wanted.contains(ep.id))
            wanted.insert({ep.connect_evd, ep.requests.evd, ep.receives.evd, ep.srq});
    for (const Evd& evd : ia.evds)
        if (wanted.contains(evd.id)) wanted.insert(evd.cno);
    wanted.erase("");
}

template <class Object>
void keep(std::vector<Object>& objects, const Ids& wanted) {
    std::erase_if(objects, [&](const Object& object) { return !wanted.contains(object.id); });
}

/// @return whether the IA has anything left, or is wanted itself.
bool reduce(Ia& ia, const Ids& wanted) {
    if (wanted.contains(ia.id)) return true;
    keep(ia.eps, wanted);
    keep(ia.evds, wanted);
    keep(ia.cnos, wanted);
    keep(ia.srqs, wanted);
    keep(ia.service_points, wanted);
    keep(ia.requests, wanted);
    ia.counters.clear();
    return !ia.eps.empty() || !ia.evds.empty() || !ia.cnos.empty() || !ia.srqs.empty() ||
           !ia.service_points.empty() || !ia.requests.empty();
}

}  // namespace

std::vector<Process> only_object(std::vector<Process> processes, const std::string& id) {
    Ids wanted{id};
    add_peer(processes, id, wanted);
    for_each_ia(processes, [&](const Ia& ia) { add_servants(ia, wanted); });
    for (Process& process : processes) {
        for (Library& library : process.libraries)
            std::erase_if(library.ias, [&](Ia& ia) { return !reduce(ia, wanted); });
        std::erase_if(process.libraries,
                      [](const Library& library) { return library.ias.empty(); });
    }
    std::erase_if(processes, [](const Process& process) { return process.libraries.empty(); });
    return processes;
}

}  // namespace stat_tool
