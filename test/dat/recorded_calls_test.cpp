// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Calls that libdat2 answers without a provider are in the trace; those that the handle decides
/// are in handle_test.cpp.
#include <dat2/dat_extensions.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_trclvl.h>
#include <dat2/udat.h>
#include <gtest/gtest.h>

#include "support/trace/trace_level.hpp"
#include "test/dat/recorded_calls.hpp"

namespace {

using test::expect_recorded;

TEST(RecordedCalls, StrerrorIsRecordedWithTheCodeThatItNames) {
    const char *major = nullptr, *minor = nullptr;
    ASSERT_EQ(dat_strerror(0x80060026, &major, &minor), DAT_RETURN{DAT_SUCCESS});
    expect_recorded("strerror", 0, DAT_SUCCESS);
    EXPECT_EQ(test::last_records(2)[0].values[0], 0x80060026u);
    const DAT_RETURN code = dat_strerror(0x80060026, nullptr, nullptr);
    ASSERT_NE(code, DAT_RETURN{DAT_SUCCESS});
    expect_recorded("strerror", 0, code);
}

TEST(RecordedCalls, CallsOfTheRegistryAreRecorded) {
    const DAT_RETURN listed = dat_registry_list_providers(0, nullptr, nullptr);
    expect_recorded("registry_list_providers", 0, listed);
    const DAT_RETURN related = dat_registry_providers_related(nullptr, nullptr, nullptr);
    ASSERT_NE(related, DAT_RETURN{DAT_SUCCESS});
    expect_recorded("registry_providers_related", 0, related);
}

TEST(RecordedCalls, QueriesAndChangesOfTheTraceLevelsAreRecorded) {
    const DAT_RETURN queried = dat_trclvl_query(nullptr, nullptr, nullptr);
    expect_recorded("trclvl_query", 0, queried);
    const DAT_RETURN changed = dat_trclvl_modify(nullptr, -1, -1);
    expect_recorded("trclvl_modify", 0, changed);
}

TEST(RecordedCalls, ARefusedExtensionIsRecordedAsAnExtensionIs) {
    const auto handle = reinterpret_cast<DAT_HANDLE>(std::uintptr_t{8});
    const auto operation = static_cast<DAT_EXTENDED_OP>(1);
    const auto proposed = static_cast<DAT_EXT_OP>(DAT_EXT_CMP_AND_SWAP + 1);
    const std::uint64_t before = test::time_of_last_record();
    dat_extension_op(handle, operation);
    dat_extension(handle, proposed);
    EXPECT_EQ(test::time_of_last_record(), before) << "the data path is recorded from level 6 on";
    const int level = support::trace_level();
    support::set_trace_level(support::kDataPathLevel);
    expect_recorded("handle_extendedop", 8, dat_extension_op(handle, operation));
    EXPECT_EQ(dat_extension(handle, proposed), DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
    expect_recorded("handle_extendedop", 8, DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED);
    support::set_trace_level(level);
}

TEST(RecordedCalls, AnOpenQueryThatFailsIsRecorded) {
    const auto operation = static_cast<DAT_EXTENDED_OP>(DAT_OPEN_EXTENSION_BASE);
    const DAT_RETURN code =
        dat_extension_op(DAT_HANDLE_NULL, operation, static_cast<DAT_NAME_PTR>(nullptr));
    ASSERT_NE(code, DAT_RETURN{DAT_SUCCESS});
    expect_recorded("handle_extendedop", 0, code);
}

}  // namespace
