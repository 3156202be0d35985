// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/index.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "providers/soft/softverbs/fabric/index_layout.hpp"
#include "providers/soft/softverbs/fabric/message.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"

namespace softverbs {
namespace {

/// A holder needs the lock for some microseconds only, but it may have been stopped.
constexpr auto kLockPatience = std::chrono::seconds(10);

struct flock lock_of(short type, off_t start, off_t length) {
    struct flock lock = {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = start;
    lock.l_len = length;
    return lock;
}

std::uint64_t random_number() {
    std::uint64_t number = 0;
    while (number == 0)
        if (getrandom(&number, sizeof number, 0) != sizeof number) number = 0;
    return number;
}

void report_unusable(const Directory& directory, int error) {
    if (!support::report_limit(error, "the fabric's index", directory.path()))
        support::report<support::kFabricIndexBad>(directory.path(), strerror(error));
}

}  // namespace

Index::Transaction::Transaction(Index& index) NO_THREAD_SAFETY_ANALYSIS : index_(index) {
    index_.mutex_.lock();
    error_ = lock_file(Clock::now() + kLockPatience);
    if (error_ == ETIMEDOUT)
        support::report<support::kFabricLockHeld>(index_.directory_.path(), kLockPatience.count());
}

Index::Transaction::Transaction(Index& index, Deadline deadline) NO_THREAD_SAFETY_ANALYSIS
    : index_(index) {
    // This very thread may hold the mutex: a signal handler may end the process.
    while (!(is_locked_ = index_.mutex_.try_lock()) && Clock::now() < deadline) sched_yield();
    error_ = is_locked_ ? lock_file(deadline) : EBUSY;
}

/// Tries, since a wait in the kernel has no limit. Hundreds who wait for a short time each would
/// leave no processor to the holder, so the pauses grow. @return 0 or an errno.
int Index::Transaction::lock_file(Deadline deadline) {
    constexpr std::chrono::microseconds kFirstPause{20};
    constexpr std::chrono::microseconds kLongestPause{5000};
    struct flock lock = lock_of(F_WRLCK, kIndexLockAt, 1);
    auto pause = kFirstPause;
    while (fcntl(index_.file_.get(), F_OFD_SETLK, &lock) != 0) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return errno;
        if (Clock::now() >= deadline) return ETIMEDOUT;
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
    return 0;
}

Index::Transaction::~Transaction() NO_THREAD_SAFETY_ANALYSIS {
    if (!is_locked_) return;
    struct flock lock = lock_of(F_UNLCK, kIndexLockAt, 1);
    fcntl(index_.file_.get(), F_OFD_SETLK, &lock);
    index_.mutex_.unlock();
}

void Index::read_bytes(void* to, std::size_t size, off_t offset) const {
    if (size == 0) return;
    std::memset(to, 0, size);
    const ssize_t got = pread(file_.get(), to, size, offset);
    (void)got;  // bytes missing from a truncated file stay zero, which means unused
}

/// @return 0 or an errno.
int Index::write_bytes(const void* from, std::size_t size, off_t offset) {
    const ssize_t put = pwrite(file_.get(), from, size, offset);
    if (put == static_cast<ssize_t>(size)) return 0;
    return put < 0 ? errno : ENOSPC;
}

std::string Index::socket_name(std::uint32_t slot) {
    return fmt::format("member-{}", slot);
}

std::string Index::bell_name(std::uint32_t slot, const std::string& what) {
    return fmt::format("member-{}.{}", slot, what);
}

/// Removes the names of a member that has left or died.
void Index::remove_names(std::uint32_t slot) const {
    directory_.remove(socket_name(slot));
    directory_.remove_all(bell_name(slot, {}));
}

Result<std::unique_ptr<Index>> Index::join(const Directory& directory, const in6_addr& address) {
    std::unique_ptr<Index> index(new Index(directory));
    if (auto opened = index->open_file(); !opened) return tl::unexpected(opened.error());
    Transaction transaction(*index);
    if (transaction.error()) return tl::unexpected(transaction.error());
    Result<Header> header = index->read_header_of_our_link(transaction);
    if (!header) {
        support::report_limit(header.error(), "the fabric's index", directory.path());
        return tl::unexpected(header.error());
    }
    index->bury_dead(transaction, *header);
    auto taken = index->take_slot(transaction, *header, address);
    if (!taken) {
        report_unusable(directory, taken.error());
        return tl::unexpected(taken.error());
    }
    return index;
}

Result<std::uint64_t> Index::hash_of(const Directory& directory) {
    Index index(directory);
    if (auto opened = index.open_file(); !opened) return tl::unexpected(opened.error());
    Transaction transaction(index);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return index.read_header_of_our_link(transaction).map([](const Header& header) {
        return header.hash;
    });
}

Result<void> Index::open_file() {
    constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    file_.reset(openat(directory_.fd(), "index", kFlags, 0600));
    struct stat status = {};
    if (!file_.valid() || fstat(file_.get(), &status) != 0) {
        const int error = errno;
        report_unusable(directory_, error);
        return tl::unexpected(error);
    }
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid()) {
        support::report<support::kFabricIndexBad>(directory_.path(),
                                                  "it is not a regular file of this user");
        return tl::unexpected(EACCES);
    }
    return {};
}

/// Reads the header. An unusable index is created anew, unless a living member holds a slot.
Result<Index::Header> Index::read_header(Transaction& transaction) {
    const Header header = read<Header>(0);
    const bool ours = header.magic == kIndexMagic;
    if (ours && header.version == kFabricVersion && header.is_sane()) {
        hash_ = header.hash;
        return header;
    }
    if (!is_locked(0, kSlots)) return make_header(transaction);
    const std::string why =
        ours && header.version != kFabricVersion
            ? fmt::format("its version is {}, not {}", header.version, kFabricVersion)
            : "its contents are damaged";
    support::report<support::kFabricIndexBad>(directory_.path(), why);
    return tl::unexpected(EIO);
}

/// The link layer is that of the living members. Where nobody lives it becomes that of this
/// process.
Result<Index::Header> Index::read_header_of_our_link(Transaction& transaction) {
    Result<Header> header = read_header(transaction);
    const LinkLayer ours = link_layer();
    if (!header || header->link == ours) return header;
    if (is_locked(0, kSlots)) {
        support::report<support::kFabricLinkDiffers>(directory_.path(), to_text(header->link),
                                                     to_text(ours));
        return tl::unexpected(EPROTO);
    }
    header->link = ours;
    transaction.write(0, *header);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return header;
}

Result<Index::Header> Index::make_header(Transaction& transaction) {
    if (ftruncate(file_.get(), 0) != 0) return tl::unexpected(errno);
    directory_.remove_all("member-");
    Header header = {};
    header.magic = kIndexMagic;
    header.version = kFabricVersion;
    header.hash = hash_ = random_number();
    header.fresh_block = 1;
    header.next_port = kFirstFreePort;
    header.link = link_layer();
    transaction.write(0, header);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return header;
}

Result<void> Index::take_slot(Transaction& transaction, Header& header, const in6_addr& address) {
    const auto members = read_many<MemberRecord>(kMembersAt, header.slots_used);
    std::uint32_t slot = 0;
    while (slot < header.slots_used && (members[slot].id != 0 || is_locked(slot, 1))) ++slot;
    if (slot == kSlots) return tl::unexpected(ENOSPC);
    struct flock lock = lock_of(F_WRLCK, kSlotLocksAt + slot, 1);
    if (fcntl(file_.get(), F_OFD_SETLK, &lock) != 0) return tl::unexpected(errno);
    self_ = {slot, random_number()};
    joined_ = true;
    transaction.write(member_at(slot), MemberRecord{self_.id, 0, address});
    header.slots_used = std::max(header.slots_used, slot + 1);
    transaction.write(0, header);
    // If a dead member's record was lost, its names may still be there.
    remove_names(slot);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return {};
}

Index::~Index() {
    if (!joined_) return;
    try {
        Transaction transaction(*this);
        leave(transaction);
    } catch (const std::bad_alloc&) {
        // as if the lock could not be taken: leave() explains
    }
}

void Index::leave_at_exit() {
    constexpr std::chrono::milliseconds kExitPatience{500};
    try {
        Transaction transaction(*this, Clock::now() + kExitPatience);
        leave(transaction);
    } catch (const std::bad_alloc&) {
        // likewise
    }
}

/// Gives back what this member owns. Without the lock it changes nothing: whoever joins next finds
/// our slot unlocked and cleans up.
void Index::leave(Transaction& transaction) {
    if (transaction.error() || !joined_) return;
    joined_ = false;
    Header header = read<Header>(0);
    remove_names(self_.slot);
    if (!header.is_sane()) return;
    std::vector<bool> slots(self_.slot + 1);
    slots[self_.slot] = true;
    free_blocks(transaction, header, slots);
    transaction.write(member_at(self_.slot), MemberRecord{});
}

void Index::abandon() {
    joined_ = false;
    file_.reset();
}

/// Our own locks do not count: locks of one open file do not conflict with each other.
bool Index::is_locked(std::uint64_t first_slot, std::uint64_t count) const {
    struct flock lock =
        lock_of(F_WRLCK, kSlotLocksAt + static_cast<off_t>(first_slot), static_cast<off_t>(count));
    return fcntl(file_.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool Index::is_living(const MemberRef& member) const {
    if (member.id == 0 || member.slot >= kSlots) return false;
    if (member.slot == self_.slot) return member.id == self_.id;
    return read<MemberRecord>(member_at(member.slot)).id == member.id && is_locked(member.slot, 1);
}

void Index::bury_dead(Transaction& transaction, Header& header) {
    const auto members = read_many<MemberRecord>(kMembersAt, header.slots_used);
    std::vector<bool> dead(header.slots_used);
    bool any = false;
    for (std::uint32_t slot = 0; slot < header.slots_used; ++slot) {
        if (members[slot].id == 0 || is_locked(slot, 1)) continue;
        if (joined_ && slot == self_.slot) continue;
        any = dead[slot] = true;
        remove_names(slot);
        transaction.write(member_at(slot), MemberRecord{});
    }
    if (any) free_blocks(transaction, header, dead);
}

void Index::bury(const MemberRef& member) {
    const auto is_listed = [&] {
        return member.slot < kSlots && read<MemberRecord>(member_at(member.slot)).id == member.id;
    };
    if (!is_listed()) return;  // it left in good order, or somebody else was faster
    Transaction transaction(*this);
    if (transaction.error() || is_living(member) || !is_listed()) return;
    Header header = read<Header>(0);
    if (header.magic == kIndexMagic && header.is_sane()) bury_dead(transaction, header);
}

/// Frees the blocks of the members in `slots`, and takes their queue pairs out of the groups. Ports
/// need no such walk: their records name the member, and records of a member that does not live
/// count as unused.
void Index::free_blocks(Transaction& transaction, Header& header, const std::vector<bool>& slots) {
    const auto owners = read_many<std::uint32_t>(kBlocksAt, header.fresh_block);
    std::vector<bool> freed(header.fresh_block);
    for (std::uint32_t block = 1; block < header.fresh_block; ++block) {
        const std::uint32_t owner = owners[block];
        freed[block] = owner != 0 && owner <= slots.size() && slots[owner - 1];
    }
    detach_blocks(transaction, header, freed);
    for (std::uint32_t block = 1; block < header.fresh_block; ++block) {
        if (!freed[block]) continue;
        transaction.write(block_at(block), std::uint32_t{0});
        transaction.write(queue_at(header.queue_tail++), static_cast<std::uint16_t>(block));
    }
    transaction.write(0, header);
}

Result<std::uint32_t> Index::take_block() {
    Transaction transaction(*this);
    if (transaction.error()) return tl::unexpected(transaction.error());
    if (!joined_) return tl::unexpected(ENODEV);  // the process is exiting
    Header header = read<Header>(0);
    if (header.magic != kIndexMagic || !header.is_sane()) return tl::unexpected(EIO);
    std::uint32_t block = 0;
    if (header.fresh_block < kBlocks) block = header.fresh_block++;
    while (block == 0 && header.queue_head != header.queue_tail) {
        block = read<std::uint16_t>(queue_at(header.queue_head++));
        if (block != 0 && read<std::uint32_t>(block_at(block)) != 0) block = 0;
    }
    if (block == 0) return tl::unexpected(ENOSPC);
    transaction.write(block_at(block), self_.slot + 1);
    transaction.write(0, header);
    if (transaction.error()) return tl::unexpected(transaction.error());
    return block;
}

Result<MemberRef> Index::owner_of_block(std::uint32_t block) {
    if (block == 0 || block >= kBlocks) return tl::unexpected(ENOENT);
    const auto owner = [&] { return read<std::uint32_t>(block_at(block)); };
    const std::uint32_t found = owner();
    if (found == 0 || found > kSlots) return tl::unexpected(ENOENT);
    const MemberRef member{found - 1, read<MemberRecord>(member_at(found - 1)).id};
    // A slot is taken anew only after the blocks of its last member have been freed.
    if (member.id == 0 || owner() != found) return tl::unexpected(ENOENT);
    return member;
}

bool Index::is_published(const in6_addr& address) {
    const Header header = read<Header>(0);
    if (!header.is_sane()) return false;
    const auto members = read_many<MemberRecord>(kMembersAt, header.slots_used);
    for (std::uint32_t slot = 0; slot < header.slots_used; ++slot) {
        if (std::memcmp(&members[slot].address, &address, sizeof address) != 0) continue;
        if (is_living({slot, members[slot].id})) return true;
    }
    return false;
}

}  // namespace softverbs
