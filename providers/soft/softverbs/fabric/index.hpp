// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fabric's index: a small sparse file that says who the members are, which QP numbers and
/// which ports are whose. Read and written by pread and pwrite under a lock of the open file (OFD):
/// never mapped, so that a file cut short cannot hurt, and what it holds is checked. A member holds
/// a second OFD lock, on its own slot, for as long as it lives: the kernel drops it when a process
/// dies.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// Who binds a port: a port space (RDMA_PS_*), an address (IPv4 as mapped IPv6), a port in host
/// order.
struct PortKey {
    std::uint32_t port_space = 0;
    in6_addr address = {};
    std::uint16_t port = 0;
    /// Of "any": whether it is that of its own family alone (RDMA_OPTION_ID_AFONLY).
    bool one_family = false;
};

class Index {
  public:
    /// Opens or makes the index in `directory`, takes a slot, and clears what dead members left
    /// behind. `address` is what SOFTVERBS_ADDRESS publishes. `directory` must outlive it.
    static Result<std::unique_ptr<Index>> join(const Directory& directory, const in6_addr& address);
    /// Gives back blocks, ports, slot and the socket's name.
    ~Index();
    /// The same at the end of a process whose threads go on: others do not take it for one that
    /// was killed. Once; calls afterwards find that nothing is ours. Waits for nobody long.
    void leave_at_exit() EXCLUDES(mutex_);
    /// In a child after fork: closes the descriptor and changes nothing.
    void abandon();

    /// The hash alone, without joining; makes the index where there is none.
    static Result<std::uint64_t> hash_of(const Directory& directory);

    // -- for those who are no members
    // -------------------------------------------------------------------------------
    struct MemberInfo {
        MemberRef member;
        in6_addr address = {};  ///< published, IPv4 as mapped IPv6
        bool living = false;
        std::vector<std::uint32_t> blocks;  ///< of QP numbers
    };
    struct Survey {
        std::uint64_t hash = 0;  ///< 0 where there is no index yet
        std::vector<MemberInfo> members;
    };
    /// Who is in the fabric. Reads only, takes no lock and disturbs nobody.
    static Result<Survey> look(const Directory& directory);
    struct Leftovers {
        std::vector<MemberInfo> members;   ///< dead ones; their blocks are freed with them
        std::vector<std::string> sockets;  ///< names of dead members' sockets
    };
    /// Removes what the dead have left, or only finds it. @return what it was.
    static Result<Leftovers> clean(const Directory& directory, bool dry_run);

    const MemberRef& self() const { return self_; }
    /// Random, made with the index.
    std::uint64_t hash() const { return hash_; }
    static std::string socket_name(std::uint32_t slot);
    /// @return the name of a Bell of the member.
    static std::string bell_name(std::uint32_t slot, const std::string& what);

    /// @return a block that nobody owns, the one freed longest ago when none is fresh; ENOSPC.
    Result<std::uint32_t> take_block() EXCLUDES(mutex_);
    /// @return ENOENT when nobody owns the block.
    Result<MemberRef> owner_of_block(std::uint32_t block) EXCLUDES(mutex_);

    /// Reserves a port; key.port 0 takes a free one. Any address conflicts with every address on
    /// the port, but not with the other family's where both are of one family. Two that both
    /// `share` may have the same one (RDMA_OPTION_ID_REUSEADDR).
    /// @return the port; EADDRINUSE exactly when a living member has it; EADDRNOTAVAIL when none is
    /// free.
    Result<std::uint16_t> bind_port(const PortKey& key, bool share = false) EXCLUDES(mutex_);
    /// Makes a port that we bound visible to find_listener(). @return EADDRINUSE when it is shared.
    Result<void> listen_port(const PortKey& key) EXCLUDES(mutex_);
    void release_port(const PortKey& key) EXCLUDES(mutex_);
    /// The living member that listens on this address, or on any, and the port. @return ENOENT.
    Result<MemberRef> find_listener(const PortKey& key) EXCLUDES(mutex_);
    struct Listener {
        MemberRef member;
        in6_addr address;
    };
    /// Whoever listens on the port, at whatever address.
    Result<std::vector<Listener>> find_listeners(std::uint32_t port_space, std::uint16_t port)
        EXCLUDES(mutex_);
    /// Whether a living member has published this address.
    bool is_published(const in6_addr& address) EXCLUDES(mutex_);
    /// Clears what a member left that stopped living. Harmless when it lives.
    void bury(const MemberRef& member) EXCLUDES(mutex_);

  private:
    struct Header;
    struct MemberRecord;
    struct PortRecord;
    struct PortRow;
    class Transaction;

    struct Records;

    explicit Index(const Directory& directory) : directory_(directory) {}
    void leave(Transaction& transaction);
    Result<void> open_file();
    static Result<UniqueFd> open_to_look(const Directory& directory, int access);
    bool is_usable(const Header& header) const;
    Survey describe(const Records& records) const;
    void read_bytes(void* to, std::size_t size, off_t offset) const;
    Result<Header> read_header(Transaction& transaction);
    Result<Header> make_header(Transaction& transaction);
    Result<void> take_slot(Transaction& transaction, Header& header, const in6_addr& address);
    void bury_dead(Transaction& transaction, Header& header);
    void remove_names(std::uint32_t slot) const;
    void free_blocks(Transaction& transaction, Header& header, const std::vector<bool>& slots);
    bool is_locked(std::uint64_t first_slot, std::uint64_t count) const;
    bool is_living(Transaction& transaction, const MemberRef& member) const;
    PortRow read_ports(Transaction& transaction, std::uint16_t port) const;
    Result<std::uint16_t> choose_port(Transaction& transaction) const;
    PortRecord own_record(const PortKey& key, bool share) const;

    const Directory& directory_;
    UniqueFd file_;
    MemberRef self_;
    std::uint64_t hash_ = 0;
    bool joined_ = false;
    /// OFD locks do not keep threads of one process apart.
    support::Mutex mutex_;
};

}  // namespace softverbs
