// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The index's table of multicast groups: one record for each queue pair in a group. A group exists
/// as long as it has a record.
#include <algorithm>
#include <cerrno>

#include "providers/soft/softverbs/fabric/index_layout.hpp"

namespace softverbs {

std::vector<Index::AttachmentRecord> Index::read_attachments(const Header& header) const {
    static_assert(sizeof(PortRow) == kBindersPerPort * 48 && sizeof(AttachmentRecord) == 24);
    return read_many<AttachmentRecord>(kAttachmentsAt, header.attachments_used);
}

/// Writes a record and then the header, so that a reader that has the new count sees the change.
void Index::change_group(Transaction& transaction, Header& header, std::uint32_t place,
                         const AttachmentRecord& record) {
    transaction.write(attachment_at(place), record);
    header.attachments_used = std::max(header.attachments_used, place + 1);
    ++header.group_changes;
    transaction.write(0, header);
}

Result<bool> Index::attach(const MulticastGroup& group, std::uint32_t qp_num) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    if (!joined_) return tl::unexpected(ENODEV);  // the process is exiting
    Header header = read<Header>(0);
    if (header.magic != kIndexMagic || !header.is_sane()) return tl::unexpected(EIO);
    const auto records = read_attachments(header);
    std::uint32_t members = 0;
    for (const AttachmentRecord& record : records) {
        if (!record.is_in(group)) continue;
        if (record.qp_num == qp_num) return false;
        ++members;
    }
    const auto is_free = [](const AttachmentRecord& record) { return record.qp_num == 0; };
    const auto place = static_cast<std::uint32_t>(
        std::find_if(records.begin(), records.end(), is_free) - records.begin());
    if (members >= kMaxGroupMembers || place == kMaxAttachments) return tl::unexpected(ENOMEM);
    change_group(transaction, header, place, {group.mgid, qp_num, group.mlid, 0});
    if (transaction.error()) return tl::unexpected(transaction.error());
    return true;
}

Result<void> Index::detach(const MulticastGroup& group, std::uint32_t qp_num) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    Header header = read<Header>(0);
    if (header.magic != kIndexMagic || !header.is_sane()) return tl::unexpected(EIO);
    const auto records = read_attachments(header);
    const auto is_ours = [&](const AttachmentRecord& record) {
        return record.qp_num == qp_num && record.is_in(group);
    };
    const auto found = std::find_if(records.begin(), records.end(), is_ours);
    if (found == records.end()) return tl::unexpected(EINVAL);
    change_group(transaction, header, static_cast<std::uint32_t>(found - records.begin()), {});
    if (transaction.error()) return tl::unexpected(transaction.error());
    return {};
}

/// The caller writes the header.
void Index::detach_blocks(Transaction& transaction, Header& header,
                          const std::vector<bool>& blocks) {
    const auto records = read_attachments(header);
    for (std::size_t i = 0; i < records.size(); ++i) {
        const std::uint32_t block = records[i].qp_num >> 8;
        if (block >= blocks.size() || !blocks[block]) continue;
        transaction.write(attachment_at(i), AttachmentRecord{});
        ++header.group_changes;
    }
}

Index::Attached Index::attached_to(const MulticastGroup& group) const {
    const Header header = read<Header>(0);
    Attached found{header.group_changes, {}};
    if (!header.is_sane()) return found;
    for (const AttachmentRecord& record : read_attachments(header)) {
        if (found.qp_nums.size() == kMaxGroupMembers) break;
        if (record.is_in(group)) found.qp_nums.push_back(record.qp_num);
    }
    return found;
}

std::uint64_t Index::group_changes() const {
    return read<std::uint64_t>(offsetof(Header, group_changes));
}

}  // namespace softverbs
