// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The index's table of ports: binders and listeners.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/index_layout.hpp"

namespace softverbs {
namespace {

/// Whether the two connections differ at their other ends.
template <class One, class Other>
bool go_elsewhere(const One& one, const Other& other) {
    return one.destination != 0 && other.destination != 0 && one.destination != other.destination;
}

/// Whether two bindings of one port conflict, by the kernel's rules.
template <class One, class Other>
bool conflict(const One& one, const Other& other) {
    if (one.one_family && other.one_family && !same_family(one.address, other.address))
        return false;
    if (go_elsewhere(one, other)) return false;
    return is_any(one.address) || is_any(other.address) || same_address(one.address, other.address);
}

}  // namespace

std::uint32_t hash_of_destination(const in6_addr& address, std::uint16_t port) {
    std::uint32_t words[4];
    std::memcpy(words, &address, sizeof words);
    std::uint32_t hash = port;
    for (const std::uint32_t word : words) hash = (hash ^ word) * 0x9e3779b1u;
    return hash != 0 ? hash : 1;
}

/// Reads a port's records. Those of members that no longer live come back empty. Only the owner
/// writes a record that is in use, so each is written by itself, and given back without the lock.
Index::PortRow Index::read_ports(std::uint16_t port) const {
    auto row = read<PortRow>(PortRow::at(port));
    for (PortRecord& record : row.records)
        if (!is_living({record.slot, record.member})) record = {};
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
    record.destination = key.destination;
    return record;
}

/// Chooses the next port, in turn: one that was just released is not reused at once.
Result<std::uint16_t> Index::choose_port(Transaction& transaction, const PortKey& key) const {
    Header header = read<Header>(0);
    if (!header.is_sane()) return tl::unexpected(EIO);
    for (std::uint32_t tried = kFirstFreePort; tried < kPorts; ++tried) {
        const auto port = static_cast<std::uint16_t>(header.next_port);
        header.next_port = port + 1 < static_cast<int>(kPorts) ? port + 1u : kFirstFreePort;
        const PortRow row = read_ports(port);
        const auto is_free = [](const PortRecord& record) { return record.member == 0; };
        const auto can_stay = [&](const PortRecord& record) {
            return is_free(record) || go_elsewhere(key, record);
        };
        if (std::none_of(row.records.begin(), row.records.end(), is_free)) continue;
        if (!std::all_of(row.records.begin(), row.records.end(), can_stay)) continue;
        transaction.write(0, header);
        return port;
    }
    return tl::unexpected(EADDRNOTAVAIL);
}

Result<std::uint16_t> Index::bind_port(const PortKey& key, bool share) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    Result<std::uint16_t> port = key.port;
    if (key.port == 0) port = choose_port(transaction, key);
    if (!port) return port;
    PortRow row = read_ports(*port);
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
    transaction.write(row.record_at(*port, *free_record), *free_record);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return port;
}

Result<void> Index::listen_port(const PortKey& key) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    PortRow row = read_ports(key.port);
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
    transaction.write(row.record_at(key.port, *own), *own);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return {};
}

void Index::release_port(const PortKey& key) {
    support::MutexLock lock(mutex_);  // another thread may be releasing the same binding
    const PortRow row = read_ports(key.port);
    for (const PortRecord& record : row.records) {
        if (record.member != self_.id || record.port_space != key.port_space ||
            record.destination != key.destination || !same_address(key.address, record.address))
            continue;
        const PortRecord unused = {};
        // If it cannot be written, the port stays taken until this process ends.
        (void)write_bytes(&unused, sizeof unused, row.record_at(key.port, record));
        return;
    }
}

std::optional<MemberRef> Index::listener_in(const PortKey& key) const {
    const PortRow row = read_ports(key.port);
    const auto is_for_any = [&key](const PortRecord& record) {
        return is_any(record.address) &&
               (!record.one_family || same_family(record.address, key.address));
    };
    for (const bool exact : {true, false})
        for (const PortRecord& record : row.records)
            if (record.member != 0 && record.listening && record.port_space == key.port_space &&
                (exact ? same_address(record.address, key.address) : is_for_any(record)))
                return MemberRef{record.slot, record.member};
    return std::nullopt;
}

/// The member that is found looks up its listener itself, and rejects the request if there is none.
/// Nobody is a valid answer only under the lock: a record may be half written.
Result<MemberRef> Index::find_listener(const PortKey& key) {
    if (const auto found = listener_in(key)) return *found;
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    if (const auto found = listener_in(key)) return *found;
    return tl::unexpected(ENOENT);
}

Result<std::vector<Index::Listener>> Index::find_listeners(std::uint32_t port_space,
                                                           std::uint16_t port) {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    const PortRow row = read_ports(port);
    std::vector<Listener> found;
    for (const PortRecord& record : row.records)
        if (record.member != 0 && record.listening && record.port_space == port_space)
            found.push_back({{record.slot, record.member}, record.address});
    return found;
}

}  // namespace softverbs
