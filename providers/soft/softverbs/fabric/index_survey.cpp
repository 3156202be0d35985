// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The index as seen by a process that is not a member: who lives, and what dead members left
/// behind.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "providers/soft/softverbs/fabric/index_layout.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

constexpr std::string_view kSocketPrefix = "member-";

/// @return nullopt for a name that socket_name() does not make.
std::optional<std::uint32_t> slot_of(const std::string& name) {
    std::uint32_t slot = 0;
    const char* const end = name.data() + name.size();
    if (!name.starts_with(kSocketPrefix)) return std::nullopt;
    const auto [stopped, error] = std::from_chars(name.data() + kSocketPrefix.size(), end, slot);
    const bool whole = error == std::errc() && stopped == end && slot < kSlots;
    return whole && name == Index::socket_name(slot) ? std::optional(slot) : std::nullopt;
}

LinkLosses add_losses(LinkLosses losses, const DeviceStates& before, const DeviceStates& now) {
    for (unsigned index = 0; index < kMostPortIds; ++index)
        losses[index] += now.is_down(PortId::at(index)) && !before.is_down(PortId::at(index));
    return losses;
}

}  // namespace

/// Opens the index, but creates none. @return an invalid descriptor if there is no index.
Result<UniqueFd> Index::open_to_look(const Directory& directory, int access) {
    UniqueFd file(openat(directory.fd(), "index", access | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {};
    if (!file.valid() && errno == ENOENT) return file;
    if (!file.valid() || fstat(file.get(), &status) != 0) {
        const int error = errno;
        support::report<support::kFabricIndexBad>(directory.path(), strerror(error));
        return tl::unexpected(error);
    }
    if (S_ISREG(status.st_mode) && status.st_uid == geteuid()) return file;
    support::report<support::kFabricIndexBad>(directory.path(),
                                              "it is not a regular file of this user");
    return tl::unexpected(EACCES);
}

/// @return false when the index is of another version or damaged, which is reported.
bool Index::is_usable(const Header& header) const {
    if (header.magic == kIndexMagic && header.version == kFabricVersion && header.is_sane())
        return true;
    const bool other = header.magic == kIndexMagic && header.version != kFabricVersion;
    support::report<support::kFabricIndexBad>(
        directory_.path(),
        other ? fmt::format("its version is {}, not {}", header.version, kFabricVersion)
              : "its contents are damaged");
    return false;
}

Index::Survey Index::describe(const Records& records) const {
    Survey survey;
    survey.hash = records.header.hash;
    std::vector<std::size_t> place(records.members.size(), SIZE_MAX);
    for (std::uint32_t slot = 0; slot < records.members.size(); ++slot) {
        if (records.members[slot].id == 0) continue;
        place[slot] = survey.members.size();
        survey.members.push_back({{slot, records.members[slot].id},
                                  records.members[slot].address,
                                  is_locked(slot, 1),
                                  {}});
    }
    for (std::uint32_t block = 1; block < records.owners.size(); ++block) {
        const std::uint32_t owner = records.owners[block];
        if (owner == 0 || owner > place.size() || place[owner - 1] == SIZE_MAX) continue;
        survey.members[place[owner - 1]].blocks.push_back(block);
    }
    return survey;
}

/// Does not take the index's lock, so that a caller that is stopped here holds up nobody. A member
/// that joins or leaves at the same time may be seen or not.
Result<Index::Survey> Index::look(const Directory& directory) {
    Index index(directory);
    auto file = open_to_look(directory, O_RDONLY);
    if (!file) return tl::unexpected(file.error());
    if (!file->valid()) return Survey{};
    index.file_ = std::move(*file);
    Records records;
    records.header = index.read<Header>(0);
    if (records.header.magic == 0 && !index.is_locked(0, kSlots)) return Survey{};
    if (!index.is_usable(records.header)) return tl::unexpected(EIO);
    records.members = index.read_many<MemberRecord>(kMembersAt, records.header.slots_used);
    records.owners = index.read_many<std::uint32_t>(kBlocksAt, records.header.fresh_block);
    return index.describe(records);
}

DeviceStates Index::device_states() const {
    return DeviceStates::decode(read<std::uint64_t>(kDeviceStatesAt));
}

std::uint64_t Index::rule_changes() const {
    return read<std::uint64_t>(kRuleChangesAt);
}

Result<void> Index::write_to(
    const Directory& directory,
    const std::function<void(const Index& index, Transaction& transaction)>& write) {
    Index index(directory);
    if (auto opened = index.open_file(); !opened) return opened;
    Transaction transaction(index);
    if (transaction.error()) return tl::unexpected(transaction.error());
    if (auto header = index.read_header(transaction); !header)
        return tl::unexpected(header.error());
    write(index, transaction);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return {};
}

Result<DeviceStates> Index::change(const Directory& directory,
                                   const std::function<void(DeviceStates&)>& change) {
    DeviceStates states;
    auto written = write_to(directory, [&](const Index& index, Transaction& transaction) {
        const DeviceStates before = index.device_states();
        states = before;
        change(states);
        transaction.write(kLinkLossesAt,
                          add_losses(index.read<LinkLosses>(kLinkLossesAt), before, states));
        transaction.write(kDeviceStatesAt, states.encode());
    });
    if (!written) return tl::unexpected(written.error());
    return states;
}

Result<void> Index::note_rules(const Directory& directory) {
    return write_to(directory, [](const Index& index, Transaction& transaction) {
        transaction.write(kRuleChangesAt, index.rule_changes() + 1);
    });
}

/// Reads what stands at a place of the index, without its lock. Zeros if there is no index.
template <class T>
Result<T> Index::look_at(const Directory& directory, off_t offset) {
    Index index(directory);
    auto file = open_to_look(directory, O_RDONLY);
    if (!file) return tl::unexpected(file.error());
    if (!file->valid()) return T{};
    index.file_ = std::move(*file);
    return index.read<T>(offset);
}

Result<DeviceStates> Index::device_states_of(const Directory& directory) {
    return look_at<std::uint64_t>(directory, kDeviceStatesAt).map(DeviceStates::decode);
}

Result<LinkLosses> Index::link_losses_of(const Directory& directory) {
    return look_at<LinkLosses>(directory, kLinkLossesAt);
}

Result<Index::Leftovers> Index::clean(const Directory& directory, bool dry_run) {
    Index index(directory);
    auto file = open_to_look(directory, O_RDWR);
    if (!file) return tl::unexpected(file.error());
    Leftovers found;
    if (!file->valid()) return found;
    index.file_ = std::move(*file);
    Transaction transaction(index);
    if (transaction.error()) return tl::unexpected(transaction.error());
    Header header = index.read<Header>(0);
    if (header.magic == 0 && !index.is_locked(0, kSlots)) return found;
    if (!index.is_usable(header)) return tl::unexpected(EIO);
    const Survey survey =
        index.describe({header, index.read_many<MemberRecord>(kMembersAt, header.slots_used),
                        index.read_many<std::uint32_t>(kBlocksAt, header.fresh_block)});
    for (const MemberInfo& member : survey.members)
        if (!member.living) found.members.push_back(member);
    // A member locks its slot before it makes its socket, so the socket of an unlocked slot is
    // abandoned.
    for (const std::string& name : directory.entries()) {
        const auto slot = slot_of(name);
        if (slot && !index.is_locked(*slot, 1)) found.sockets.push_back(name);
    }
    if (dry_run) return found;
    index.bury_dead(transaction, header);
    for (const std::string& name : found.sockets) directory.remove(name);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return found;
}

}  // namespace softverbs
