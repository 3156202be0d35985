// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/peer.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <fstream>

#include "config.h"

namespace doctor {
namespace {

struct Member {
    const char* name;
    std::string Side::*value;
};
constexpr Member kMembers[] = {
    {"release", &Side::release}, {"manager", &Side::manager}, {"device", &Side::device},
    {"link", &Side::link},       {"mtu", &Side::mtu},         {"gid", &Side::gid},
    {"address", &Side::address}, {"boot", &Side::boot},       {"fabric", &Side::fabric},
};

bool is_ipv4(const std::string& gid) {
    return gid.find("::ffff:") != std::string::npos;
}

std::string type_of(const std::string& gid) {
    const std::size_t open = gid.rfind('(');
    return open == std::string::npos ? "" : gid.substr(open);
}

bool differ(const std::string& ours, const std::string& theirs) {
    return !ours.empty() && !theirs.empty() && ours != theirs;
}

std::string both(const std::string& ours, const std::string& theirs) {
    return "here " + ours + ", there " + theirs;
}

/// Identifies the directory: it can have another path in another container, and the same path can
/// be another directory.
std::string identity_of(const std::string& directory) {
    struct stat status {};
    if (stat(directory.c_str(), &status) != 0) return {};
    return fmt::format("{} (device {}, inode {})", directory, status.st_dev, status.st_ino);
}

/// @return what identity_of() appends to the path.
std::string place_in(const std::string& fabric) {
    const std::size_t open = fabric.rfind(" (");
    return open == std::string::npos ? "" : fabric.substr(open);
}

}  // namespace

Side side_of(const info::KnownFacts& facts) {
    Side side;
    side.release = PACKAGE_VERSION;
    std::ifstream boot("/proc/sys/kernel/random/boot_id");
    boot >> side.boot;
    const auto take = [](std::string& into, const std::string& value) {
        if (into.empty()) into = value;
    };
    for (const info::KnownFact& fact : facts) {
        if (fact.subject == "connection_manager") take(side.manager, fact.value);
        if (fact.subject == "device") take(side.device, fact.value);
        if (fact.subject == "link") take(side.link, fact.value);
        if (fact.subject == "mtu") take(side.mtu, fact.value);
        if (fact.subject == "gid" && fact.value != "none") take(side.gid, fact.value);
        if (fact.subject == "fabric") take(side.fabric, identity_of(fact.value));
        if (fact.subject == "address") take(side.address, fact.value);
    }
    return side;
}

Side exchange(Link& link, const Side& ours) {
    Side theirs;
    for (const Member& member : kMembers) link.send(member.name, ours.*member.value);
    for (const Member& member : kMembers) theirs.*member.value = link.receive(member.name);
    return theirs;
}

bool compare(const Side& ours, const Side& theirs, Findings& findings) {
    const std::size_t before = findings.all().size();
    if (differ(ours.release, theirs.release))
        findings.add(kPeerRelease, both(ours.release, theirs.release),
                     "install one release on both machines");
    if (differ(ours.boot, theirs.boot) && (ours.device == "soft0" || theirs.device == "soft0"))
        findings.add(kPeerUnreachable, both(ours.device, theirs.device),
                     "rdma link add rxe0 type rxe netdev INTERFACE on both machines, then "
                     "dat_conf generate");
    if (!differ(ours.boot, theirs.boot) && differ(place_in(ours.fabric), place_in(theirs.fabric)))
        findings.add(kPeerFabric, both(ours.fabric, theirs.fabric),
                     "mount one directory into both containers, and name it in SOFTVERBS_FABRIC on "
                     "both sides");
    if (differ(ours.link, theirs.link))
        findings.add(kPeerLink, both(ours.link, theirs.link),
                     "name devices of one kind with --ia on both sides");
    if (differ(ours.manager, theirs.manager))
        findings.add(kPeerManager, both(ours.manager, theirs.manager),
                     "name IAs of one provider library with --ia on both sides");
    if (differ(ours.mtu, theirs.mtu))
        findings.add(kPeerMtu, both(ours.mtu, theirs.mtu),
                     "ip link set INTERFACE mtu BYTES, the same on both machines");
    const bool kinds = is_ipv4(ours.gid) != is_ipv4(theirs.gid);
    if (!ours.gid.empty() && !theirs.gid.empty() &&
        (kinds || differ(type_of(ours.gid), type_of(theirs.gid))))
        findings.add(kPeerGid, both(ours.gid, theirs.gid),
                     "give both interfaces addresses of one kind, or set DAPL_GID_INDEX");
    return std::none_of(
        findings.all().begin() + static_cast<std::ptrdiff_t>(before), findings.all().end(),
        [](const Finding& finding) { return finding.kind->severity == Severity::kError; });
}

}  // namespace doctor
