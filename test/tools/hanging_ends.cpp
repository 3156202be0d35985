// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Two processes whose connection hangs in one of the ways that dat_stat --hang finds, until they
/// are killed. Prints `ready SERVER_PID CLIENT_PID`.
#include <dat2/udat.h>

#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "test/api/side.hpp"

namespace {

using namespace test;

constexpr DAT_CONN_QUAL kQualifier = 4711;
constexpr int kMessages = 12;

/// One end of the connection.
struct End {
    Side side;
    Buffer buffer{side};
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

    void post_receives() {
        DAT_LMR_TRIPLET all = buffer.all();
        for (int i = 0; i < kMessages; ++i)
            succeed(dat_ep_post_recv(ep, 1, &all, cookie(i), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_recv");
    }
    void post_sends() {
        DAT_LMR_TRIPLET all = buffer.all();
        for (int i = 0; i < kMessages; ++i)
            succeed(dat_ep_post_send(ep, 1, &all, cookie(0x70 + i), DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_send");
    }
    static void wait_for_ever(DAT_EVD_HANDLE evd) {
        DAT_EVENT event;
        DAT_COUNT more;
        dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
    }
};

using Act = std::function<void(End&)>;
/// What the ends do until they are connected, and after that.
struct Kind {
    Act serve, connect;
    Act serve_on = [](End&) {}, go_on = [](End&) {};
};

void accept(End& end) {
    end.ep = end.side.accept_next();
}
void connect(End& end) {
    end.ep = end.side.connect_to(kQualifier);
}
void wait_for_a_message(End& end) {
    End::wait_for_ever(end.side.receives);
}

const std::map<std::string, Kind> kKinds = {
    {"no-receives",
     {accept,
      [](End& end) {
          connect(end);
          end.post_receives();
          end.post_sends();
      },
      [](End&) {}, [](End& end) { End::wait_for_ever(end.side.sends); }}},
    {"both-wait",
     {[](End& end) {
          accept(end);
          end.post_receives();
      },
      [](End& end) {
          connect(end);
          end.post_receives();
      },
      wait_for_a_message, wait_for_a_message}},
    {"unanswered",
     {[](End&) {},
      [](End& end) {
          end.ep = end.side.endpoint();
          succeed(Side::connect(end.ep, kQualifier), "dat_ep_connect");
      }}},
    {"untaken",
     {accept,
      [](End& end) {
          connect(end);
          DAT_EVENT event{};
          event.event_number = DAT_SOFTWARE_EVENT;
          succeed(dat_evd_post_se(end.side.evd(DAT_EVD_SOFTWARE_FLAG, 8), &event),
                  "dat_evd_post_se");
      }}},
    {"nothing", {accept, connect}},
};

}  // namespace

int main(int argc, char** argv) {
    const auto kind = argc == 2 ? kKinds.find(argv[1]) : kKinds.end();
    if (kind == kKinds.end()) return 2;
    try {
        Child server([&](Channel& channel) {
            End end;
            end.side.listen(kQualifier);
            channel.send('l');
            kind->second.serve(end);
            channel.send('c');
            kind->second.serve_on(end);
            for (;;) pause();
        });
        server.channel().receive<char>();
        End end;
        kind->second.connect(end);
        server.channel().receive<char>();
        std::printf("ready %d %d\n", server.pid(), getpid());
        std::fflush(stdout);
        kind->second.go_on(end);
        for (;;) pause();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
