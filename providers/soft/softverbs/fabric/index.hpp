// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The fabric's index: a small sparse file that lists the members, the owners of QP numbers and of
/// ports, and the queue pairs in multicast groups. It is never mapped, but read and written by
/// pread and pwrite, so a truncated file does no harm, and its contents are checked. Whoever takes
/// something from what is free holds a lock of the open file (OFD). What belongs to a member it
/// gives back without the lock, and who only looks something up does without it where what it finds
/// is confirmed afterwards: with 256 members, most of their time went into waiting for the lock. A
/// member holds a second OFD lock, on its own slot, as long as it lives: the kernel drops the lock
/// when the process dies.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "providers/soft/softverbs/fabric/device_states.hpp"
#include "providers/soft/softverbs/fabric/directory.hpp"
#include "providers/soft/softverbs/fabric/peer.hpp"
#include "providers/soft/softverbs/fabric/result.hpp"
#include "support/thread/mutex.hpp"

namespace softverbs {

/// A port binding: port space (RDMA_PS_*), address (IPv4 as mapped IPv6), port in host order.
struct PortKey {
    std::uint32_t port_space = 0;
    in6_addr address = {};
    std::uint16_t port = 0;
    /// Whether an "any" address stands for its own family only (RDMA_OPTION_ID_AFONLY).
    bool one_family = false;
    /// The active side will connect to this, by hash_of_destination(); 0 if it is not known.
    std::uint32_t destination = 0;
};

/// @param port in host order. @return never 0.
std::uint32_t hash_of_destination(const in6_addr& address, std::uint16_t port);

/// A multicast group: its GID and LID, the latter in host order.
struct MulticastGroup {
    in6_addr mgid = {};
    std::uint16_t mlid = 0;
};

/// Limits of a fabric: queue pairs in all groups, each counted once for each of its groups, and
/// queue pairs in one group.
inline constexpr std::uint32_t kMaxAttachments = 8192;
inline constexpr std::uint32_t kMaxGroupMembers = 1024;

class Index {
  public:
    /// Opens or creates the index in `directory`, takes a slot, and removes what dead members left
    /// behind. `address` is the one that SOFTVERBS_ADDRESS publishes. `directory` must outlive the
    /// index. @return EPROTO when living members have another link layer, which is reported.
    static Result<std::unique_ptr<Index>> join(const Directory& directory, const in6_addr& address);
    /// Gives back blocks, ports, the slot and the socket's name.
    ~Index();
    /// Does the same at the exit of the process, while its other threads still run, so that it does
    /// not count as killed. Only the first call has an effect. Waits at most 500 ms for the locks.
    void leave_at_exit() EXCLUDES(mutex_);
    /// Called in a child after fork: closes the descriptor and leaves the file as it is.
    void abandon();

    /// The fabric's hash, read without joining; creates the index if there is none. @return EPROTO
    /// as join() does.
    static Result<std::uint64_t> hash_of(const Directory& directory);

    // -- for processes that are not members
    // -------------------------------------------------------------------------------
    struct MemberInfo {
        MemberRef member;
        in6_addr address = {};  ///< published, IPv4 as mapped IPv6
        bool living = false;
        std::vector<std::uint32_t> blocks;  ///< of QP numbers that it owns
    };
    struct Survey {
        std::uint64_t hash = 0;  ///< 0 if there is no index yet
        std::vector<MemberInfo> members;
    };
    /// Lists the members of the fabric. Only reads, takes no lock and holds up nobody.
    static Result<Survey> look(const Directory& directory);
    struct Leftovers {
        std::vector<MemberInfo> members;   ///< dead ones; their blocks are freed with them
        std::vector<std::string> sockets;  ///< names of dead members' sockets
    };
    /// Changes the states of devices, in a fabric that need not exist yet. The caller tells the
    /// members, which read them when somebody connects. @return the new states.
    static Result<DeviceStates> change(const Directory& directory,
                                       const std::function<void(DeviceStates&)>& change);
    static Result<DeviceStates> device_states_of(const Directory& directory);
    static Result<LinkLosses> link_losses_of(const Directory& directory);
    /// Notes that the fabric's file of fault rules has been replaced, in a fabric that need not
    /// exist yet. The caller tells the members.
    static Result<void> note_rules(const Directory& directory);
    /// Removes what dead members left behind; with `dry_run` only finds it. @return what it found.
    static Result<Leftovers> clean(const Directory& directory, bool dry_run);

    const MemberRef& self() const { return self_; }
    /// Random, chosen when the index is created.
    std::uint64_t hash() const { return hash_; }
    static std::string socket_name(std::uint32_t slot);
    /// @return the name of a Bell of the member.
    static std::string bell_name(std::uint32_t slot, const std::string& what);

    /// @return a block that nobody owns: a fresh one, else the one freed longest ago; ENOSPC.
    Result<std::uint32_t> take_block() EXCLUDES(mutex_);
    /// @return ENOENT when nobody owns the block.
    Result<MemberRef> owner_of_block(std::uint32_t block) EXCLUDES(mutex_);

    /// Reserves a port; with key.port 0, one that is free or that others connect from to other
    /// destinations, as Linux does: the two ends' addresses and ports identify a connection. "Any"
    /// conflicts with every address on the port, except one of the other family if both keys are
    /// one_family. Two keys that both `share` do not conflict (RDMA_OPTION_ID_REUSEADDR).
    /// @return the port; EADDRINUSE when a living member has a conflicting one or the port has
    /// kBindersPerPort binders; EADDRNOTAVAIL when no port can be chosen.
    Result<std::uint16_t> bind_port(const PortKey& key, bool share = false) EXCLUDES(mutex_);
    /// Makes a port that we bound visible to find_listener(). @return EADDRINUSE when somebody else
    /// has bound it too; EINVAL when we have not.
    Result<void> listen_port(const PortKey& key) EXCLUDES(mutex_);
    void release_port(const PortKey& key) EXCLUDES(mutex_);
    /// @return the living member that listens on the port, on this address or else on "any";
    /// ENOENT.
    Result<MemberRef> find_listener(const PortKey& key) EXCLUDES(mutex_);
    struct Listener {
        MemberRef member;
        in6_addr address;
    };
    /// @return everybody who listens on the port, whatever the address.
    Result<std::vector<Listener>> find_listeners(std::uint32_t port_space, std::uint16_t port)
        EXCLUDES(mutex_);

    /// Adds a queue pair of ours to a group. @return whether it was not in it yet; ENOMEM at a
    /// limit.
    Result<bool> attach(const MulticastGroup& group, std::uint32_t qp_num) EXCLUDES(mutex_);
    /// @return EINVAL when the queue pair is not in the group.
    Result<void> detach(const MulticastGroup& group, std::uint32_t qp_num) EXCLUDES(mutex_);
    struct Attached {
        std::uint64_t changes = 0;           ///< group_changes() when the list was read, or earlier
        std::vector<std::uint32_t> qp_nums;  ///< at most kMaxGroupMembers
    };
    /// Lists the queue pairs in a group. Takes no lock: what changes at the same time is seen or
    /// not.
    Attached attached_to(const MulticastGroup& group) const;
    /// Changes whenever a group does. Allocates nothing and takes no lock.
    std::uint64_t group_changes() const;

    DeviceStates device_states() const;
    /// @return how often the fabric's file of fault rules has been replaced. Takes no lock.
    std::uint64_t rule_changes() const;
    /// Whether a living member has published this address.
    bool is_published(const in6_addr& address) EXCLUDES(mutex_);
    /// Removes what a dead member left behind. Harmless when it lives.
    void bury(const MemberRef& member) EXCLUDES(mutex_);

  private:
    struct Header;
    struct MemberRecord;
    struct PortRecord;
    struct PortRow;
    struct AttachmentRecord;
    class Transaction;

    struct Records;

    explicit Index(const Directory& directory) : directory_(directory) {}
    void leave(Transaction& transaction);
    Result<void> open_file();
    static Result<UniqueFd> open_to_look(const Directory& directory, int access);
    static Result<void> write_to(
        const Directory& directory,
        const std::function<void(const Index& index, Transaction& transaction)>& write);
    template <class T>
    static Result<T> look_at(const Directory& directory, off_t offset);
    bool is_usable(const Header& header) const;
    Survey describe(const Records& records) const;
    void read_bytes(void* to, std::size_t size, off_t offset) const;
    int write_bytes(const void* from, std::size_t size, off_t offset);
    template <class T>
    T read(off_t offset) const;
    template <class T>
    std::vector<T> read_many(off_t offset, std::size_t count) const;
    Result<Header> read_header(Transaction& transaction);
    Result<Header> make_header(Transaction& transaction);
    Result<Header> read_header_of_our_link(Transaction& transaction);
    Result<void> take_slot(Transaction& transaction, Header& header, const in6_addr& address);
    void bury_dead(Transaction& transaction, Header& header);
    void remove_names(std::uint32_t slot) const;
    void free_blocks(Transaction& transaction, Header& header, const std::vector<bool>& slots);
    void detach_blocks(Transaction& transaction, Header& header, const std::vector<bool>& blocks);
    static void change_group(Transaction& transaction, Header& header, std::uint32_t place,
                             const AttachmentRecord& record);
    std::vector<AttachmentRecord> read_attachments(const Header& header) const;
    bool is_locked(std::uint64_t first_slot, std::uint64_t count) const;
    bool is_living(const MemberRef& member) const;
    PortRow read_ports(std::uint16_t port) const;
    std::optional<MemberRef> listener_in(const PortKey& key) const;
    Result<std::uint16_t> choose_port(Transaction& transaction, const PortKey& key) const;
    PortRecord own_record(const PortKey& key, bool share) const;

    const Directory& directory_;
    UniqueFd file_;
    MemberRef self_;
    std::uint64_t hash_ = 0;
    bool joined_ = false;
    /// For the threads of this process: OFD locks do not exclude them from each other.
    support::Mutex mutex_;
};

}  // namespace softverbs
