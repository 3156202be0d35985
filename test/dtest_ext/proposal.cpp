// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The operations under the names of the proposal of 2005. dat_extension() is looked up at run
/// time, so that this program also runs with other libdat2s, which do not have it.
#include <dat2/dat_extensions.h>
#include <dlfcn.h>

#include <cstring>

#include "test/dtest_ext/immediate.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

using Extension = decltype(&::dat_extension);

Extension find_extension() {
    return reinterpret_cast<Extension>(dlsym(RTLD_DEFAULT, "dat_extension"));
}

std::string lacks_proposal(const Context& context) {
    if (find_extension() == nullptr) return "this libdat2 has no dat_extension()";
    return context.device.says(DAT_EXT_ATTR_RDMA_WRITE_IMMED)
               ? ""
               : "DAT_EXT_RDMA_WRITE_IMMED is not TRUE";
}

std::string lacks_confirmed_writes(const Context& context) {
    const std::string lacks = lacks_proposal(context);
    if (!lacks.empty()) return lacks;
    return context.device.attributes().extension_supported == DAT_EXTENSION_IW
               ? "an iWARP device confirms no writes"
               : "";
}

std::string lacks_proposed_atomics(const Context& context) {
    const std::string lacks = lacks_proposal(context);
    if (!lacks.empty()) return lacks;
    return context.device.says(DAT_EXT_ATTR_FETCH_AND_ADD) &&
                   context.device.says(DAT_EXT_ATTR_CMP_AND_SWAP)
               ? ""
               : "DAT_EXT_FETCH_AND_ADD or DAT_EXT_CMP_AND_SWAP is not TRUE";
}

/// Checks that the event has the number and layout of the proposal.
void require_proposed(const DAT_EVENT& event, const char* what, DAT_EXT_EVENT_TYPE type,
                      std::uint64_t cookie, std::uint32_t length) {
    if (event.event_number != static_cast<DAT_EVENT_NUMBER>(DAT_EXTENSION_EVENT))
        throw Failure(what, event_name(event.event_number), "DAT_EXTENSION_EVENT", kFault);
    const auto& data = event.event_data.extension_data;
    const auto text = [](DAT_DTO_COMPLETION_STATUS status, unsigned number, std::uint64_t tag,
                         std::uint32_t bytes) {
        return format("type %u, %s, %u bytes, cookie %llu", number, status_name(status).c_str(),
                      bytes, static_cast<unsigned long long>(tag));
    };
    const std::string found = text(data.dto.status, static_cast<unsigned>(data.type),
                                   data.dto.user_cookie.as_64, data.dto.transfered_length);
    const std::string wanted = text(DAT_DTO_SUCCESS, type, cookie, length);
    if (found != wanted) throw Failure(what, found, wanted, kFault);
}

void require_number(std::uint32_t found, std::uint32_t expected, const char* what) {
    if (found == expected) return;
    throw Failure(what, format("0x%08x", found), format("0x%08x", expected),
                  "give both sides the same --seed; else report it as a fault of the provider");
}

/// Checks the event of the first receive, and that its memory has the number or nothing.
void require_write_taken(const Context& context, const DAT_EVENT& event, std::uint32_t size) {
    const char* what = "receive that takes a write";
    const std::uint32_t number = their_number(context, 0);
    std::size_t used = 0;
    if (context.device.says(DAT_EXT_ATTR_RECV_IMMED_PAYLOAD)) {
        used = sizeof number;
        require_proposed(event, what, DAT_EXT_RECV_IMMED_DATA_PAYLOAD, 0, sizeof number);
        std::uint32_t found;
        std::memcpy(&found, context.device.slot(0), sizeof found);
        require_number(found, number, "immediate data in the receive's memory");
    } else {
        require_proposed(event, what, DAT_EXT_RECV_IMMED_DATA_EVENT, 0, size);
        require_number(static_cast<std::uint32_t>(event.event_data.extension_data.val.immed.data),
                       number, "immediate data in extension_data");
    }
    require_untouched(context.device.slot(0) + used, context.device.slot_bytes() - used,
                      "memory of the receive that took a write");
}

void post_write(const Context& context, const Connection& connection, unsigned index,
                unsigned with) {
    const Extension dat_extension = find_extension();
    const std::uint32_t size = context.options.size;
    fill(context, context.device.source.at(0), size, index);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, size);
    DAT_RMR_TRIPLET remote = connection.remote(0, size);
    require_success(
        dat_ep_post_rdma_write_immed(connection.ep(), 1, &segment, make_cookie(index), &remote,
                                     my_number(context, index), with, DAT_COMPLETION_DEFAULT_FLAG),
        "dat_ep_post_rdma_write_immed", kFault);
}

void post_receive(const Context& context, const Connection& connection, unsigned slot) {
    const Extension dat_extension = find_extension();
    mark(context.device.slot(slot), context.device.slot_bytes());
    DAT_LMR_TRIPLET segment = connection.slot_segment(slot);
    require_success(dat_ep_post_recv_immed(connection.ep(), 1, &segment, make_cookie(slot),
                                           DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_recv_immed", kFault);
}

void require_extensions_variable() {
    const auto* extensions = static_cast<const int*>(dlsym(RTLD_DEFAULT, "dat_extensions"));
    if (extensions && *extensions == 1) return;
    throw Failure("dat_extensions", extensions ? format("%d", *extensions) : "not there", "1",
                  "report this as a fault of libdat2");
}

std::string check_transfers(const Context& context) {
    const std::uint32_t size = context.options.size;
    require_extensions_variable();
    mark(context.device.target.at(0), context.device.slot_bytes());
    Connection connection(context);
    post_receive(context, connection, 0);
    post_receive(context, connection, 1);
    connection.connect();
    post_write(context, connection, 0, DAT_EXT_WRITE_IMMED_FLAG);
    require_proposed(connection.request_event("completion of a write"), "completion of a write",
                     DAT_EXT_RDMA_WRITE_IMMED_STATUS, 0, size);
    DAT_EVENT event = connection.receive_event("receive that takes a write");
    require_write_taken(context, event, size);
    require_bytes(context, context.device.target.at(0), size, 0, "data written");
    post_send(context, connection, size, 1);
    event = connection.receive_event("receive that takes a send");
    require_proposed(event, "receive that takes a send", DAT_EXT_RECV_NO_IMMED, 1, size);
    require_bytes(context, context.device.slot(1), size, 1, "data received");
    connection.close();
    return "a write with immediate data and a send each way on receives of dat_ep_post_recv_immed: "
           "the events tell them apart; dat_extensions is 1";
}

std::string check_atomics(const Context& context) {
    constexpr std::uint64_t kStart = 1000;
    constexpr std::uint32_t kWord = sizeof kStart;
    const Extension dat_extension = find_extension();
    // The proposal has no privilege for atomic operations: remote read is enough.
    dtest::Region word;
    word.create(context.device.ia(), context.device.pz(), kWord,
                static_cast<DAT_MEM_PRIV_FLAGS>(DAT_MEM_PRIV_LOCAL_READ_FLAG |
                                                DAT_MEM_PRIV_LOCAL_WRITE_FLAG |
                                                DAT_MEM_PRIV_REMOTE_READ_FLAG));
    std::memcpy(word.at(0), &kStart, kWord);
    Connection connection(context);
    connection.connect();
    connection.tell(word);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, kWord);
    DAT_RMR_TRIPLET remote = connection.remote(0, kWord);
    std::uint64_t old[2] = {};
    require_success(dat_ep_post_fetch_and_add(connection.ep(), 5, &segment, make_cookie(1), &remote,
                                              DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_fetch_and_add", kFault);
    require_proposed(connection.request_event("fetch and add"), "fetch and add",
                     DAT_EXT_FETCH_AND_ADD_STATUS, 1, kWord);
    std::memcpy(&old[0], context.device.source.at(0), kWord);
    require_success(dat_ep_post_cmp_and_swap(connection.ep(), kStart + 5, 7, &segment,
                                             make_cookie(2), &remote, DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ep_post_cmp_and_swap", kFault);
    require_proposed(connection.request_event("compare and swap"), "compare and swap",
                     DAT_EXT_CMP_AND_SWAP_STATUS, 2, kWord);
    std::memcpy(&old[1], context.device.source.at(0), kWord);
    context.other.exchange("end value");
    std::uint64_t end = 0;
    std::memcpy(&end, word.at(0), kWord);
    connection.close();
    word.free();
    if (old[0] == kStart && old[1] == kStart + 5 && end == 7)
        return "both each way, on memory with no more than the right to read";
    throw Failure(
        "old values and end value",
        format("%llu, %llu, %llu", static_cast<unsigned long long>(old[0]),
               static_cast<unsigned long long>(old[1]), static_cast<unsigned long long>(end)),
        "1000, 1005, 7", kFault);
}

std::string check_confirmed(const Context& context) {
    const std::uint32_t size = context.options.size;
    mark(context.device.target.at(0), context.device.slot_bytes());
    Connection connection(context);
    connection.connect(1);
    for (unsigned i = 0; i < 2; ++i) {
        unsigned with = DAT_EXT_WRITE_CONFIRM_FLAG;
        if (i == 1) with |= DAT_EXT_WRITE_IMMED_FLAG;
        post_write(context, connection, i, with);
        require_proposed(connection.request_event("confirmation"), "confirmation of a write",
                         DAT_EXT_RDMA_WRITE_IMMED_STATUS, i, size);
        // Once the peer learns over TCP that the write is confirmed, all of the data must be there.
        context.other.exchange("confirmed");
        require_bytes(context, context.device.target.at(0), size, i, "data of a confirmed write");
        context.other.exchange("looked at");
    }
    const DAT_EVENT event = connection.receive_event("receive that takes a confirmed write");
    require_immediate(event, their_number(context, 1));
    connection.close();
    return "each way, without and with immediate data: one event each, and the data is there";
}

}  // namespace

const std::vector<Check> kProposalChecks = {
    {"transfers of the proposal of 2005", lacks_proposal, check_transfers},
    {"atomic operations of the proposal", lacks_proposed_atomics, check_atomics},
    {"confirmed writes", lacks_confirmed_writes, check_confirmed},
};

}  // namespace dtest_ext
