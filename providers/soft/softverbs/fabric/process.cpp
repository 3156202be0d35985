// SPDX-License-Identifier: BSD-2-Clause
#include "providers/soft/softverbs/fabric/process.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "providers/soft/softverbs/fabric/address.hpp"
#include "providers/soft/softverbs/fabric/handshake.hpp"
#include "providers/soft/softverbs/fabric/per_process.hpp"
#include "support/base/limits.hpp"
#include "support/log/log.hpp"
#include "support/settings/settings.hpp"

namespace softverbs {

namespace {

/// @return a copy of the list with `handler` at its end.
template <class Handler>
std::shared_ptr<const std::vector<Handler>> with(
    const std::shared_ptr<const std::vector<Handler>>& list, Handler handler) {
    auto longer = list ? std::make_shared<std::vector<Handler>>(*list)
                       : std::make_shared<std::vector<Handler>>();
    longer->push_back(std::move(handler));
    return longer;
}

}  // namespace

/// The state that join() and leave() share.
struct Process::Shared {
    support::Mutex mutex;
    int references GUARDED_BY(mutex) = 0;
    std::atomic<Process*> process{nullptr};
};

Process::Shared& Process::shared() {
    static PerProcess<Shared> instance;
    return instance.get([](Shared& of_parent) {
        if (Process* process = of_parent.process.load()) process->abandon();
    });
}

/// Abandons the Process in a child at once, not when the child first uses the device: our lock in
/// the index and our ends of links show others that we live, and a child with copies of them would
/// show that after our death.
[[gnu::constructor]] static void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] { Process::current(); });
}

/// For programs that return from main() with the device open. Their peers see their links end; the
/// index must not count them among the killed.
[[gnu::destructor]] static void leave_index() {
    if (Process* const process = Process::current()) process->index().leave_at_exit();
}

Process::Process() : receive_buffer_(sizeof(MessageHeader) + kMaxMessageBody) {}
Process::~Process() {
    stop();
}

Result<Process*> Process::join(const Prepare& prepare) {
    CancellationDisabled no_cancellation;
    Shared& shared = Process::shared();
    support::MutexLock lock(shared.mutex);
    if (shared.references == 0) {
        std::unique_ptr<Process> process(new Process);
        auto started = process->start(prepare);
        if (!started) return tl::unexpected(started.error());
        shared.process.store(process.release());
    }
    ++shared.references;
    return shared.process.load();
}

void Process::leave() {
    CancellationDisabled no_cancellation;
    Shared& shared = Process::shared();
    support::MutexLock lock(shared.mutex);
    if (shared.references == 0 || --shared.references > 0) return;
    delete shared.process.exchange(nullptr);
}

Process* Process::current() {
    return shared().process.load();
}

Result<void> Process::start(const Prepare& prepare) {
    const std::string wanted = support::setting_text(support::Setting::kSoftverbsAddress);
    const auto address = parse_address(wanted);
    if (!address || is_any(*address)) support::report<support::kBadSoftverbsAddress>(wanted);
    address_ = address && !is_any(*address) ? *address : mapped({htonl(INADDR_LOOPBACK)});

    const std::string link = support::setting_text(support::Setting::kSoftverbsLink);
    if (!parse_link_layer(link)) support::report<support::kBadSoftverbsLink>(link);

    auto directory = Directory::open();
    if (!directory) return tl::unexpected(directory.error());
    directory_ = std::move(*directory);
    auto index = Index::join(*directory_, address_);
    if (!index) return tl::unexpected(index.error());
    index_ = std::move(*index);
    rule_changes_ = index_->rule_changes();
    lids_ = lids_of(index_->hash());
    first_gid_ = gid_of(index_->hash(), PortId::at(0));
    if (const int cause = faults_.open(directory_->path())) return tl::unexpected(cause);
    auto arena = prepare(*this);
    if (!arena) {
        support::report_limit(arena.error(), "the memory of the software device");
        return tl::unexpected(arena.error());
    }
    arena_ = *arena;
    auto opened = open_door();
    if (!opened &&
        !support::report_limit(opened.error(), "the software device", directory_->path()))
        support::report<support::kFabricUnusable>(directory_->path(), strerror(opened.error()));
    return opened;
}

/// Opens the doorbell and the listening socket. From here on peers see us.
Result<void> Process::open_door() {
    auto doorbell = Bell::make();
    if (!doorbell) return tl::unexpected(doorbell.error());
    doorbell_ = std::move(*doorbell);
    self_.reset(new Peer(*this));
    self_->arena_ = arena_.base;
    self_->arena_size_ = arena_.size;
    self_->pid_ = getpid();
    self_->member_ = index_->self();
    self_->identity_ = faults::Identity::of_process();
    self_->is_self_ = true;
    if (arena_.pages_fd >= 0) self_->pages_ = UniqueFd::duplicate(arena_.pages_fd);
    self_->pages_size_ = arena_.pages_size;
    self_->doorbell_ = doorbell_->own_socket();
    auto socket = directory_->listen(Index::socket_name(index_->self().slot));
    if (!socket) return tl::unexpected(socket.error());
    listener_ = std::move(*socket);
    // Whoever changes them later finds the socket, and tells us.
    indexed_states_ = index_->device_states();
    device_states_.store(indexed_states_.encode(), std::memory_order_release);
    if (const auto plan = faults_.plan()) port_faults_.follow(plan);
    if (auto started = service_.start(); !started) return started;
    auto watched =
        service_.watch(doorbell_->fd(), EPOLLIN, [this](std::uint32_t) { doorbell_rung(); });
    if (!watched) return watched;
    return service_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_links(); });
}

void Process::doorbell_rung() {
    doorbell_->clear();
    std::shared_ptr<const std::vector<Service::Function>> handlers;
    {
        support::MutexLock lock(mutex_);
        handlers = doorbell_handlers_;
    }
    if (!handlers) return;
    for (const Service::Function& handler : *handlers)
        if (!Service::persist(handler)) self_->ring_doorbell();
}

void Process::stop() {
    service_.stop();
    listener_.reset();
    connecting_.clear();
    std::unordered_map<MemberId, std::shared_ptr<Peer>> peers;
    std::vector<std::shared_ptr<void>> kept;
    {
        support::MutexLock lock(mutex_);
        peers.swap(peers_);
        owners_.clear();
        kept.swap(kept_);
    }
    for (const auto& [member, peer] : peers) {
        peer->mark_dead();
        close_peer(*peer);
    }
    if (self_) self_->mark_dead();
    kept.clear();
    index_.reset();
}

/// Called in a child after fork. Touches only what no thread of the parent can have left half done:
/// descriptors that are set once, and the links whose locks were free.
void Process::abandon() NO_THREAD_SAFETY_ANALYSIS {
    service_.abandon();
    if (index_) index_->abandon();
    listener_.reset();
    doorbell_.reset();
    if (!mutex_.try_lock()) return;
    for (const auto& [member, peer] : peers_)
        if (peer->mutex_.try_lock()) peer->links_.clear();
}

Result<UniqueFd> Process::lend(Bell& bell, const std::string& what) const {
    return bell.lend(*directory_, Index::bell_name(index_->self().slot, what));
}

void Process::forget(const Bell& bell) const {
    if (!bell.name().empty()) directory_->remove(bell.name());
}

std::uint64_t Process::fabric_hash() const {
    return index_->hash();
}

MemberId Process::member() const {
    return index_->self().id;
}

Result<std::uint32_t> Process::take_block() {
    return index_->take_block();
}

void Process::handle(MessageType type, MessageHandler handler) {
    support::MutexLock lock(mutex_);
    handlers_[static_cast<std::size_t>(type)] =
        std::make_shared<MessageHandler>(std::move(handler));
}

void Process::on_doorbell(Service::Function handler) {
    support::MutexLock lock(mutex_);
    doorbell_handlers_ = with(doorbell_handlers_, std::move(handler));
}

void Process::on_peer_death(DeathHandler handler) {
    support::MutexLock lock(mutex_);
    death_handlers_ = with(death_handlers_, std::move(handler));
}

void Process::on_device_states(StatesHandler handler) {
    support::MutexLock lock(mutex_);
    states_handlers_ = with(states_handlers_, std::move(handler));
}

/// Whoever connects may have changed the states or the fault rules: softverbs(1) connects for that
/// alone.
void Process::look_at_devices() {
    const std::uint64_t changes = index_->rule_changes();
    bool has_other_rules = false;
    if (std::exchange(rule_changes_, changes) != changes)
        (void)Service::persist([&] {
            has_other_rules |= faults_.look_again();
            if (has_other_rules) port_faults_.follow(faults_.plan());
        });
    change_states(index_->device_states(), has_other_rules);
}

/// Merges the index's states with those of fault rules, and tells what has changed.
void Process::change_states(DeviceStates indexed, bool has_other_rules) {
    indexed_states_ = indexed;
    DeviceStates merged = indexed;
    merged.down |= port_faults_.states().down;
    merged.removed |= port_faults_.states().removed;
    const DeviceStates before =
        DeviceStates::decode(device_states_.exchange(merged.encode(), std::memory_order_acq_rel));
    if (before == merged && !has_other_rules) return;
    std::shared_ptr<const std::vector<StatesHandler>> handlers;
    {
        support::MutexLock lock(mutex_);
        handlers = states_handlers_;
    }
    if (!handlers) return;
    // Those that came later stand on the earlier ones, and hear first of what becomes of these.
    for (auto handler = handlers->rbegin(); handler != handlers->rend(); ++handler)
        (void)Service::persist([&] { (*handler)(before); });
}

void Process::keep(std::shared_ptr<void> object) {
    support::MutexLock lock(mutex_);
    kept_.push_back(std::move(object));
}

std::shared_ptr<Peer> Process::known_peer(MemberId member) {
    if (member == index_->self().id) return self_;
    support::MutexLock lock(mutex_);
    const auto found = peers_.find(member);
    return found == peers_.end() ? nullptr : found->second;
}

std::shared_ptr<Peer> Process::known_owner(std::uint32_t block) {
    support::MutexLock lock(mutex_);
    const auto found = owners_.find(block);
    return found == owners_.end() ? nullptr : found->second;
}

void Process::remember_owner(std::uint32_t block, const std::shared_ptr<Peer>& peer) {
    support::MutexLock lock(mutex_);
    // Not if its death has been handled already: that is what erases its blocks.
    if (peer == self_ || peers_.count(peer->member().id)) owners_[block] = peer;
}

Result<std::shared_ptr<Peer>> Process::peer_of_qpn(std::uint32_t qpn, Deadline deadline) {
    const std::uint32_t block = qpn >> 8;
    if (auto owner = known_owner(block)) return owner;
    FoundPeer found = ask_index_for_owner(block, deadline);
    if (found) remember_owner(block, *found);
    return found;
}

bool Process::owner_has_ended(std::uint32_t qpn) {
    const std::uint32_t block = qpn >> 8;
    if (const auto peer = known_owner(block)) return peer->gone();
    const auto member = index_->owner_of_block(block);
    if (!member) return member.error() == ENOENT;
    if (const auto peer = known_peer(member->id)) return peer->gone();
    index_->bury(*member);
    return !index_->owner_of_block(block);
}

Process::FoundPeer Process::ask_index_for_owner(std::uint32_t block, Deadline deadline) {
    struct Waiter {
        support::Mutex mutex;
        support::CondVar done;
        std::optional<FoundPeer> outcome GUARDED_BY(mutex);
    };
    CancellationDisabled no_cancellation;
    const auto member = index_->owner_of_block(block);
    if (!member) return tl::unexpected(member.error());
    if (auto known = known_peer(member->id)) return known;
    if (service_.on_service_thread()) return tl::unexpected(EDEADLK);
    auto waiter = std::make_shared<Waiter>();
    find_peer(*member, [waiter](FoundPeer outcome) {
        support::MutexLock lock(waiter->mutex);
        waiter->outcome = std::move(outcome);
        waiter->done.notify_all();
    });
    const timespec until = to_timespec(deadline);
    support::MutexLock lock(waiter->mutex);
    while (!waiter->outcome && waiter->done.wait_until(waiter->mutex, until)) continue;
    return waiter->outcome ? *waiter->outcome : FoundPeer(tl::unexpected(ETIMEDOUT));
}

}  // namespace softverbs
