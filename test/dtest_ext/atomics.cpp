// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Atomic operations on 8 bytes of the peer's memory.
#include <cstring>
#include <set>

#include "test/dtest_ext/connection.hpp"
#include "tools/common/failure.hpp"

namespace dtest_ext {

using namespace tools;

namespace {

constexpr std::uint64_t kStart = 0x1122334455667788;
constexpr std::uint64_t kWord = sizeof(std::uint64_t);

std::string lacks_fetch_and_add(const Context& context) {
    return context.device.says(DAT_IB_ATTR_FETCH_AND_ADD) ? "" : "DAT_IB_FETCH_AND_ADD is not TRUE";
}

std::string lacks_compare_and_swap(const Context& context) {
    return context.device.says(DAT_IB_ATTR_CMP_AND_SWAP) ? "" : "DAT_IB_CMP_AND_SWAP is not TRUE";
}

std::string lacks_refusals(const Context& context) {
    const std::string lacks = lacks_fetch_and_add(context);
    if (!lacks.empty()) return lacks;
    return context.device.has_additions() ? "" : "this library leaves that to the device";
}

std::uint64_t word_at(const void* memory) {
    std::uint64_t word;
    std::memcpy(&word, memory, sizeof word);
    return word;
}

void require_word(const char* what, std::uint64_t found, std::uint64_t expected) {
    if (found == expected) return;
    throw Failure(what, format("0x%016llx", static_cast<unsigned long long>(found)),
                  format("0x%016llx", static_cast<unsigned long long>(expected)),
                  "give both sides the same --seed; else report it as a fault of the provider");
}

std::uint64_t start_of(const Context& context, bool server) {
    return kStart + number_from(context, server, 0);
}

DAT_RETURN post_add(const Context& context, const Connection& connection, std::uint64_t number,
                    std::size_t result, DAT_RMR_TRIPLET remote, std::size_t length = kWord) {
    DAT_LMR_TRIPLET segment = context.device.source.segment(result, length);
    return dat_ib_post_fetch_and_add(connection.ep(), number, &segment, make_cookie(result),
                                     &remote, DAT_COMPLETION_DEFAULT_FLAG);
}

/// @return the value before the addition.
std::uint64_t add(const Context& context, const Connection& connection, std::uint64_t number) {
    mark(context.device.source.at(0), kWord);
    require_success(post_add(context, connection, number, 0, connection.remote(0, kWord)),
                    "dat_ib_post_fetch_and_add", kFault);
    const char* what = "completion of a fetch and add";
    require_completion(connection.request_event(what), connection.ep(), what,
                       {0, kWord, DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD});
    return word_at(context.device.source.at(0));
}

/// @return the value before the operation.
std::uint64_t swap(const Context& context, const Connection& connection, std::uint64_t compare,
                   std::uint64_t number) {
    mark(context.device.source.at(0), kWord);
    DAT_LMR_TRIPLET segment = context.device.source.segment(0, kWord);
    DAT_RMR_TRIPLET remote = connection.remote(0, kWord);
    require_success(dat_ib_post_cmp_and_swap(connection.ep(), compare, number, &segment,
                                             make_cookie(7), &remote, DAT_COMPLETION_DEFAULT_FLAG),
                    "dat_ib_post_cmp_and_swap", kFault);
    const char* what = "completion of a compare and swap";
    require_completion(connection.request_event(what), connection.ep(), what,
                       {7, kWord, DAT_IB_DTO_CMP_SWAP, DAT_IB_CMP_AND_SWAP});
    return word_at(context.device.source.at(0));
}

/// Writes this side's start value to the front of its target region, and waits until the other side
/// has done so.
void begin_word(const Context& context) {
    const std::uint64_t start = start_of(context, context.options.server());
    mark(context.device.target.at(0), context.device.slot_bytes());
    std::memcpy(context.device.target.at(0), &start, sizeof start);
    context.other.exchange("start value");
}

/// Checks that the other side has changed this side's word to `expected`, and nothing else.
void end_word(const Context& context, std::uint64_t expected) {
    context.other.exchange("end value");
    require_word("the word that the peer changed", word_at(context.device.target.at(0)), expected);
    require_untouched(context.device.target.at(kWord), context.device.slot_bytes() - kWord,
                      "memory behind the word");
}

std::string check_compare_and_swap(const Context& context) {
    Connection connection(context);
    connection.connect();
    begin_word(context);
    const std::uint64_t mine = start_of(context, context.options.server());
    const std::uint64_t theirs = start_of(context, !context.options.server());
    require_word("old value where the comparison fails", swap(context, connection, ~theirs, 1),
                 theirs);
    require_word("old value where it succeeds", swap(context, connection, theirs, ~theirs), theirs);
    require_word("old value after a swap", swap(context, connection, theirs, 2), ~theirs);
    end_word(context, ~mine);
    connection.close();
    return "each way, swapped where it is equal, left alone where not, the old value returned";
}

std::string check_fetch_and_add(const Context& context) {
    Connection connection(context);
    connection.connect();
    begin_word(context);
    const std::uint64_t mine = start_of(context, context.options.server());
    const std::uint64_t theirs = start_of(context, !context.options.server());
    const std::uint64_t large = 0xfedcba9876543210;
    require_word("old value", add(context, connection, 1), theirs);
    require_word("old value after 1 was added", add(context, connection, large), theirs + 1);
    require_word("old value after the sum went over 64 bits", add(context, connection, 0),
                 theirs + 1 + large);
    end_word(context, mine + 1 + large);
    connection.close();
    return "each way, small numbers and sums over 64 bits, the old value returned";
}

/// The client adds 1 over two connections at once; each old value must occur exactly once.
std::string check_concurrent(const Context& context) {
    constexpr unsigned kBatch = 4, kBatches = 50;
    Connection first(context), second(context);
    first.connect();
    second.connect();
    begin_word(context);
    std::set<std::uint64_t> seen;
    for (unsigned i = 0; !context.options.server() && i < kBatches; ++i) {
        for (unsigned k = 0; k < kBatch; ++k) {
            for (const auto& [connection, place] : {std::pair{&first, k}, {&second, k + kBatch}})
                require_success(
                    post_add(context, *connection, 1, place * kWord, connection->remote(0, kWord)),
                    "dat_ib_post_fetch_and_add", kFault);
        }
        const char* what = "completion of a fetch and add";
        for (unsigned k = 0; k < kBatch; ++k) {
            for (const auto& [connection, place] : {std::pair{&first, k}, {&second, k + kBatch}})
                require_completion(
                    connection->request_event(what), connection->ep(), what,
                    {place * kWord, kWord, DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD});
        }
        for (unsigned k = 0; k < 2 * kBatch; ++k)
            seen.insert(word_at(context.device.source.at(k * kWord)));
    }
    constexpr unsigned kAll = 2 * kBatch * kBatches;
    const std::uint64_t from = start_of(context, true);
    if (!context.options.server() &&
        (seen.size() != kAll || *seen.begin() != from || *seen.rbegin() != from + kAll - 1)) {
        throw Failure("old values of additions over two connections",
                      format("%zu different ones of %u", seen.size(), kAll), "each once", kFault);
    }
    end_word(context, context.options.server() ? from + kAll : start_of(context, false));
    first.close();
    second.close();
    return format("%u additions to one word over two connections, none lost", kAll);
}

std::string check_refusals(const Context& context) {
    Connection connection(context);
    connection.connect();
    begin_word(context);
    const auto refused = [&](std::size_t offset, std::size_t length, DAT_RETURN code) {
        require_refusal(
            post_add(context, connection, 1, 0, connection.remote(offset, kWord), length),
            "dat_ib_post_fetch_and_add", code);
        DAT_LMR_TRIPLET segment = context.device.source.segment(0, length);
        DAT_RMR_TRIPLET remote = connection.remote(offset, kWord);
        require_refusal(dat_ib_post_cmp_and_swap(connection.ep(), 0, 0, &segment, make_cookie(0),
                                                 &remote, DAT_COMPLETION_DEFAULT_FLAG),
                        "dat_ib_post_cmp_and_swap", code);
    };
    for (const std::size_t offset : {1, 2, 4, 7}) refused(offset, kWord, DAT_INVALID_ADDRESS);
    for (const std::size_t length : {0, 4, 7}) refused(0, length, DAT_LENGTH_ERROR);
    refused(0, 16, DAT_LENGTH_ERROR);
    // None of the refused requests was sent, and the connection still works.
    require_word("old value", add(context, connection, 1),
                 start_of(context, !context.options.server()));
    end_word(context, start_of(context, context.options.server()) + 1);
    connection.close();
    return "addresses that are no multiple of 8 DAT_INVALID_ADDRESS, segments not of 8 bytes "
           "DAT_LENGTH_ERROR, both before anything is sent";
}

std::string check_privilege(const Context& context) {
    dtest::Region plain;
    plain.create(context.device.ia(), context.device.pz(), kWord, DAT_MEM_PRIV_ALL_FLAG);
    std::memcpy(plain.at(0), &kStart, sizeof kStart);
    Connection connection(context);
    connection.connect(1);
    connection.tell(plain);
    if (!context.options.server()) {
        require_success(post_add(context, connection, 1, 0, connection.remote(0, kWord)),
                        "dat_ib_post_fetch_and_add", kFault);
        const DAT_EVENT event = connection.request_event("refusal of a fetch and add");
        const auto status = event.event_data.dto_completion_event_data.status;
        if (status != DAT_DTO_ERR_REMOTE_ACCESS) {
            throw Failure("fetch and add on memory without DAT_IB_MEM_PRIV_REMOTE_ATOMIC",
                          status_name(status), "DAT_DTO_ERR_REMOTE_ACCESS", kFault);
        }
    }
    context.other.exchange("refusal");
    require_word("the word without the privilege", word_at(plain.at(0)), kStart);
    connection.release();
    plain.free();
    return "without DAT_IB_MEM_PRIV_REMOTE_ATOMIC DAT_DTO_ERR_REMOTE_ACCESS; the memory is as it "
           "was, and the connection broke, as it must (of which the library may have warned)";
}

}  // namespace

const std::vector<Check> kAtomicChecks = {
    {"compare and swap", lacks_compare_and_swap, check_compare_and_swap, "CMP_SWAP"},
    {"fetch and add", lacks_fetch_and_add, check_fetch_and_add, "FETCH_ADD"},
    {"atomic operations at once", lacks_fetch_and_add, check_concurrent},
    {"atomic operations that are refused", lacks_refusals, check_refusals},
    {"privilege of atomic operations", lacks_fetch_and_add, check_privilege},
};

}  // namespace dtest_ext
