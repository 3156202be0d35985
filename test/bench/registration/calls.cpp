// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// R14: remote procedure calls whose server writes the result into one of the client's buffers,
/// which is registered for good, registered and revoked as needed, or open to the server from the
/// request to the response only.
#include <random>

#include "test/bench/registration/entries.hpp"
#include "test/bench/registration/experiments.hpp"
#include "test/bench/registration/flow.hpp"

namespace registration {
namespace {

constexpr int kBuffers = 64;
constexpr std::size_t kBytes = 4096;
constexpr DAT_CONN_QUAL kQualifier = 46180;
constexpr int kEvil = 0xee;
constexpr DAT_TIMEOUT kPatience = 60 * 1000 * 1000;  // microseconds

struct Way {
    const char* name;
    const char* mode;
    const char* brackets;
    DAT_REG_CLASS kind;  ///< of the buffers
    bool has_brackets, invalidates;
};
constexpr Way kWays[] = {{"permanent", "on", "windows", DAT_REG_CLASS_PINNED, false, false},
                         {"revocable", "transparent", "windows", DAT_REG_CLASS_RDMA, false, false},
                         {"window", "on", "windows", DAT_REG_CLASS_RDMA, true, false},
                         {"window, invalidated", "on", "windows", DAT_REG_CLASS_RDMA, true, true},
                         {"registration", "on", "registrations", DAT_REG_CLASS_RDMA, true, false}};
enum { kPermanent, kRevocable, kWindow, kInvalidated, kRegistration };

/// The messages.
struct Call {
    DAT_VADDR address;
    DAT_RMR_CONTEXT context;
    int stamp;
    bool invalidates;
};

/// Polls: a blocking wait would take longer than what is compared. @return whether the transfer
/// succeeded.
bool await_success(DAT_EVD_HANDLE evd) {
    DAT_EVENT event{};
    const Time end = now() + 60 * kSecond;
    while (dat_evd_dequeue(evd, &event) != DAT_SUCCESS) test::require(now() < end, "a completion");
    return event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/// One end of the connection. Messages arrive in one half of its memory and are sent from the
/// other.
class End {
  public:
    explicit End(test::Side& side, DAT_REG_CLASS kind, bool is_shared) : side_(side) {
        DAT_REG_LMR_PARAM asked{};
        asked.region_desc.for_va = messages_;
        asked.length = sizeof messages_;
        asked.pz_handle = side.pz;
        asked.mem_priv = DAT_MEM_PRIV_ALL_FLAG;
        asked.reg_class = kind;
        test::succeed(is_shared
                          ? dat_reg_lmr_create_wait(side.ia, &asked, 0, &lmr_, &key_, nullptr)
                          : dat_lmr_create(side.ia, DAT_MEM_TYPE_VIRTUAL, asked.region_desc,
                                           asked.length, side.pz, asked.mem_priv, DAT_VA_TYPE_VA,
                                           &lmr_, &key_, nullptr, nullptr, nullptr),
                      "memory for messages");
    }
    Call& sent() { return messages_[0]; }
    const Call& received() const { return messages_[1]; }
    void expect() {
        DAT_LMR_TRIPLET where = segment(1);
        test::succeed(dat_ep_post_recv(ep, 1, &where, test::cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                      "dat_ep_post_recv");
    }
    void send(bool invalidates = false, DAT_RMR_CONTEXT context = 0) {
        DAT_LMR_TRIPLET what = segment(0);
        test::succeed(
            invalidates
                ? dat_ep_post_send_with_invalidate(ep, 1, &what, test::cookie(2),
                                                   DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE, context)
                : dat_ep_post_send(ep, 1, &what, test::cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
            "a message");
    }
    bool was_sent() const { return await_success(side_.sends); }
    bool has_arrived() const { return await_success(side_.receives); }

    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

  private:
    DAT_LMR_TRIPLET segment(int half) const {
        DAT_LMR_TRIPLET found{};
        found.virtual_address = reinterpret_cast<DAT_VADDR>(&messages_[half]);
        found.segment_length = sizeof messages_[half];
        found.lmr_context = key_;
        return found;
    }

    test::Side& side_;
    Call messages_[2]{};
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT key_ = 0;
};

/// Serves until the client leaves, or until a write of its own is refused, and then the next
/// connection. Does not share the table.
void serve(test::Channel& channel) {
    unsetenv("OPENDAT_REGISTRATIONS");
    test::Side side;
    test::Buffer source(side, kBytes);
    End end(side, DAT_REG_CLASS_RDMA, false);
    side.listen(kQualifier);
    for (;;) {
        if (channel.receive_whenever<char>() == 'e') return;
        end.ep = side.endpoint();
        end.expect();
        channel.send('l');
        test::succeed(dat_cr_accept(side.request(), end.ep, 0, nullptr), "dat_cr_accept");
        side.connection_event(DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
        while (end.has_arrived()) {
            const Call call = end.received();
            source.bytes.assign(kBytes, static_cast<char>(call.stamp));
            DAT_LMR_TRIPLET all = source.all();
            DAT_RMR_TRIPLET there = test::Window{call.address, call.context}.part(kBytes);
            end.expect();
            test::succeed(dat_ep_post_rdma_write(end.ep, 1, &all, test::cookie(3), &there,
                                                 DAT_COMPLETION_DEFAULT_FLAG),
                          "dat_ep_post_rdma_write");
            if (!end.was_sent()) continue;  // the receive comes back flushed
            end.sent() = call;
            end.send(call.invalidates, call.context);
            end.was_sent();
        }
        test::succeed(dat_ep_free(end.ep), "dat_ep_free");
        side.drain();
    }
}

struct Found {
    int buffers = 0;  ///< that got a registration
    std::uint64_t calls = 0, wrong = 0, late = 0, harmed = 0;
    double rate = 0, cpu_us = 0, entries = 0;
};

class Client {
  public:
    Client(const Way& way, test::Channel& server) : way_(way), server_(server) {
        end_ = std::make_unique<End>(side_, DAT_REG_CLASS_PINNED, true);
        for (int i = 0; i < kBuffers; ++i) create();
    }
    int buffers() const { return static_cast<int>(windows_.size()); }
    void connect() {
        server_.send('c');
        server_.receive<char>();
        end_->ep = side_.connect_to(kQualifier);
    }
    void disconnect() {
        test::succeed(dat_ep_free(end_->ep), "dat_ep_free");
        side_.drain();
    }
    /// @return whether the result has arrived.
    bool call(int buffer) {
        DAT_REG_BRACKET_HANDLE bracket = DAT_HANDLE_NULL;
        advertised_ = windows_[static_cast<std::size_t>(buffer)].part(kBytes);
        if (way_.has_brackets) {
            const DAT_LMR_TRIPLET part = local(buffer);
            test::succeed(dat_reg_bracket_open(end_->ep, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
                                               kPatience, &bracket, &advertised_),
                          "dat_reg_bracket_open");
        }
        stamp_ = stamp_ % 200 + 1;
        if (!request(stamp_)) return false;
        if (way_.has_brackets) test::succeed(dat_reg_bracket_close(bracket), "a bracket is closed");
        const std::uint8_t* bytes = memory(buffer);
        return bytes[0] == stamp_ && bytes[kBytes - 1] == stamp_;
    }
    /// Has the server write once more where it wrote last. @return whether it has changed the
    /// memory.
    bool is_harmed_late(int buffer) {
        request(kEvil);
        const std::uint8_t* bytes = memory(buffer);
        return bytes[0] == kEvil || bytes[kBytes - 1] == kEvil;
    }
    double entries() const {
        DAT_REG_STATISTICS found{};
        test::succeed(dat_reg_query(side_.ia, &found), "dat_reg_query");
        return static_cast<double>(found.own_entries);
    }

  private:
    std::uint8_t* memory(int buffer) { return &memory_[static_cast<std::size_t>(buffer) * kBytes]; }
    DAT_LMR_TRIPLET local(int buffer) {
        DAT_LMR_TRIPLET found{};
        found.virtual_address = reinterpret_cast<DAT_VADDR>(memory(buffer));
        found.segment_length = kBytes;
        found.lmr_context = keys_[static_cast<std::size_t>(buffer)];
        return found;
    }
    bool request(int stamp) {
        end_->expect();
        end_->sent() = {advertised_.virtual_address, advertised_.rmr_context, stamp,
                        way_.invalidates && stamp != kEvil};
        end_->send();
        return end_->was_sent() && end_->has_arrived();
    }
    /// Registers one more buffer, if the table has an entry for it.
    void create() {
        DAT_REG_LMR_PARAM asked{};
        asked.region_desc.for_va = memory(buffers());
        asked.length = kBytes;
        asked.pz_handle = side_.pz;
        asked.mem_priv = way_.has_brackets
                             ? static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                               DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
                             : DAT_MEM_PRIV_ALL_FLAG;
        asked.reg_class = way_.kind;
        DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
        DAT_LMR_CONTEXT key = 0;
        DAT_RMR_CONTEXT remote = 0;
        const DAT_RETURN code = dat_reg_lmr_create_wait(
            side_.ia, &asked, way_.kind == DAT_REG_CLASS_PINNED ? 0 : kPatience, &lmr, &key,
            &remote);
        if (code != DAT_SUCCESS) return;
        windows_.push_back({reinterpret_cast<DAT_VADDR>(asked.region_desc.for_va), remote});
        keys_.push_back(key);
    }

    const Way& way_;
    test::Channel& server_;
    test::Side side_;
    std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(kBuffers * kBytes);
    std::vector<test::Window> windows_;
    std::vector<DAT_LMR_CONTEXT> keys_;
    std::unique_ptr<End> end_;
    DAT_RMR_TRIPLET advertised_{};
    int stamp_ = 0;
};

/// Makes calls for a time, and then some after which the server writes once more.
void work(const Way& way, test::Channel& server, Time length, int late, Found& found) {
    Client client(way, server);
    found.buffers = client.buffers();
    client.connect();
    std::mt19937 random(7);
    const auto any = [&] { return static_cast<int>(random() % unsigned(found.buffers)); };
    int looks = 0;
    const Time begin = now();
    const std::uint64_t used = cpu_time();
    for (; now() < begin + length; ++found.calls) {
        found.wrong += !client.call(any());
        if (found.calls % 256 == 0) found.entries += client.entries(), ++looks;
    }
    found.cpu_us =
        static_cast<double>(cpu_time() - used) / 1e3 / static_cast<double>(found.calls + 1);
    found.rate = static_cast<double>(found.calls) * 1e9 / static_cast<double>(now() - begin);
    found.entries /= looks;
    for (; found.late < static_cast<std::uint64_t>(late); ++found.late) {
        const int buffer = any();
        found.wrong += !client.call(buffer);
        found.harmed += client.is_harmed_late(buffer);
        client.disconnect();
        client.connect();
    }
    client.disconnect();
}

Found call_for(const Experiment& experiment, const Way& way, int entries) {
    Shared<Found> found;
    const TableDirectory directory;
    const Settings settings{.directory = directory.path(),
                            .mode = way.mode,
                            .brackets = way.brackets,
                            .entries = entries,
                            .grace_us = 2000};
    test::Child server(serve);
    test::Child client([&](test::Channel&) {
        settings.apply();
        work(way, server.channel(), static_cast<Time>(experiment.run.seconds(2) * 1e9),
             experiment.run.count(50), *found);
    });
    test::require(client.wait(120s) == 0, "the client ends well");
    server.channel().send('e');
    test::require(server.wait(120s) == 0, "the server ends well");
    return *found;
}

}  // namespace

void calls(const Run& run) {
    Experiment experiment(run, "R14");
    Csv csv = experiment.csv("", "way,entries,buffers,calls_per_second,cpu_us,used,late,harmed");
    constexpr int kMany = kBuffers + 1 + 8, kFew = 8;
    Found many[5], few[5];
    std::uint64_t made = 0, wrong = 0;
    for (int way = 0; way < 5; ++way) {
        for (const int entries : {kMany, kFew}) {
            const Found found = call_for(experiment, kWays[way], entries);
            csv.row("\"%s\",%d,%d,%.0f,%.2f,%.1f,%llu,%llu", kWays[way].name, entries,
                    found.buffers, found.rate, found.cpu_us, found.entries,
                    static_cast<unsigned long long>(found.late),
                    static_cast<unsigned long long>(found.harmed));
            made += found.calls + found.late;
            wrong += found.wrong;
            (entries == kMany ? many : few)[way] = found;
        }
    }
    experiment.check("the results of calls", made, wrong);
    const auto share = [](const Found& found) {
        return 100 * static_cast<double>(found.harmed) / static_cast<double>(found.late);
    };
    experiment.claim(
        "a server that writes after its response changes the client's memory, but not behind a "
        "bracket",
        share(many[kPermanent]) == 100 && share(many[kRevocable]) == 100 &&
            share(many[kWindow]) + share(many[kInvalidated]) + share(many[kRegistration]) == 0,
        "permanent %.0f %% of late writes, revocable %.0f; brackets: window %.0f, invalidated "
        "window %.0f, registration %.0f",
        share(many[kPermanent]), share(many[kRevocable]), share(many[kWindow]),
        share(many[kInvalidated]), share(many[kRegistration]));
    experiment.claim(
        "a window that the server invalidates with its response costs a call of 4 KiB less than a "
        "quarter",
        many[kInvalidated].rate > 0.75 * many[kPermanent].rate,
        "permanent %.0f calls a second, window %.0f, invalidated window %.0f, registration %.0f",
        many[kPermanent].rate, many[kWindow].rate, many[kInvalidated].rate,
        many[kRegistration].rate);
    experiment.claim("on soft0 a window costs less than a registration",
                     many[kWindow].cpu_us < many[kRegistration].cpu_us,
                     "permanent %.2f us of CPU for a call, window %.2f, invalidated window %.2f, "
                     "registration %.2f",
                     many[kPermanent].cpu_us, many[kWindow].cpu_us, many[kInvalidated].cpu_us,
                     many[kRegistration].cpu_us);
    experiment.claim(
        "with an eighth of the entries brackets still serve all buffers, those over registrations "
        "as fast as with all",
        few[kWindow].buffers == kBuffers && few[kRegistration].buffers == kBuffers &&
            few[kRegistration].rate > 0.9 * many[kRegistration].rate,
        "registration %.0f calls a second (%.0f with all entries), window %.0f (%.0f); revocable "
        "%.0f (%.0f); permanent: %d of %d buffers",
        few[kRegistration].rate, many[kRegistration].rate, few[kWindow].rate, many[kWindow].rate,
        few[kRevocable].rate, many[kRevocable].rate, few[kPermanent].buffers, kBuffers);
}

}  // namespace registration
