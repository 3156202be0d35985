// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Registrations are created, found, renewed and freed here. Their revocation is in revocation.cpp,
/// the calls of the consumer in consumer_answers.cpp.
#include "broker/registrations.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "broker/brackets.hpp"
#include "broker/client.hpp"
#include "dapl/adapter/ia.hpp"
#include "dapl/adapter/refusal.hpp"
#include "dapl/base/guard.hpp"
#include "dapl/evd/evd.hpp"
#include "dapl/memory/rmr.hpp"

namespace dapl::memory {
namespace {

/// Expected duration of a transfer that is posted now, in ns: until it begins, and for each byte.
constexpr Time kExpectedBegin = 200000;
constexpr Time kExpectedPerByte = 1;

tl::expected<SlotId, Refusal> wait_for(Broker& broker, const Wanted& wanted, const Wait& wait) {
    constexpr timespec kPause{0, 1000000};
    for (;;) {
        const CancellationWindow window(wait.cancel_state);
        auto slot = broker.take(wanted, wait.until);
        const bool again = !slot && wait.insists && slot.error() == Refusal::kImpossible;
        if (!again || now() >= wait.until) return slot;
        nanosleep(&kPause, nullptr);
    }
}

/// Counts as one as long as it lives, also if the thread is cancelled.
class Counted {
  public:
    explicit Counted(std::atomic<std::uint64_t>& count) : count_(count) {
        count_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

  private:
    std::atomic<std::uint64_t>& count_;
};

/// Holds an entry that is bound to a registration, and releases it unless keep() is called.
class HeldEntry {
  public:
    HeldEntry(Client& client, SlotId slot, Registrations& of, Registration& registration)
        : client_(client), slot_(slot) {
        client.bind(slot, of, registration);
    }
    ~HeldEntry() {
        if (!slot_) return;
        client_.unbind(slot_);
        client_.broker().release(slot_);
    }
    HeldEntry(const HeldEntry&) = delete;
    HeldEntry& operator=(const HeldEntry&) = delete;
    void keep() { slot_ = {}; }

  private:
    Client& client_;
    SlotId slot_;
};

}  // namespace

DAT_RETURN code_of(Refusal why) {
    switch (why) {
        case Refusal::kTimedOut:
            return error(DAT_TIMEOUT_EXPIRED);
        case Refusal::kBroken:
            return error(DAT_INTERNAL_ERROR);
        default:
            return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
    }
}

Registrations::Registrations(Ia& owner, Client& membership, Mode opened, Time longest)
    : ia(owner),
      client(membership),
      mode(opened),
      patience(longest),
      device(verbs::extensions_for(owner.context(), owner.provider.library.device)),
      brackets(std::make_unique<Brackets>(
          *this, bracket_way_of(owner.provider.info.ia_name, owner.has_windows(IBV_MW_TYPE_2)))),
      window_(kNoWindow) {}

Registrations::~Registrations() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

/// @param chunk memory for more of them, if needed. @return nullptr if it is needed and none, or if
/// there is no free index.
Registration* Registrations::take_place(std::unique_ptr<Registration[]>& chunk) {
    support::SpinLockGuard lock(lock_);
    std::uint32_t index;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        index = made_;
        if (index > kContextIndexMask) return nullptr;
        if (index % kPerChunk == 0) {
            if (!chunk) return nullptr;
            free_.reserve(made_ + kPerChunk);  // so that give_back() never fails
            for (std::uint32_t i = 0; i < kPerChunk; ++i) {
                chunk[i].index = index + i;
                chunk[i].of = this;
            }
            chunks_[index / kPerChunk].store(chunk.release(), std::memory_order_release);
        }
        ++made_;
    }
    Registration& found = *at(index);
    constexpr std::uint32_t kGenerations = 1U << (32 - kContextIndexBits);
    found.generation = found.generation % (kGenerations - 1) + 1;
    return &found;
}

/// Allocates without the lock.
Registration* Registrations::allocate() {
    std::unique_ptr<Registration[]> chunk;
    if (Registration* found = take_place(chunk)) return found;
    chunk = std::make_unique<Registration[]>(kPerChunk);
    return take_place(chunk);
}

/// @return an unused Registration; nullptr, with the entry released, if there is none.
Registration* Registrations::place_for(SlotId slot) {
    try {
        if (Registration* place = allocate()) return place;
    } catch (const std::bad_alloc&) {
        // Handled as if there were no free index, below.
    }
    client.broker().release(slot);
    return nullptr;
}

void Registrations::give_back(Registration& unused) {
    support::SpinLockGuard lock(lock_);
    free_.insert(free_.begin(), unused.index);
}

bool Registrations::is_window_full() const {
    return mode == Mode::kPerIo &&
           in_window_.load(std::memory_order_relaxed) >= window_.load(std::memory_order_relaxed);
}

tl::expected<SlotId, DAT_RETURN> Registrations::take(const Wanted& wanted, bool counts,
                                                     const Wait& wait) {
    if (counts && is_window_full())
        return tl::unexpected(error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION));
    Broker& broker = client.broker();
    const Counted waits(waiting_);
    auto slot = wait.until == 0 ? broker.try_take(wanted) : wait_for(broker, wanted, wait);
    if (slot) return *slot;
    // A process that has its share should not try again for a while. One that has less is served as
    // soon as others give.
    const std::uint64_t has = in_window_.load(std::memory_order_relaxed);
    if (counts && has >= broker.due()) narrow(has);
    return tl::unexpected(code_of(slot.error()));
}

bool Registrations::can_be_away() const {
    return device.suspend_region != nullptr;
}

/// In the modes transparent and per-io nobody would inform the peers that a region has gone. On a
/// device where it cannot come back for them, regions that they may access are kept.
DAT_RETURN Registrations::create(Asked asked, const Wait& wait, DAT_LMR_HANDLE* lmr) {
    const bool peers = (asked.parameters.mem_priv & kRemotePrivileges) != 0;
    if (mode != Mode::kOn && peers && asked.kind == Class::kRdma && !can_be_away())
        asked.kind = Class::kPeers;
    const auto slot = take({asked.kind, asked.memory.length}, false, wait);
    return slot ? create_with(asked, *slot, lmr) : slot.error();
}

DAT_RETURN Registrations::create_with(const Asked& asked, SlotId slot, DAT_LMR_HANDLE* handle) {
    Registration* made = place_for(slot);
    if (!made) return out_of_memory();
    const auto end_place = [this](Registration* unused) { give_back(*unused); };
    std::unique_ptr<Registration, decltype(end_place)> place(made, end_place);
    HeldEntry entry(client, slot, *this, *made);
    const DAT_LMR_CONTEXT context = made->generation << kContextIndexBits | made->index;
    DAT_LMR_PARAM parameters = asked.parameters;
    parameters.lmr_context = context;
    verbs::MemoryRegion region = register_memory(*asked.pz, asked.memory, parameters);
    if (!region) {
        registration_refused(ia, errno, asked.memory.length);
        return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
    }
    Lmr* lmr = &add_lmr(*asked.pz, std::move(region), asked.memory, parameters);
    static_cast<void>(place.release());
    entry.keep();
    *handle = lmr->handle();
    {
        const RegistrationLock lock(*made);
        made->lmr = lmr;
        made->kind = asked.kind;
        made->peers = (parameters.mem_priv & kRemotePrivileges) != 0;
        made->comes_back = mode != Mode::kOn && asked.kind != Class::kPinned;
        made->remote_context = parameters.rmr_context;
        made->explicit_uses = 0;
        count_uses(*made, *lmr->region);
        stand(*made, slot, *lmr->region);
        made->context.store(context, std::memory_order_release);
    }
    catch_up(*made, slot);
    if (mode == Mode::kPerIo) settle();
    return DAT_SUCCESS;
}

/// Makes a registration usable that is on the device and has an entry.
void Registrations::stand(Registration& made, SlotId slot, const ibv_mr& region) {
    Broker& broker = client.broker();
    made.slot = slot;
    made.key.store(region.lkey, std::memory_order_relaxed);
    made.deadline.store(kNever, std::memory_order_relaxed);
    made.use.store(&broker.use(slot), std::memory_order_relaxed);
    // This process releases registrations that come back as soon as they are idle. The device is
    // never asked to end them, so it needs no key of them.
    OnDevice description{std::nullopt, made.counted.load(std::memory_order_relaxed) != nullptr};
    if (!made.comes_back) description.key = region.lkey;
    if (description.key || description.counted) broker.describe(slot, description);
    const bool per_io = is_per_io(made);
    if (per_io) in_window_.fetch_add(1, std::memory_order_relaxed);
    made.goes_when_idle.store(per_io, std::memory_order_seq_cst);
    made.standing.store(Standing::kStanding, std::memory_order_seq_cst);
    if (per_io && made.uses() == 0) idle_.add(made);
}

/// Handles an announcement or revocation that came while the registration was being made.
void Registrations::catch_up(Registration& made, SlotId slot) {
    const SlotState state = client.broker().use(slot).state.load(std::memory_order_acquire);
    if (state != SlotState::kActive) client.watch(made);
}

/// Deregisters without the mutex, since the device may free memory. Meanwhile the registration has
/// no LMR, so that nobody else does anything with it, and keeps its entry. An LMR that is left to
/// another thread counts as freed, though it is not yet off the device.
DAT_RETURN Registrations::free(DAT_LMR_HANDLE handle) {
    Lmr* lmr = from_handle<Lmr>(handle);
    Registration* found = lmr ? of(*lmr) : nullptr;
    if (!found) return bad_handle(DAT_INVALID_HANDLE_LMR);
    if (!RegistrationLock::try_take(*found)) {
        if (ia.rmr_table->is_bound_to(*lmr)) return raw(DAT_INVALID_STATE);
        RegistrationLock::leave_to_holder(*found, *lmr);
        return DAT_SUCCESS;
    }
    Standing before;
    {
        const RegistrationLock lock(*found, RegistrationLock::kTaken);
        if (found->lmr != lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
        if (ia.rmr_table->is_bound_to(*lmr)) return raw(DAT_INVALID_STATE);
        found->lmr = nullptr;
        before = found->standing.exchange(Standing::kFree, std::memory_order_seq_cst);
    }
    const bool is_off = !lmr->region || ibv_dereg_mr(lmr->region.get()) == 0;
    {
        const RegistrationLock lock(*found);
        if (!is_off) {  // as without the broker, the LMR stays
            found->lmr = lmr;
            found->standing.store(before, std::memory_order_seq_cst);
        } else {
            static_cast<void>(lmr->region.release());
            found->context.store(0, std::memory_order_release);
            found->is_away = found->is_coming = false;
            found->wanted_since = 0;
            give_entry_back(*found);
        }
    }
    if (!is_off) {
        client.watch(*found);  // for what was asked of it meanwhile
        return raw(DAT_INVALID_STATE);
    }
    remove_lmr(*lmr);
    give_back(*found);
    return DAT_SUCCESS;
}

/// Searches linearly: only a read into the rmr_context of an LMR uses it, which is no fast path.
Registration* Registrations::of_remote_context(DAT_RMR_CONTEXT context) {
    std::uint32_t made;
    {
        support::SpinLockGuard lock(lock_);
        made = made_;
    }
    for (std::uint32_t index = 0; index < made; ++index) {
        Registration& candidate = *at(index);
        const RegistrationLock lock(candidate);
        if (candidate.lmr && candidate.remote_context == context) return &candidate;
    }
    return nullptr;
}

DAT_RETURN Registrations::restore(Registration& gone, const Wait& wait) {
    const RegistrationLock lock(gone);
    if (!gone.lmr) return bad_handle(DAT_INVALID_HANDLE_LMR);
    if (gone.standing.load(std::memory_order_relaxed) != Standing::kGone) return DAT_SUCCESS;
    // It has gone for the consumer, but something on the device still uses it, or its key.
    const bool is_used = gone.lmr->region && gone.uses() != 0;
    if (gone.slot || (is_used && !gone.is_away))
        return error(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
    const auto slot = take({gone.kind, gone.lmr->parameters.length}, is_per_io(gone), wait);
    return slot ? reinstate(gone, *slot) : slot.error();
}

/// Brings a registration back that has gone. Releases the entry if it fails.
DAT_RETURN Registrations::reinstate(Registration& gone, SlotId slot) {
    HeldEntry entry(client, slot, *this, gone);
    Lmr& lmr = *gone.lmr;
    if (!resume(gone)) {
        const Memory memory{lmr.address, lmr.parameters.length};
        verbs::MemoryRegion region = register_memory(lmr.pz, memory, lmr.parameters);
        if (!region) {
            registration_refused(ia, errno, memory.length);
            return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
        }
        lmr.region = std::move(region);
        count_uses(gone, *lmr.region);
        // A registration that comes back keeps the rmr_context that the program has. Where it was
        // not away, no peer can use it any more.
        if (!gone.comes_back) gone.remote_context = lmr.parameters.rmr_context = lmr.region->rkey;
    }
    entry.keep();
    stand(gone, slot, *lmr.region);
    catch_up(gone, slot);
    return DAT_SUCCESS;
}

DAT_RETURN Registrations::begin_slowly(Registration& used, Use use, DAT_VLEN length,
                                       std::uint32_t& key) {
    for (;;) {
        const Standing standing = used.standing.load(std::memory_order_seq_cst);
        const bool comes_back = used.comes_back.load(std::memory_order_relaxed);
        if (standing == Standing::kAnnounced) {
            const Time end = now() + kExpectedBegin + length * kExpectedPerByte;
            if (!comes_back && end > used.deadline.load(std::memory_order_relaxed)) {
                end_use(used, use);
                return error(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
            }
        }
        if (standing == Standing::kStanding || standing == Standing::kAnnounced) {
            used.count_use();
            key = used.key.load(std::memory_order_relaxed);
            return DAT_SUCCESS;
        }
        end_use(used, use);
        if (standing == Standing::kFree || !comes_back)
            return error(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_FREE);
        // Completed transfers give up their places now, though the agent has not had its turn yet.
        if (is_window_full()) settle();
        const DAT_RETURN code = uncancelled([&](int) {
            return restore(used, {now() + patience, PTHREAD_CANCEL_DISABLE, true});
        });
        if (code != DAT_SUCCESS)
            return error(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
        used.begin(use);
    }
}

}  // namespace dapl::memory
