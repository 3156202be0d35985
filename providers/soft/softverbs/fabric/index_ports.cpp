// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The index's table of ports: binders and listeners.
#include <cerrno>

#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/index_layout.hpp"

namespace softverbs {
namespace {

off_t row_at(std::uint16_t port, std::size_t row_size) {
    return kPortsAt + off_t{port} * static_cast<off_t>(row_size);
}

/// Whether two bindings of one port conflict, by the kernel's rules.
template <class One, class Other>
bool conflict(const One& one, const Other& other) {
    if (one.one_family && other.one_family && !same_family(one.address, other.address))
        return false;
    return is_any(one.address) || is_any(other.address) || same_address(one.address, other.address);
}

}  // namespace

/// Reads a port's records. Those of members that no longer live come back empty.
Index::PortRow Index::read_ports(Transaction& transaction, std::uint16_t port) const {
    auto row = transaction.read<PortRow>(row_at(port, sizeof(PortRow)));
    for (PortRecord& record : row.records)
        if (!is_living(transaction, {record.slot, record.member})) record = {};
    return row;
}

Index::PortRecord Index::own_record(const PortKey& key, bool share) const {
    PortRecord record = {};
    record.member = self_.id;
    record.slot = self_.slot;
    record.port_space = key.port_space;
    record.address = key.address;
    record.shared = share;
    record.one_family = key.one_family;
    return record;
}

/// Chooses the next port, in turn, that nobody has in any port space: one that was just released is
/// not reused at once.
Result<std::uint16_t> Index::choose_port(Transaction& transaction) const {
    Header header = transaction.read<Header>(0);
    if (!header.is_sane()) return tl::unexpected(EIO);
    for (std::uint32_t tried = kFirstFreePort; tried < kPorts; ++tried) {
        const auto port = static_cast<std::uint16_t>(header.next_port);
        header.next_port = port + 1 < static_cast<int>(kPorts) ? port + 1u : kFirstFreePort;
        bool taken = false;
        for (const PortRecord& record : read_ports(transaction, port).records)
            taken = taken || record.member != 0;
        if (taken) continue;
        transaction.write(0, header);
        return port;
    }
    return tl::unexpected(EADDRNOTAVAIL);
}

Result<std::uint16_t> Index::bind_port(const PortKey& key, bool share) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    Result<std::uint16_t> port = key.port;
    if (key.port == 0) port = choose_port(transaction);
    if (!port) return port;
    PortRow row = read_ports(transaction, *port);
    PortRecord* free_record = nullptr;
    for (PortRecord& record : row.records) {
        if (record.member == 0) {
            free_record = &record;
            continue;
        }
        if (record.port_space != key.port_space || (share && record.shared)) continue;
        if (conflict(key, record)) return tl::unexpected(EADDRINUSE);
    }
    if (!free_record) return tl::unexpected(EADDRINUSE);
    *free_record = own_record(key, share);
    transaction.write(row_at(*port, sizeof(PortRow)), row);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return port;
}

Result<void> Index::listen_port(const PortKey& key) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    PortRow row = read_ports(transaction, key.port);
    PortRecord* own = nullptr;
    for (PortRecord& record : row.records) {
        if (record.member == 0 || record.port_space != key.port_space) continue;
        const bool exact = same_address(key.address, record.address);
        if (!own && exact && record.member == self_.id && !record.listening)
            own = &record;
        else if (conflict(key, record))
            return tl::unexpected(EADDRINUSE);
    }
    if (!own) return tl::unexpected(EINVAL);
    own->listening = 1;
    transaction.write(row_at(key.port, sizeof(PortRow)), row);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return {};
}

void Index::release_port(const PortKey& key) {
    Transaction transaction(*this);
    if (transaction.error()) return;
    PortRow row = read_ports(transaction, key.port);
    for (PortRecord& record : row.records) {
        if (record.member != self_.id || record.port_space != key.port_space ||
            !same_address(key.address, record.address))
            continue;
        record = {};
        break;
    }
    transaction.write(row_at(key.port, sizeof(PortRow)), row);
}

Result<MemberRef> Index::find_listener(const PortKey& key) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    const PortRow row = read_ports(transaction, key.port);
    const auto is_for_any = [&key](const PortRecord& record) {
        return is_any(record.address) &&
               (!record.one_family || same_family(record.address, key.address));
    };
    for (const bool exact : {true, false})
        for (const PortRecord& record : row.records)
            if (record.member != 0 && record.listening && record.port_space == key.port_space &&
                (exact ? same_address(record.address, key.address) : is_for_any(record)))
                return MemberRef{record.slot, record.member};
    return tl::unexpected(ENOENT);
}

Result<std::vector<Index::Listener>> Index::find_listeners(std::uint32_t port_space,
                                                           std::uint16_t port) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    const PortRow row = read_ports(transaction, port);
    std::vector<Listener> found;
    for (const PortRecord& record : row.records)
        if (record.member != 0 && record.listening && record.port_space == port_space)
            found.push_back({{record.slot, record.member}, record.address});
    return found;
}

}  // namespace softverbs
