// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Fuzzes what a peer can send to the software device: any records, in any order, with or without a
/// valid greeting. They arrive over a link as a peer's do and reach the handlers of fabric, verbs
/// and connection manager.
///
/// Input: a byte, bit 0 of which omits the greeting; then records, each of a byte for the type, a
/// byte of flags (1: a reply, 2: with a descriptor, 4: a header with the wrong length, bits 4 to 7:
/// the request's number), two bytes for the length of the body, and the body.
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <span>

#include "providers/soft/softverbs/fabric/process.hpp"
#include "test/fuzz/input.hpp"
#include "test/support/process.hpp"
#include "test/support/raw_member.hpp"

namespace {

using test::Input;
using test::require;

/// The device under test, open as long as the program runs. It has a listener so that the
/// connection manager's handlers are registered.
struct Device {
    test::TemporaryFabric fabric;
    rdma_event_channel* events = nullptr;
    rdma_cm_id* listener = nullptr;
    softverbs::UniqueFd arena = test::sealed_memory(softverbs::kArenaSize);
    softverbs::UniqueFd doorbell = test::silent_bell();

    Device() {
        events = rdma_create_event_channel();
        require(events && rdma_create_id(events, &listener, nullptr, RDMA_PS_TCP) == 0,
                "a listener");
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(7471);
        require(rdma_bind_addr(listener, reinterpret_cast<sockaddr*>(&at)) == 0, "a port");
        require(rdma_listen(listener, 4) == 0, "it listens");
    }
    ~Device() {
        rdma_destroy_id(listener);
        rdma_destroy_event_channel(events);
    }
};

Device& device() {
    static Device only;
    return only;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Device& open = device();
    Input input(data, size);
    softverbs::UniqueFd link = test::raw_link(open.fabric.path());
    require(link.valid(), "the device takes links");
    const int fds[] = {open.arena.get(), open.doorbell.get()};
    static std::uint64_t member = 1000;
    if ((input.byte() & 1) == 0)
        test::greet(link.get(), softverbs::Process::current()->fabric_hash(), ++member, fds);
    while (!input.empty()) {
        test::MessageHeader header{};
        header.type = input.byte();
        const std::uint8_t flags = input.byte();
        std::size_t length = input.byte();
        length |= std::size_t{input.byte()} << 8;
        const auto body = input.bytes(length);
        header.is_reply = flags & 1;
        header.request_id = flags >> 4;
        header.length = static_cast<std::uint32_t>(body.size()) + (flags >> 2 & 1);
        test::send_raw(link.get(), header, body, std::span(fds).first(flags >> 1 & 1));
    }
    test::finish(link);
    return 0;
}
