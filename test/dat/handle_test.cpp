// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The thin functions: each passes its arguments to its own slot of the provider's table, and
/// itself rejects a value that is not a handle. The provider is a table of this process.
#include <dat2/udat.h>
#include <dat2/udat_redirection.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dat/registry/ia_handles.hpp"
#include "support/trace/trace_level.hpp"
#include "support/trace/trace_slots.hpp"
#include "test/dat/recorded_calls.hpp"

// Every call that is passed on, with the kind of its handle. clang-format would take the rows for
// one expression.
// clang-format off
#define ALL_CALLS(CALL) \
    CALL(ia_query, _IA)                      \
    CALL(cno_create, _IA)                    \
    CALL(cno_modify_agent, _CNO)             \
    CALL(cno_query, _CNO)                    \
    CALL(cno_free, _CNO)                     \
    CALL(cno_wait, _CNO)                     \
    CALL(cr_query, _CR)                      \
    CALL(cr_accept, _CR)                     \
    CALL(cr_reject, _CR)                     \
    CALL(cr_handoff, _CR)                    \
    CALL(evd_create, _IA)                    \
    CALL(evd_query, _EVD_REQUEST)            \
    CALL(evd_modify_cno, _EVD_REQUEST)       \
    CALL(evd_enable, _EVD_REQUEST)           \
    CALL(evd_disable, _EVD_REQUEST)          \
    CALL(evd_wait, _EVD_REQUEST)             \
    CALL(evd_resize, _EVD_REQUEST)           \
    CALL(evd_post_se, _EVD_REQUEST)          \
    CALL(evd_dequeue, _EVD_REQUEST)          \
    CALL(evd_free, _EVD_REQUEST)             \
    CALL(ep_create, _IA)                     \
    CALL(ep_query, _EP)                      \
    CALL(ep_modify, _EP)                     \
    CALL(ep_connect, _EP)                    \
    CALL(ep_dup_connect, _EP)                \
    CALL(ep_disconnect, _EP)                 \
    CALL(ep_post_send, _EP)                  \
    CALL(ep_post_recv, _EP)                  \
    CALL(ep_post_rdma_read, _EP)             \
    CALL(ep_post_rdma_write, _EP)            \
    CALL(ep_get_status, _EP)                 \
    CALL(ep_free, _EP)                       \
    CALL(lmr_create, _IA)                    \
    CALL(lmr_query, _LMR)                    \
    CALL(lmr_free, _LMR)                     \
    CALL(rmr_create, _PZ)                    \
    CALL(rmr_query, _RMR)                    \
    CALL(rmr_bind, _RMR)                     \
    CALL(rmr_free, _RMR)                     \
    CALL(psp_create, _IA)                    \
    CALL(psp_query, _PSP)                    \
    CALL(psp_free, _PSP)                     \
    CALL(rsp_create, _IA)                    \
    CALL(rsp_query, _RSP)                    \
    CALL(rsp_free, _RSP)                     \
    CALL(pz_create, _IA)                     \
    CALL(pz_query, _PZ)                      \
    CALL(pz_free, _PZ)                       \
    CALL(psp_create_any, _IA)                \
    CALL(ep_reset, _EP)                      \
    CALL(evd_set_unwaitable, _EVD_REQUEST)   \
    CALL(evd_clear_unwaitable, _EVD_REQUEST) \
    CALL(lmr_sync_rdma_read, _IA)            \
    CALL(lmr_sync_rdma_write, _IA)           \
    CALL(ep_create_with_srq, _IA)            \
    CALL(ep_recv_query, _EP)                 \
    CALL(ep_set_watermark, _EP)              \
    CALL(srq_create, _IA)                    \
    CALL(srq_free, _SRQ)                     \
    CALL(srq_post_recv, _SRQ)                \
    CALL(srq_query, _SRQ)                    \
    CALL(srq_resize, _SRQ)                   \
    CALL(srq_set_lw, _SRQ)                   \
    CALL(csp_create, _IA)                    \
    CALL(csp_query, _CSP)                    \
    CALL(csp_free, _CSP)                     \
    CALL(ep_common_connect, _EP)             \
    CALL(rmr_create_for_ep, _PZ)             \
    CALL(ep_post_send_with_invalidate, _EP)  \
    CALL(ep_post_rdma_read_to_rmr, _EP)      \
    CALL(cno_fd_create, _IA)                 \
    CALL(cno_trigger, _CNO)                  \
    CALL(set_consumer_context, 1)            \
    CALL(get_consumer_context, 1)            \
    CALL(get_handle_type, 1)
// clang-format on

namespace {

constexpr DAT_RETURN kAnswer = 0x12345678;  // not one of libdat2's own codes

struct Object {
    const DAT_PROVIDER* table;
};

std::string g_slot;  // slot that was called last

/// A value for an argument: 1 for an enum, else one that depends on the position.
template <class T>
T value_for(std::size_t position) {
    T value{};
    if constexpr (std::is_enum_v<T>)
        value = static_cast<T>(1);
    else
        std::memset(static_cast<void*>(&value), static_cast<int>(position + 1), sizeof value);
    return value;
}

template <class... A, std::size_t... I>
std::tuple<A...> arguments_for(std::index_sequence<I...>) {
    return {value_for<A>(I)...};
}

template <class... A>
std::tuple<A...> arguments_with(DAT_HANDLE handle) {
    std::tuple<A...> arguments = arguments_for<A...>(std::index_sequence_for<A...>{});
    std::get<0>(arguments) = handle;
    return arguments;
}

template <class... A, std::size_t... I>
bool same_bytes(const std::tuple<A...>& one, const std::tuple<A...>& other,
                std::index_sequence<I...>) {
    return ((std::memcmp(&std::get<I>(one), &std::get<I>(other), sizeof(A)) == 0) && ...);
}

/// A function of the interface and its slot in the table.
template <auto function, auto slot>
struct Pair;

template <class... A, DAT_RETURN (*function)(A...), DAT_RETURN (*DAT_PROVIDER::*slot)(A...)>
struct Pair<function, slot> {
    static inline const char* name;
    static inline std::tuple<A...> arrived;

    static DAT_RETURN record(A... arguments) {
        g_slot = name;
        arrived = std::tuple<A...>{arguments...};
        return kAnswer;
    }
    static void fill_slot(DAT_PROVIDER& table, const char* called) {
        name = called;
        table.*slot = record;
    }
    static DAT_RETURN call_with(DAT_HANDLE handle) {
        return std::apply(function, arguments_with<A...>(handle));
    }
    static bool arrived_with(DAT_HANDLE handle) {
        return same_bytes(arrived, arguments_with<A...>(handle), std::index_sequence_for<A...>{});
    }
};

struct Call {
    const char* name;
    DAT_RETURN_SUBTYPE kind;
    void (*fill_slot)(DAT_PROVIDER&, const char*);
    DAT_RETURN (*call_with)(DAT_HANDLE);
    bool (*arrived_with)(DAT_HANDLE);
    bool on_data_path;
};

template <class P>
Call make_call(const char* name, DAT_RETURN_SUBTYPE kind, support::TracePath path) {
    return {
        name, kind, P::fill_slot, P::call_with, P::arrived_with, path == support::TracePath::kData};
}

const std::vector<Call> kCalls = {
#define CALL(name, kind)                                      \
    make_call<Pair<&dat_##name, &DAT_PROVIDER::name##_func>>( \
        #name, DAT_INVALID_HANDLE##kind, support::kTraceSlot<&DAT_PROVIDER::name##_func>.path),
    ALL_CALLS(CALL)
#undef CALL
};

DAT_HANDLE handle_of(std::uintptr_t number) {
    return reinterpret_cast<DAT_HANDLE>(number);
}

class Handle : public testing::Test {
  protected:
    void SetUp() override {
        for (const Call& call : kCalls) call.fill_slot(table, call.name);
        ia = dat::add_ia(&object);
        g_slot.clear();
    }
    void TearDown() override { dat::remove_ia(ia); }

    /// @return the handle that a consumer passes to this call.
    DAT_HANDLE consumer_handle(const Call& call) {
        return call.kind == DAT_INVALID_HANDLE_IA ? ia : static_cast<DAT_HANDLE>(&object);
    }

    static void expect_invalid(const Call& call, DAT_HANDLE handle) {
        EXPECT_EQ(call.call_with(handle),
                  DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_RETURN{call.kind})
            << "dat_" << call.name << " with " << handle;
        EXPECT_EQ(g_slot, "");
    }

    DAT_PROVIDER table{};
    Object object{&table};
    DAT_IA_HANDLE ia = nullptr;
};

TEST_F(Handle, EachCallReachesItsSlotWithItsArgumentsUnchanged) {
    ASSERT_EQ(kCalls.size(), 75u);
    for (const Call& call : kCalls) {
        EXPECT_EQ(call.call_with(consumer_handle(call)), kAnswer) << call.name;
        EXPECT_EQ(g_slot, call.name);
        EXPECT_TRUE(call.arrived_with(&object)) << call.name;
    }
}

TEST_F(Handle, NullIsAnsweredWithTheKindThatWasExpected) {
    for (const Call& call : kCalls) expect_invalid(call, DAT_HANDLE_NULL);
}

TEST_F(Handle, ASmallIntegerIsAnsweredLikeNull) {
    for (const Call& call : kCalls)
        for (const std::uintptr_t number : {2, 8, 64, 4095})
            expect_invalid(call, handle_of(number));
}

TEST_F(Handle, AMisalignedPointerIsAnsweredLikeNull) {
    char* const address = reinterpret_cast<char*>(&object);
    for (const Call& call : kCalls)
        for (const int bits : {1, 2, 4, 7}) expect_invalid(call, address + bits);
}

TEST_F(Handle, AnObjectOfAnUnloadedProviderIsAnsweredLikeNull) {
    Object orphan{nullptr};
    const DAT_IA_HANDLE orphan_ia = dat::add_ia(&orphan);
    for (const Call& call : kCalls)
        expect_invalid(call, call.kind == DAT_INVALID_HANDLE_IA ? orphan_ia : &orphan);
    dat::remove_ia(orphan_ia);
}

TEST_F(Handle, AnEmptySlotIsAnsweredAsNotImplemented) {
    table = {};
    for (const Call& call : kCalls)
        EXPECT_EQ(call.call_with(consumer_handle(call)), DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED)
            << call.name;
}

TEST_F(Handle, ACallThatReachesNoSlotIsRecordedLikeOneThatDoes) {
    const int level = support::trace_level();
    support::set_trace_level(support::kDataPathLevel);
    for (const Call& call : kCalls)
        test::expect_recorded(call.name, 8, call.call_with(handle_of(8)));
    table = {};
    for (const Call& call : kCalls) {
        const DAT_HANDLE handle = consumer_handle(call);
        test::expect_recorded(call.name, reinterpret_cast<std::uintptr_t>(handle),
                              call.call_with(handle));
    }
    support::set_trace_level(level);
}

TEST_F(Handle, ACallOfTheDataPathThatReachesNoSlotIsNotRecordedBelowItsLevel) {
    for (const Call& call : kCalls) {
        if (!call.on_data_path) continue;
        const std::uint64_t before = test::time_of_last_record();
        expect_invalid(call, DAT_HANDLE_NULL);
        EXPECT_EQ(test::time_of_last_record(), before) << call.name;
    }
}

TEST_F(Handle, CallsForAnyKindTakeTheIntegerOfAnOpenIa) {
    for (const Call& call : kCalls) {
        if (call.kind != DAT_INVALID_HANDLE1) continue;
        EXPECT_EQ(call.call_with(ia), kAnswer) << call.name;
        EXPECT_TRUE(call.arrived_with(&object)) << call.name;
    }
}

TEST_F(Handle, AClosedIaIsAnsweredLikeNull) {
    dat::remove_ia(ia);
    for (const Call& call : kCalls) expect_invalid(call, ia);
}

TEST_F(Handle, TheProvidersOwnPointerIsNoIaHandle) {
    for (const Call& call : kCalls)
        if (call.kind == DAT_INVALID_HANDLE_IA) expect_invalid(call, &object);
}

}  // namespace
