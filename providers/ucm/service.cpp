// SPDX-License-Identifier: BSD-2-Clause
#include "providers/ucm/service.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include "dapl/base/deadline.hpp"
#include "dapl/base/process_state.hpp"
#include "dapl/cm/failure.hpp"
#include "providers/ucm/listener.hpp"
#include "support/log/log.hpp"

namespace dapl::ucm {
namespace {

/// Messages taken before other sources of the event thread have their turn.
constexpr int kMessagesPerTurn = 64;
/// Ended connections that answer late messages; the oldest is forgotten first.
constexpr std::size_t kMostEnded = 4096;
/// A copy of a first request can be on its way for so long. After that, it is a new one, of a
/// process that happens to have all its numbers from an earlier one.
constexpr std::chrono::seconds kCopyArrives{2};
/// An adapter instance that closes waits so long for the next answer to a disconnect, and for all
/// of them, in microseconds. Unless the user has set longer times, a peer that does not answer is
/// given up sooner.
constexpr DAT_TIMEOUT kLongestSilence = 500000;
constexpr DAT_TIMEOUT kLongestEnd = 5000000;
/// Ids have 18 bits. Peers before version 8 have 16, so larger ones are used only when many are.
constexpr std::uint32_t kIds = 1U << 18;
constexpr std::uint32_t kOldIds = 1U << 16;

/// The services of the process. A forked child has none.
struct Services {
    Service* first GUARDED_BY(connection_lock);
};
Services& services() {
    static auto* const all = static_cast<Services*>(map_forgotten_by_children(sizeof(Services)));
    return *all;
}

support::Result<QpAddress> address_of(std::string_view ia_name, const cm::OpenDevice& device,
                                      std::uint32_t qpn) {
    ibv_port_attr port{};
    const int error = ibv_query_port(device.context.get(), device.choice.port, &port);
    const bool has_lid = port.link_layer == IBV_LINK_LAYER_ETHERNET || port.lid != 0;
    if (error != 0 || !has_lid || !device.choice.gid) {
        support::report<support::kNoServiceAddress>(ia_name, device.choice.port,
                                                    device.choice.device, has_lid ? "GID" : "LID");
        return support::failure(raw(DAT_INVALID_ADDRESS), "the port has no address");
    }
    QpAddress address{port.lid, qpn, {}, 0, IBV_QPT_UD};
    std::memcpy(address.gid.data(), &device.choice.gid->gid, address.gid.size());
    return address;
}

}  // namespace

struct Service::Opening {
    cm::EventLoop& loop;
    std::string ia_name;
    Timing timing;
    cm::OpenDevice device;
    std::unique_ptr<ServiceQueuePair> queue_pair;
    QpAddress address;
};

Service::Service(Opening opening)
    : loop(opening.loop),
      timing(opening.timing),
      pace(loop),
      ia_name_(std::move(opening.ia_name)),
      device_(std::move(opening.device)),
      port_(device_.context.get(), device_.choice, ia_name_),
      queue_pair_(std::move(opening.queue_pair)),
      address_(opening.address),
      destinations_(*this, loop, port_, *queue_pair_),
      ended_(loop, kMostEnded, timing.memory) {}

support::Result<std::shared_ptr<Service>> Service::of(std::string_view ia_name,
                                                      std::string_view ia_params,
                                                      cm::EventLoop& loop) {
    {
        const support::MutexLock guard(connection_lock);
        for (Service* each = services().first; each; each = each->next_)
            if (each->ia_name_ == ia_name) return each->shared_from_this();
    }
    auto device = cm::open_device(ia_name, ia_params);
    if (!device) return tl::unexpected(device.error());
    const Timing timing = read_timing(ia_name);
    auto queue_pair =
        ServiceQueuePair::open(ia_name, device->context.get(), device->choice.port, timing.entries);
    if (!queue_pair) return tl::unexpected(queue_pair.error());
    const auto address = address_of(ia_name, *device, (*queue_pair)->number());
    if (!address) return tl::unexpected(address.error());
    const support::MutexLock guard(connection_lock);
    std::shared_ptr<Service> made(
        new Service({loop, std::string(ia_name), timing, std::move(*device), std::move(*queue_pair),
                     *address}));
    made->next_ = std::exchange(services().first, made.get());
    if (auto watched = loop.watch(made->queue_pair_->descriptor(), *made); !watched)
        return tl::unexpected(watched.error());
    return made;
}

Service::~Service() {
    Service** place = &services().first;
    while (*place != this) place = &(*place)->next_;
    *place = next_;
    loop.forget(queue_pair_->descriptor());
    loop.cancel(*this);
    destinations_.stop();
    ended_.stop();
    pace.stop();
    epilogues_.clear();
}

std::uint32_t Service::free_id() {
    const std::uint32_t limit = participants_.size() < kOldIds / 2 ? kOldIds : kIds;
    if (participants_.size() >= kIds / 2) return 0;
    do last_id_ = last_id_ + 1 < limit ? last_id_ + 1 : 1;
    // An id is also a port, of which some peers read 16 bits.
    while (last_id_ % kOldIds == 0 || participants_.contains(last_id_));
    return last_id_;
}

void Service::enter(Participant& participant) {
    const Dialog& dialog = participant.dialog();
    participants_[dialog.id()] = &participant;
    if (dialog.request()) requests_[*dialog.request()] = {dialog.id(), Clock::now()};
}

void Service::leave(const Participant& participant) {
    const Dialog& dialog = participant.dialog();
    const auto found = participants_.find(dialog.id());
    if (found == participants_.end() || found->second != &participant) return;
    participants_.erase(found);
    if (!dialog.request()) return;
    const auto request = requests_.find(*dialog.request());
    if (request != requests_.end() && request->second.id == dialog.id()) requests_.erase(request);
}

Epilogue& Service::conclude(const Dialog& dialog, Epilogue::Kind kind, Epilogue::Waiter* waiter) {
    auto made = std::make_unique<Epilogue>(*this, dialog, kind, waiter);
    Epilogue& epilogue = *made;
    epilogues_[dialog.id()] = std::move(made);
    participants_[dialog.id()] = &epilogue;
    epilogue.start();
    return epilogue;
}

void Service::forget(const Epilogue& epilogue) {
    leave(epilogue);
    epilogues_.erase(epilogue.dialog().id());
}

void Service::begin_disconnect(Epilogue& epilogue) {
    ++disconnects_;
    pace.enter(epilogue);
}

void Service::end_disconnect(Epilogue& epilogue) {
    --disconnects_;
    one_is_over_.notify_all();
    pace.leave(epilogue);
}

void Service::finish_disconnects() {
    const Deadline last(kLongestEnd);
    while (disconnects_ > 0 && !last.has_passed())
        if (!one_is_over_.wait_until(connection_lock, Deadline(kLongestSilence).at())) return;
}

bool Service::listen(std::uint16_t port, Listener& listener) {
    return listeners_.try_emplace(port, &listener).second;
}
void Service::stop_listening(std::uint16_t port) {
    listeners_.erase(port);
}

void Service::send(const Message& message, const Dialog& dialog) {
    destinations_.send(message, dialog.peer(), dialog.id());
}

void Service::refuse(const Message& request) {
    destinations_.send(refusal(request, address_), sender_of(request), 0);
}

void Service::undeliverable(std::uint32_t id, const Refusal& refusal) {
    if (Participant* const participant = find(id)) participant->undeliverable(refusal);
}

Participant* Service::find(std::uint32_t id) {
    const auto found = participants_.find(id);
    return found == participants_.end() ? nullptr : found->second;
}

void Service::ready() {
    queue_pair_->arm();
    expired();
}

void Service::expired() {
    const std::shared_ptr<Service> held = shared_from_this();
    // No event tells of what is left after this turn, or when a message throws for want of memory.
    loop.arm(*this, Clock::now());
    ServiceQueuePair::Datagram datagram;
    for (int count = 0; count < kMessagesPerTurn; ++count) {
        if (!queue_pair_->receive(datagram)) return loop.cancel(*this);
        take(datagram);
    }
}

void Service::take(const ServiceQueuePair::Datagram& datagram) {
    const auto message = decode(datagram.all());
    if (!message) {
        support::trace(support::Level::kDebug, "IA {}: a message of queue pair {} is dropped: {}",
                       ia_name_, datagram.sender, message.error().cause);
        return;
    }
    if (message->source_qpn != datagram.sender || message->destination_qpn != address_.qpn) {
        support::trace(support::Level::kDebug,
                       "IA {}: a message of queue pair {} is dropped: it says {} to {}", ia_name_,
                       datagram.sender, message->source_qpn, message->destination_qpn);
        return;
    }
    if (message->operation == Operation::kRequest) return take_request(*message);
    const std::uint32_t id =
        message->destination_id != 0 ? message->destination_id : message->destination_port;
    Participant* const participant = find(id);
    if (participant && participant->dialog().is_from_peer(*message))
        return participant->take(*message);
    answer_stranger(*message);
}

/// A peer whose connection is forgotten, or was given up before it has answered, waits for a word.
void Service::answer_stranger(const Message& message) {
    if (message.operation == Operation::kReply) return refuse(message);
    if (message.operation != Operation::kDisconnect) return;
    Message answer = refusal(message, address_);
    answer.operation = Operation::kDisconnected;
    destinations_.send(answer, sender_of(message), 0);
}

Participant* Service::earlier(const Message& request) {
    const auto found = requests_.find(key_of(request));
    if (found == requests_.end()) return nullptr;
    const Asked& asked = found->second;
    if (request.retries == 0 && Clock::now() - asked.when > kCopyArrives) return nullptr;
    return find(asked.id);
}

void Service::take_request(const Message& request) {
    if (Participant* const participant = earlier(request)) return participant->take(request);
    const auto listener = listeners_.find(static_cast<std::uint16_t>(request.destination_port));
    if (listener == listeners_.end()) return refuse(request);
    listener->second->take(request);
}

}  // namespace dapl::ucm
