// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// One side of a connection that the test disturbs: it transfers in both directions, reports each
/// connection event, and accounts for each request that it has posted. It uses installed headers
/// only, so that it runs on whatever stack it is given.
///
/// usage: survivor IA [--connect ADDRESS] [OPTION]...    the passive side unless --connect is given
///   --idle               posts receives and sends nothing
///   --until FILE         the active side disconnects when FILE exists
///   --accept-when FILE   the passive side answers the request when FILE exists
///   --timeout SECONDS    timeout of dat_ep_connect
///   --port NUMBER        the connection qualifier
/// Prints a line for each thing that happens. Exits with 0 when the connection ended exactly once
/// and each posted request completed exactly once.
#include <dat2/udat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "test/support/address_file.hpp"
#include "test/support/event_names.hpp"

namespace {

using test::name_of;

constexpr DAT_TIMEOUT kPatience = 280'000'000;  // microseconds
constexpr DAT_TIMEOUT kQuiet = 2'000'000;       // no further event may arrive for this long
constexpr DAT_TIMEOUT kLook = 100'000;          // interval of checks for the test's control files
constexpr std::size_t kSize = 5000;             // two packets
constexpr std::size_t kSlots = 8;               // per direction
constexpr DAT_UINT64 kReceive = 1 << 8;         // marks the cookies of receives

struct Options {
    const char* ia = nullptr;
    const char* peer = nullptr;
    const char* until = nullptr;
    const char* accept_when = nullptr;
    DAT_TIMEOUT timeout = DAT_TIMEOUT_INFINITE;
    DAT_CONN_QUAL port = 45700;
    bool idle = false;
};

void tell(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
}
[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "survivor: %s\n", what.c_str());
    std::exit(1);
}
void succeed(DAT_RETURN code, const char* call) {
    if (code == DAT_SUCCESS) return;
    const char* major = "?";
    const char* minor = "?";
    dat_strerror(code, &major, &minor);
    fail(std::string(call) + ": " + major + " " + minor);
}
bool exists(const char* file) {
    return access(file, F_OK) == 0;
}

/// Writes the content of message `number`: the number, then a pattern that depends on it.
void fill(char* bytes, std::uint32_t number) {
    std::memcpy(bytes, &number, sizeof number);
    for (std::size_t i = sizeof number; i < kSize; ++i)
        bytes[i] = static_cast<char>(number * 31 + i * 7 + i / 256);
}

class Survivor {
  public:
    explicit Survivor(const Options& options) : options_(options), memory_(2 * kSlots * kSize) {
        succeed(dat_ia_open(const_cast<char*>(options.ia), 8, &async_, &ia_), "dat_ia_open");
        succeed(dat_pz_create(ia_, &pz_), "dat_pz_create");
        connections_ = evd(DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG);
        transfers_ = evd(DAT_EVD_DTO_FLAG);
        succeed(dat_ep_create(ia_, pz_, transfers_, transfers_, connections_, nullptr, &ep_),
                "dat_ep_create");
        DAT_REGION_DESCRIPTION region{};
        region.for_va = memory_.data();
        succeed(dat_lmr_create(ia_, DAT_MEM_TYPE_VIRTUAL, region, memory_.size(), pz_,
                               DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr_, &key_, nullptr,
                               nullptr, nullptr),
                "dat_lmr_create");
        for (std::size_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
    }

    /// Runs until the connection has ended and every posted request has completed.
    void run() {
        options_.peer ? connect() : accept();
        DAT_EVENT event{};
        DAT_TIMEOUT waited = 0;
        while (!ended_ || !posted_.empty()) {
            if (next(event)) {
                waited = 0;
                take(event);
            } else if ((waited += kLook) > kPatience) {
                fail("nothing more comes; " + account());
            }
            if (waits_to_disconnect() && exists(options_.until)) disconnect();
        }
        for (waited = 0; waited < kQuiet; waited += kLook)
            if (next(event)) fail("one event too many: " + std::to_string(event.event_number));
        DAT_EP_STATE state{};
        succeed(dat_ep_get_status(ep_, &state, nullptr, nullptr), "dat_ep_get_status");
        if (state != DAT_EP_STATE_DISCONNECTED) fail("the EP's state is " + std::to_string(state));
        tell("end: " + account());
    }

    void close() {
        succeed(dat_ep_reset(ep_), "dat_ep_reset");
        succeed(dat_ep_free(ep_), "dat_ep_free");
        succeed(dat_lmr_free(lmr_), "dat_lmr_free");
        succeed(dat_evd_free(connections_), "dat_evd_free");
        succeed(dat_evd_free(transfers_), "dat_evd_free");
        succeed(dat_pz_free(pz_), "dat_pz_free");
        succeed(dat_ia_close(ia_, DAT_CLOSE_GRACEFUL_FLAG), "dat_ia_close");
        tell("closed");
    }

  private:
    void connect() {
        sockaddr_storage peer;
        if (!test::find_server(options_.peer, peer)) fail("not an IPv4 address");
        tell("connecting");
        succeed(dat_ep_connect(ep_, reinterpret_cast<DAT_IA_ADDRESS_PTR>(&peer), options_.port,
                               options_.timeout, 0, nullptr, DAT_QOS_BEST_EFFORT,
                               DAT_CONNECT_DEFAULT_FLAG),
                "dat_ep_connect");
    }
    void accept() {
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;
        succeed(dat_psp_create(ia_, options_.port, connections_, DAT_PSP_CONSUMER_FLAG, &psp),
                "dat_psp_create");
        if (!test::leave_address(ia_)) fail("the address cannot be left");
        tell("listening");
        DAT_EVENT event{};
        if (!wait(connections_, event, kPatience)) fail("no request comes");
        // A request that is sent again after this connection's end must find no listener.
        succeed(dat_psp_free(psp), "dat_psp_free");
        tell("request");
        while (options_.accept_when && !exists(options_.accept_when)) usleep(kLook);
        succeed(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ep_, 0, nullptr),
                "dat_cr_accept");
        tell("accepted");
    }
    bool waits_to_disconnect() const {
        return options_.until && established_ && !disconnecting_ && !ended_;
    }
    void disconnect() {
        disconnecting_ = true;
        succeed(dat_ep_disconnect(ep_, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect");
    }

    DAT_EVD_HANDLE evd(int flags) {
        DAT_EVD_HANDLE made = DAT_HANDLE_NULL;
        succeed(dat_evd_create(ia_, 64, DAT_HANDLE_NULL, static_cast<DAT_EVD_FLAGS>(flags), &made),
                "dat_evd_create");
        return made;
    }
    static bool wait(DAT_EVD_HANDLE evd, DAT_EVENT& event, DAT_TIMEOUT timeout) {
        DAT_COUNT more = 0;
        const DAT_RETURN code = dat_evd_wait(evd, timeout, 1, &event, &more);
        if (DAT_GET_TYPE(code) != DAT_TIMEOUT_EXPIRED) succeed(code, "dat_evd_wait");
        return code == DAT_SUCCESS;
    }
    /// Fetches the next event of either kind. @return false after kLook without one.
    bool next(DAT_EVENT& event) {
        return dat_evd_dequeue(connections_, &event) == DAT_SUCCESS ||
               wait(transfers_, event, kLook);
    }
    void take(const DAT_EVENT& event) {
        if (event.event_number == DAT_DTO_COMPLETION_EVENT)
            return completed(event.event_data.dto_completion_event_data);
        const std::string name = name_of(event.event_number);
        tell("event " + name);
        if (ended_) fail("a second end of the connection: " + name);
        if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
            ended_ = true;
            return;
        }
        established_ = true;
        for (std::size_t slot = 0; slot < kSlots && !options_.idle; ++slot) post_send(slot);
    }

    // Transfers.
    char* bytes(std::size_t place) { return memory_.data() + place * kSize; }
    DAT_LMR_TRIPLET segment(std::size_t place) {
        DAT_LMR_TRIPLET result{};
        result.virtual_address = reinterpret_cast<DAT_VADDR>(bytes(place));
        result.segment_length = kSize;
        result.lmr_context = key_;
        return result;
    }
    /// Records a posted request, unless the post was refused because the connection has just ended.
    void note(DAT_RETURN code, DAT_UINT64 cookie, const char* call) {
        if (code != DAT_SUCCESS && established_ && !is_connected()) return;
        succeed(code, call);
        if (!posted_.insert(cookie).second) fail("posted twice: " + std::to_string(cookie));
    }
    void post_receive(std::size_t slot) {
        DAT_LMR_TRIPLET where = segment(kSlots + slot);
        DAT_DTO_COOKIE cookie{};
        cookie.as_64 = kReceive | slot;
        note(dat_ep_post_recv(ep_, 1, &where, cookie, DAT_COMPLETION_DEFAULT_FLAG), cookie.as_64,
             "dat_ep_post_recv");
    }
    void post_send(std::size_t slot) {
        fill(bytes(slot), sent_++);
        DAT_LMR_TRIPLET where = segment(slot);
        DAT_DTO_COOKIE cookie{};
        cookie.as_64 = slot;
        note(dat_ep_post_send(ep_, 1, &where, cookie, DAT_COMPLETION_DEFAULT_FLAG), cookie.as_64,
             "dat_ep_post_send");
    }
    void completed(const DAT_DTO_COMPLETION_EVENT_DATA& data) {
        const DAT_UINT64 cookie = data.user_cookie.as_64;
        if (posted_.erase(cookie) != 1) fail("completed more than once: " + std::to_string(cookie));
        const std::size_t slot = cookie & (kReceive - 1);
        const bool is_receive = cookie & kReceive;
        if (data.status != DAT_DTO_SUCCESS) {
            ++(data.status == DAT_DTO_ERR_FLUSHED ? flushed_ : failed_);
            if (data.status != DAT_DTO_ERR_FLUSHED)
                tell(std::string(is_receive ? "receive" : "send") +
                     " failed: " + std::to_string(data.status));
            return;
        }
        ++done_;
        if (is_receive) check_message(slot, data.transfered_length);
        if (!is_connected()) return;
        is_receive ? post_receive(slot) : post_send(slot);
    }
    /// Queries the endpoint, because a successful completion may be polled after the connection's
    /// end.
    bool is_connected() {
        DAT_EP_STATE state{};
        succeed(dat_ep_get_status(ep_, &state, nullptr, nullptr), "dat_ep_get_status");
        return state == DAT_EP_STATE_CONNECTED && !disconnecting_;
    }
    void check_message(std::size_t slot, DAT_VLEN length) {
        std::array<char, kSize> wanted;
        fill(wanted.data(), received_);
        if (length != kSize || std::memcmp(bytes(kSlots + slot), wanted.data(), kSize) != 0)
            fail("message " + std::to_string(received_) + " is not what was sent");
        ++received_;
        if (received_ % 20 == 0) tell("messages " + std::to_string(received_));
    }
    std::string account() const {
        return std::to_string(done_) + " done, " + std::to_string(failed_) + " failed, " +
               std::to_string(flushed_) + " flushed, " + std::to_string(posted_.size()) +
               " missing";
    }

    const Options options_;
    std::vector<char> memory_;  ///< kSlots send buffers, then kSlots receive buffers
    DAT_IA_HANDLE ia_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE async_ = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE pz_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE connections_ = DAT_HANDLE_NULL;
    DAT_EVD_HANDLE transfers_ = DAT_HANDLE_NULL;
    DAT_EP_HANDLE ep_ = DAT_HANDLE_NULL;
    DAT_LMR_HANDLE lmr_ = DAT_HANDLE_NULL;
    DAT_LMR_CONTEXT key_ = 0;
    bool established_ = false;
    bool disconnecting_ = false;
    bool ended_ = false;
    std::set<DAT_UINT64> posted_;  ///< cookies of requests that have not completed
    std::uint32_t sent_ = 0;
    std::uint32_t received_ = 0;
    int done_ = 0;
    int failed_ = 0;
    int flushed_ = 0;
};

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const auto value = [&] { return i + 1 < argc ? argv[++i] : argv[0]; };
        if (word == "--idle")
            options.idle = true;
        else if (word == "--connect")
            options.peer = value();
        else if (word == "--until")
            options.until = value();
        else if (word == "--accept-when")
            options.accept_when = value();
        else if (word == "--timeout")
            options.timeout = static_cast<DAT_TIMEOUT>(std::atoi(value()) * 1'000'000);
        else if (word == "--port")
            options.port = static_cast<DAT_CONN_QUAL>(std::atoi(value()));
        else
            options.ia = argv[i];
    }
    if (!options.ia) fail("usage: survivor IA [--connect ADDRESS] [OPTION]...");
    return options;
}

}  // namespace

int main(int argc, char** argv) {
    Survivor survivor(parse(argc, argv));
    survivor.run();
    survivor.close();
    return 0;
}
