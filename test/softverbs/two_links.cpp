// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// usage: two_links SOFTVERBS [broken] - a DAT program with an adapter instance on each of two
/// devices, of which one loses its link and is removed, by the tool: the asynchronous events come
/// to that instance alone, and the other one goes on. With `broken`, the link stays away until a
/// connection over it breaks.
#include <cstdlib>

#include "test/api/side.hpp"

namespace test {
namespace {

/// An adapter instance with a connection to itself.
class Instance {
  public:
    Instance(const char* name, const char* address, DAT_CONN_QUAL qualifier) : side_(name) {
        setenv("DAT_TEST_ADDRESS", address, 1);
        const DAT_PSP_HANDLE psp = side_.listen(qualifier);
        active_ = side_.endpoint();
        succeed(Side::connect(active_, qualifier), "dat_ep_connect");
        passive_ = side_.endpoint();
        succeed(dat_cr_accept(side_.request(), passive_, 0, nullptr), "dat_cr_accept");
        for (int i = 0; i < 2; ++i) Side::wait(side_.connections, DAT_CONNECTION_EVENT_ESTABLISHED);
        succeed(dat_psp_free(psp), "dat_psp_free");
        buffer_.emplace(side_);
    }
    void post_send() {
        DAT_LMR_TRIPLET segment = buffer_->all();
        succeed(dat_ep_post_recv(passive_, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_recv");
        succeed(dat_ep_post_send(active_, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                "dat_ep_post_send");
    }
    void expect_transfer() {
        for (DAT_EVD_HANDLE evd : {side_.sends, side_.receives}) {
            const DAT_EVENT event = Side::wait(evd, DAT_DTO_COMPLETION_EVENT);
            require(event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS,
                    "the transfer succeeds");
        }
    }
    void transfer() {
        post_send();
        expect_transfer();
    }
    /// Waits until a transfer has failed.
    void expect_break();
    void expect_event(DAT_IA_ASYNC_ERROR_REASON reason) {
        const DAT_EVENT event = Side::wait(side_.async, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
        require(event.event_data.asynch_error_event_data.dat_handle == side_.ia,
                "the event is of this adapter instance");
        require(event.event_data.asynch_error_event_data.reason == DAT_COUNT(reason), "its reason");
        Side::expect_empty(side_.async);
    }
    void expect_no_event() { Side::expect_empty(side_.async); }

  private:
    Side side_;
    std::optional<Buffer> buffer_;
    DAT_EP_HANDLE active_ = DAT_HANDLE_NULL, passive_ = DAT_HANDLE_NULL;
};

void Instance::expect_break() {
    const DAT_EVENT event = Side::wait(side_.sends, DAT_DTO_COMPLETION_EVENT);
    require(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
            "the transfer fails");
    side_.connection_event(DAT_CONNECTION_EVENT_BROKEN, active_);
}

void run(const std::string& tool, const std::string& command) {
    require(system((tool + " " + command + " >&2").c_str()) == 0, command);
}

void check_break(const std::string& tool) {
    Instance one("soft0", "127.0.0.1", 4801), other("soft1", "127.0.0.2", 4802);
    run(tool, "port soft0 down");
    one.post_send();
    one.expect_break();
    other.transfer();
}

void check(const std::string& tool) {
    Instance one("soft0", "127.0.0.1", 4801), other("soft1", "127.0.0.2", 4802);
    one.transfer();
    other.transfer();
    run(tool, "port soft0 down");
    one.expect_event(DAT_IA_OTHER_ERROR);
    one.post_send();
    other.transfer();
    run(tool, "port soft0 up");
    one.expect_transfer();
    run(tool, "device soft0 remove");
    one.expect_event(DAT_IA_CATASTROPHIC_ERROR);
    other.transfer();
    other.expect_no_event();
}

}  // namespace
}  // namespace test

int main(int argc, char** argv) {
    try {
        test::require(argc == 2 || argc == 3, "usage: two_links SOFTVERBS [broken]");
        argc == 3 ? test::check_break(argv[1]) : test::check(argv[1]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
