// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/regions.hpp"

#include <algorithm>

#include "check/model/mapping.hpp"

namespace check {
namespace {

constexpr std::size_t kEndedKept = 1024;

/// @return how many bytes lie between a segment and a region; 0 if they overlap.
std::uint64_t distance(const Region& region, const Segment& segment) {
    const std::uint64_t region_end = region.first + region.length;
    const std::uint64_t segment_end = segment.address + segment.length;
    if (segment_end <= region.first) return region.first - segment_end + 1;
    return segment.address >= region_end ? segment.address - region_end + 1 : 0;
}

const char* name_of_rights(unsigned rights) {
    return (rights & kLocalWrite)     ? "local write"
           : (rights & kRemoteWrite)  ? "remote write"
           : (rights & kRemoteAtomic) ? "remote atomic operations"
                                      : "remote read";
}

Finding& about(Found& found, Kind kind, const Segment& segment, const Region* region) {
    Finding& finding = found.add(kind);
    finding.address = segment.address;
    finding.length = segment.length;
    finding.key = segment.key;
    if (!region) return finding;
    finding.made = region->made;
    finding.ended = region->ended;
    return finding;
}

}  // namespace

std::size_t Regions::Hash::operator()(const Name& name) const {
    constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
    return (reinterpret_cast<std::uintptr_t>(name.domain) ^ name.key) * kOdd >> 20;
}

void Regions::add(Domain domain, std::uint64_t key, const Region& region) {
    regions_.insert_or_assign(Name{domain, key}, region);
}

void Regions::end(Domain domain, std::uint64_t key, const void* handle, const Origin& origin) {
    const auto known = regions_.find({domain, key});
    if (known == regions_.end() || known->second.handle != handle) return;
    known->second.is_live = false;
    known->second.ended = origin;
    ended_.push_back(known->first);
    if (ended_.size() <= kEndedKept) return;
    const auto oldest = regions_.find(ended_.front());
    if (oldest != regions_.end() && !oldest->second.is_live) regions_.erase(oldest);
    ended_.pop_front();
}

void Regions::forget(Domain domain) {
    std::erase_if(regions_, [=](const auto& known) { return known.first.domain == domain; });
}

void Regions::forget_ended(Domain domain, std::uint64_t key) {
    const auto known = regions_.find({domain, key});
    if (known != regions_.end() && !known->second.is_live) regions_.erase(known);
}

bool Regions::peers_may_write(Domain domain, std::uint64_t memory, std::uint64_t length) const {
    return std::any_of(regions_.begin(), regions_.end(), [=](const auto& known) {
        const Region& region = known.second;
        return known.first.domain == domain && region.is_live &&
               (region.rights & (kRemoteWrite | kRemoteAtomic)) != 0 &&
               region.memory < memory + length && memory < region.memory + region.length;
    });
}

const Region* Regions::find(Domain domain, std::uint64_t key) const {
    const auto known = regions_.find({domain, key});
    return known == regions_.end() ? nullptr : &known->second;
}

bool Regions::has_remote(Domain domain) const {
    return std::any_of(regions_.begin(), regions_.end(), [=](const auto& known) {
        return known.first.domain == domain && known.second.is_live &&
               (known.second.rights & (kRemoteRead | kRemoteWrite)) != 0;
    });
}

void Regions::name_nearest(Domain domain, const Segment& segment, Finding& finding) const {
    std::uint64_t least = UINT64_MAX;
    for (const auto& [name, region] : regions_) {
        if (name.domain != domain || name.key == segment.key || !region.is_live) continue;
        const std::uint64_t away = distance(region, segment);
        if (away >= least) continue;
        least = away;
        finding.other_key = name.key;
        finding.other_address = region.first;
        finding.other_length = region.length;
        finding.other = region.made;
    }
}

const Region* Regions::name_problem(const Name& name, const Segment& segment, Found& found) const {
    const auto known = regions_.find(name);
    const Region* region = known == regions_.end() ? nullptr : &known->second;
    if (region && region->is_live) return region;
    Finding& finding = about(found, region ? Kind::kEnded : Kind::kNotRegistered, segment, region);
    name_nearest(name.domain, segment, finding);
    return nullptr;
}

const Region* Regions::check_registration(Domain domain, const Segment& segment, unsigned rights,
                                          const void* zone, Found& found) const {
    const Region* region = name_problem({domain, segment.key}, segment, found);
    if (!region) return nullptr;
    if (!region->holds(segment.address, segment.length)) {
        Finding& finding = about(found, Kind::kRange, segment, region);
        finding.number = region->first;
        finding.limit = region->length;
        name_nearest(domain, segment, finding);
        return nullptr;
    }
    if ((region->rights & rights) != rights) {
        about(found, Kind::kRight, segment, region).what = name_of_rights(rights & ~region->rights);
        return nullptr;
    }
    if (zone && region->zone && region->zone != zone) {
        about(found, Kind::kZone, segment, region);
        return nullptr;
    }
    return region;
}

const Region* Regions::check(Domain domain, const Segment& segment, unsigned rights,
                             const void* zone, Found& found) const {
    const Region* region = check_registration(domain, segment, rights, zone, found);
    if (!region || !region->memory || segment.length == 0 ||
        is_mapped(region->memory + (segment.address - region->first), segment.length))
        return region;
    about(found, Kind::kUnmapped, segment, region);
    return nullptr;
}

}  // namespace check
