// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// dat_extension_op: arguments arrive as the macros pass them; queries by name find their provider
/// and release it again. The provider is a table of this process.
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <gtest/gtest.h>

#include <cstdarg>
#include <cstring>
#include <string>

#include "dat/registry/ia_handles.hpp"
#include "test/support/process.hpp"

namespace {

constexpr DAT_RETURN kAnswer = 0x12345678;  // not one of libdat2's own codes

struct Object {
    const DAT_PROVIDER* table;
};

/// Arguments that the provider received.
struct Arrived {
    DAT_HANDLE handle;
    DAT_EXTENDED_OP operation;
    DAT_UINT64 integers[2];
    DAT_LMR_TRIPLET* local;
    DAT_RMR_TRIPLET* remote;
    DAT_DTO_COOKIE cookie;
    DAT_COUNT segments;
    DAT_UINT32 immediate;
    int flags;
};

Arrived g_arrived;
DAT_RETURN g_answer;
Object g_query_object;

DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list arguments) {
    g_arrived = {};
    g_arrived.handle = handle;
    g_arrived.operation = operation;
    switch (operation) {
        case DAT_IB_CMP_AND_SWAP_OP:
            for (DAT_UINT64& integer : g_arrived.integers) integer = va_arg(arguments, DAT_UINT64);
            g_arrived.local = va_arg(arguments, DAT_LMR_TRIPLET*);
            g_arrived.cookie = va_arg(arguments, DAT_DTO_COOKIE);
            g_arrived.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
            g_arrived.flags = va_arg(arguments, int);
            break;
        case DAT_IB_RDMA_WRITE_IMMED_OP:
            g_arrived.segments = va_arg(arguments, DAT_COUNT);
            g_arrived.local = va_arg(arguments, DAT_LMR_TRIPLET*);
            g_arrived.cookie = va_arg(arguments, DAT_DTO_COOKIE);
            g_arrived.remote = va_arg(arguments, DAT_RMR_TRIPLET*);
            g_arrived.immediate = va_arg(arguments, DAT_UINT32);
            g_arrived.flags = va_arg(arguments, int);
            break;
        case DAT_IB_OPEN_QUERY_OP:
            *va_arg(arguments, DAT_IA_HANDLE*) = &g_query_object;
            g_arrived.integers[0] = va_arg(arguments, DAT_IA_ATTR_MASK);
            va_arg(arguments, DAT_IA_ATTR*);
            g_arrived.integers[1] = va_arg(arguments, DAT_PROVIDER_ATTR_MASK);
            break;
        default:
            break;
    }
    return g_answer;
}

class Extension : public testing::Test {
  protected:
    void SetUp() override {
        table.handle_extendedop_func = extended;
        object.table = &table;
        g_query_object.table = &table;
        g_answer = kAnswer;
        g_arrived = {};
        dat::note_extensions_offered();
    }

    DAT_PROVIDER table{};
    Object object{};
};

TEST(ExtensionFirst, NothingIsPassedOnBeforeAnIaWithExtensionsWasOpened) {
    ASSERT_FALSE(dat::extensions_offered());
    DAT_PROVIDER table{};
    table.handle_extendedop_func = extended;
    Object object{&table};
    EXPECT_EQ(dat_extension_op(&object, DAT_IB_UD_SEND_OP), 0xBFFF0000u);
    EXPECT_EQ(dat_ib_close_query(&object), 0xBFFF0000u);
    EXPECT_EQ(dat_extension_op(DAT_HANDLE_NULL, DAT_IB_UD_SEND_OP), 0x8005001Bu);
    EXPECT_EQ(dat_ib_start_counter(&object, DCNT_IA_CM), 0xBFFF0000u);
    const DAT_IA_HANDLE ia = dat::add_ia(&object);
    g_arrived = {};
    dat_ib_start_counter(ia, DCNT_IA_CM);
    dat::remove_ia(ia);
    EXPECT_EQ(g_arrived.handle, &object) << "counters are the provider's, not the device's";
}

TEST_F(Extension, ArgumentsArriveAsTheMacrosPassThem) {
    DAT_LMR_TRIPLET local{};
    DAT_RMR_TRIPLET remote{};
    DAT_DTO_COOKIE cookie;
    cookie.as_64 = 0x1122334455667788;
    EXPECT_EQ(dat_ib_post_cmp_and_swap(&object, UINT64_MAX, 7, &local, cookie, &remote,
                                       DAT_COMPLETION_SUPPRESS_FLAG),
              kAnswer);
    EXPECT_EQ(g_arrived.handle, &object);
    EXPECT_EQ(g_arrived.integers[0], UINT64_MAX);
    EXPECT_EQ(g_arrived.integers[1], 7u);
    EXPECT_EQ(g_arrived.local, &local);
    EXPECT_EQ(g_arrived.cookie.as_64, cookie.as_64);
    EXPECT_EQ(g_arrived.remote, &remote);
    EXPECT_EQ(g_arrived.flags, DAT_COMPLETION_SUPPRESS_FLAG);

    EXPECT_EQ(dat_ib_post_rdma_write_immed(&object, 3, &local, cookie, &remote, 0xFEDCBA98,
                                           DAT_COMPLETION_BARRIER_FENCE_FLAG),
              kAnswer);
    EXPECT_EQ(g_arrived.segments, 3);
    EXPECT_EQ(g_arrived.cookie.as_64, cookie.as_64);
    EXPECT_EQ(g_arrived.immediate, 0xFEDCBA98u);
    EXPECT_EQ(g_arrived.flags, DAT_COMPLETION_BARRIER_FENCE_FLAG);
}

TEST_F(Extension, TheIntegerOfAnIaBecomesTheProvidersHandle) {
    const DAT_IA_HANDLE ia = dat::add_ia(&object);
    EXPECT_EQ(dat_extension_op(ia, DAT_IB_START_COUNTERS_OP), kAnswer);
    EXPECT_EQ(g_arrived.handle, &object);
    dat::remove_ia(ia);
    EXPECT_EQ(dat_extension_op(ia, DAT_IB_START_COUNTERS_OP), 0x8005001Bu);
}

TEST_F(Extension, WhatIsNoHandleIsAnswered) {
    Object orphan{nullptr};
    char* const misaligned = reinterpret_cast<char*>(&object) + 1;
    for (DAT_HANDLE handle :
         {DAT_HANDLE_NULL, reinterpret_cast<DAT_HANDLE>(4095), static_cast<DAT_HANDLE>(misaligned),
          static_cast<DAT_HANDLE>(&orphan)}) {
        EXPECT_EQ(dat_extension_op(handle, DAT_IB_UD_SEND_OP), 0x8005001Bu) << handle;
        EXPECT_EQ(dat_ib_close_query(handle), 0x8005000Bu) << handle;
    }
    EXPECT_EQ(g_arrived.handle, nullptr);
}

TEST_F(Extension, AQueryByNameHoldsItsProviderUntilItIsClosed) {
    DAT_PROVIDER_INFO info = {"query0", 2, 0, DAT_FALSE};
    ASSERT_EQ(dat_registry_add_provider(&table, &info), DAT_RETURN{DAT_SUCCESS});
    char name[] = "query0";
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    DAT_IA_ATTR ia_attributes{};
    DAT_PROVIDER_ATTR provider_attributes{};
    g_answer = DAT_SUCCESS;
    ASSERT_EQ(dat_ib_open_query(name, &ia, DAT_IA_FIELD_ALL, &ia_attributes, DAT_PROVIDER_FIELD_ALL,
                                &provider_attributes),
              DAT_RETURN{DAT_SUCCESS});
    EXPECT_EQ(ia, &g_query_object);
    EXPECT_STREQ(static_cast<const char*>(g_arrived.handle), "query0");
    EXPECT_EQ(g_arrived.integers[0], DAT_IA_FIELD_ALL);
    EXPECT_EQ(g_arrived.integers[1], DAT_PROVIDER_FIELD_ALL);
    EXPECT_EQ(dat_registry_remove_provider(&table, &info), 0x80110000u);  // in use
    EXPECT_EQ(dat_ib_close_query(ia), DAT_RETURN{DAT_SUCCESS});
    EXPECT_EQ(g_arrived.handle, &g_query_object);
    EXPECT_EQ(dat_registry_remove_provider(&table, &info), DAT_RETURN{DAT_SUCCESS});
}

TEST_F(Extension, AQueryThatTheProviderRefusesHoldsNothing) {
    DAT_PROVIDER_INFO info = {"query1", 2, 0, DAT_FALSE};
    ASSERT_EQ(dat_registry_add_provider(&table, &info), DAT_RETURN{DAT_SUCCESS});
    char name[] = "query1";
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    EXPECT_EQ(dat_ib_open_query(name, &ia, 0, nullptr, 0, nullptr), kAnswer);
    EXPECT_EQ(dat_registry_remove_provider(&table, &info), DAT_RETURN{DAT_SUCCESS});
}

TEST_F(Extension, AQueryNeedsAKnownName) {
    DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
    char* const no_name = nullptr;
    EXPECT_EQ(dat_ib_open_query(no_name, &ia, 0, nullptr, 0, nullptr), 0x80050027u);
    std::string name(DAT_NAME_MAX_LENGTH, 'x');
    EXPECT_EQ(dat_ib_open_query(name.data(), &ia, 0, nullptr, 0, nullptr), 0x80060025u);
    name = "no such name";
    const std::string told = test::captured_stderr([&] {
        EXPECT_EQ(dat_ib_open_query(name.data(), &ia, 0, nullptr, 0, nullptr), 0x800A0064u);
    });
    EXPECT_NE(told.find("no such name"), std::string::npos) << told;
    EXPECT_EQ(ia, DAT_HANDLE_NULL);
}

}  // namespace
