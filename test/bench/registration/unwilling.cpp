// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R12: a process has the whole table and gives nothing back: it has pinned its registrations,
/// refuses each announcement, or has posted them all as receives. A newcomer, its peer, wants a
/// quarter, and sends messages into what is left.
#include <memory>
#include <vector>

#include "test/api/registration_side.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/shared.hpp"

namespace registration {
namespace {

using test::Region;
using test::RegistrationSide;
using test::Side;

constexpr int kCapacity = 64;
constexpr int kWanted = 16;
/// The newcomer's own buffer for messages.
constexpr int kHeld = kCapacity - 1;
constexpr long kGraceUs = 5000;
constexpr DAT_CONN_QUAL kQualifier = 4769;
constexpr char kWord[] = "word";

enum class Holder { kPins, kRefuses, kPosts };
constexpr const char* kNames[] = {"pinned", "refused", "posted"};

DAT_REG_CLASS class_of(Holder holder) {
    return holder == Holder::kPins    ? DAT_REG_CLASS_PINNED
           : holder == Holder::kPosts ? DAT_REG_CLASS_MESSAGING
                                      : DAT_REG_CLASS_RDMA;
}

/// Counts what became of the holder's receives.
struct Receives {
    std::uint64_t taken, come_back, wrong;
};

Receives take_messages(const Side& side, const std::vector<std::unique_ptr<Region>>& all) {
    Receives found{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto done = Side::wait(side.receives, DAT_DTO_COMPLETION_EVENT)
                              .event_data.dto_completion_event_data;
        const std::string& bytes = all.at(done.user_cookie.as_64)->bytes;
        const bool has_word = bytes.compare(0, sizeof kWord, kWord, sizeof kWord) == 0;
        const bool taken = done.status == DAT_DTO_SUCCESS;
        found.taken += taken;
        found.come_back += done.status == DAT_DTO_ERR_FLUSHED;
        found.wrong += taken != has_word;
    }
    return found;
}

void hold(test::Channel& channel, Holder holder) {
    RegistrationSide side;
    std::vector<std::unique_ptr<Region>> all;
    for (int i = 0; i < kHeld; ++i) {
        all.push_back(std::make_unique<Region>(side));
        test::succeed(all.back()->create(0, class_of(holder)), "an entry");
    }
    side.listen(kQualifier);
    channel.send('l');
    DAT_EP_HANDLE ep = side.endpoint();
    DAT_EP_PARAM parameters{};
    test::succeed(dat_ep_query(ep, DAT_EP_FIELD_ALL, &parameters), "dat_ep_query");
    DAT_EP_ATTR wanted = parameters.ep_attr;
    wanted.max_recv_dtos = kCapacity;
    test::succeed(dat_ep_free(ep), "dat_ep_free");
    test::succeed(
        dat_ep_create(side.ia, side.pz, side.receives, side.sends, side.connections, &wanted, &ep),
        "dat_ep_create");
    for (std::size_t i = 0; holder == Holder::kPosts && i < all.size(); ++i) {
        DAT_LMR_TRIPLET memory = all[i]->part(64);
        test::succeed(
            dat_ep_post_recv(ep, 1, &memory, test::cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
            "dat_ep_post_recv");
    }
    test::succeed(dat_cr_accept(side.request(), ep, 0, nullptr), "dat_cr_accept");
    side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, ep);
    test::refuse_all(side, channel);
    std::uint64_t left = 0;
    for (const auto& region : all) left += !region->is_gone();
    channel.send(left);
    channel.send(holder == Holder::kPosts ? take_messages(side, all) : Receives{});
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
}

struct Given {
    int entries = 0;
    double last_ms = 0;
    std::uint64_t left = 0;
    Receives receives{};
    std::uint64_t sent = 0;
};

/// Sends as many messages as the holder has receives left.
std::uint64_t send_words(const Side& side, Region& source, DAT_EP_HANDLE ep, std::uint64_t count) {
    source.bytes.replace(0, sizeof kWord, kWord, sizeof kWord);
    DAT_LMR_TRIPLET word = source.part(sizeof kWord);
    std::uint64_t sent = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        test::succeed(dat_ep_post_send(ep, 1, &word, test::cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                      "dat_ep_post_send");
        const DAT_EVENT event = Side::wait(side.sends, DAT_DTO_COMPLETION_EVENT);
        sent += event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
    }
    return sent;
}

/// Asks for all entries at once, and takes what it is given until nothing comes any more.
void ask_for_all(RegistrationSide& side, std::vector<std::unique_ptr<Region>>& wanted,
                 Given& given) {
    constexpr DAT_TIMEOUT kPatience = 300'000;  // microseconds
    const Time begin = now();
    for (auto& region : wanted) {
        const DAT_REG_LMR_PARAM asked = region->parameters(DAT_REG_CLASS_RDMA);
        DAT_REG_TICKET ticket = 0;
        dat_reg_lmr_create_async(side.ia, &asked, region.get(), &ticket);
    }
    while (given.entries < kWanted) {
        DAT_EVENT event{};
        DAT_COUNT more = 0;
        if (dat_evd_wait(side.upcalls, kPatience, 1, &event, &more) != DAT_SUCCESS) break;
        const DAT_REG_EVENT_DATA& data = *dat_reg_event_data(&event);
        if (event.event_number != static_cast<DAT_EVENT_NUMBER>(DAT_REG_GRANTED_EVENT)) continue;
        static_cast<Region*>(data.cookie)->lmr = data.lmr_handle;
        ++given.entries;
        given.last_ms = static_cast<double>(now() - begin) / 1e6;
    }
}

Given run_holder(const std::string& policy, Holder holder) {
    test::RegistrationTable table(kCapacity, kGraceUs);
    table.set("OPENDAT_REGISTRATION_POLICY", policy);
    test::Child child([&](test::Channel& channel) { hold(channel, holder); });
    child.channel().receive<char>();
    RegistrationSide side;
    Region source(side);
    test::succeed(source.create(0, DAT_REG_CLASS_PINNED), "an entry for messages");
    const DAT_EP_HANDLE ep = side.connect_to(kQualifier);
    Given given;
    std::vector<std::unique_ptr<Region>> wanted;
    for (int i = 0; i < kWanted; ++i) wanted.push_back(std::make_unique<Region>(side));
    ask_for_all(side, wanted, given);
    child.channel().send('.');
    given.left = child.channel().receive<std::uint64_t>();
    if (holder == Holder::kPosts) given.sent = send_words(side, source, ep, given.left);
    test::succeed(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    side.connection_event(DAT_CONNECTION_EVENT_DISCONNECTED, ep);
    given.receives = child.channel().receive<Receives>();
    test::require(child.wait() == 0, "the holder ends well");
    return given;
}

}  // namespace

void unwilling(const Run& run) {
    Experiment experiment(run, "R12");
    Csv csv = experiment.csv("", "policy,holder,round,entries,ms,left");
    int fewest = kWanted, most_of_none = 0;
    double slowest = 0;
    std::uint64_t least_left = kCapacity, sent = 0, taken = 0;
    const int rounds = run.count(5);
    for (const char* policy : {"none", "lru", "lfu", "clock", "random", "weighted-fair-lru"})
        for (const Holder holder : {Holder::kPins, Holder::kRefuses, Holder::kPosts})
            for (int round = 0; round < rounds; ++round) {
                const Given given = run_holder(policy, holder);
                csv.row("%s,%s,%d,%d,%.2f,%llu", policy, kNames[static_cast<int>(holder)], round,
                        given.entries, given.last_ms, static_cast<unsigned long long>(given.left));
                experiment.check((std::string(policy) + ", " + kNames[static_cast<int>(holder)] +
                                  ": messages into what is left")
                                     .c_str(),
                                 given.left, given.receives.wrong);
                sent += given.sent;
                taken += given.receives.taken;
                if (std::string(policy) == "none") {
                    most_of_none = std::max(most_of_none, given.entries);
                    continue;
                }
                fewest = std::min(fewest, given.entries);
                slowest = std::max(slowest, given.last_ms);
                least_left = std::min(least_left, given.left);
            }
    experiment.claim(
        "who pins, refuses or has posted the whole table cannot keep a newcomer's share",
        fewest == kWanted,
        "%d of %d entries at least, under each policy that revokes, the last after %.0f ms at most "
        "(T is %ld ms); %d under none",
        fewest, kWanted, slowest, kGraceUs / 1000, most_of_none);
    experiment.claim("it keeps its own", least_left >= kCapacity / 2, "%llu of %d entries at least",
                     static_cast<unsigned long long>(least_left), kCapacity);
    experiment.claim(
        "no message is lost when posted receives lose their registrations, and the "
        "connection stands",
        sent > 0 && sent == taken, "%llu sent, %llu received",
        static_cast<unsigned long long>(sent), static_cast<unsigned long long>(taken));
}

}  // namespace registration
