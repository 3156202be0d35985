// SPDX-License-Identifier: BSD-2-Clause
// The IA attributes of uDAPL on AIX, and the functions to which two of them point.
#include <dat2/dat_ib_extensions.h>
#include <gtest/gtest.h>

#include <cctype>

#include "test/support/named.hpp"

namespace {

using namespace test;

constexpr DAT_RETURN kNoSuchIa = 0x8005000Bu;
constexpr DAT_RETURN kBadArgument2 = 0x80060026u;
constexpr DAT_RETURN kBadArgument3 = 0x80060027u;

DAT_TRCLVL_QUERY_FUNC query_function(const char* value) {
    return reinterpret_cast<DAT_TRCLVL_QUERY_FUNC>(const_cast<char*>(value));
}
DAT_TRCLVL_MODIFY_FUNC modify_function(const char* value) {
    return reinterpret_cast<DAT_TRCLVL_MODIFY_FUNC>(const_cast<char*>(value));
}

struct Levels {
    int dat = -2;
    int dapl = -2;
    bool operator==(const Levels& other) const { return dat == other.dat && dapl == other.dapl; }
};

/// Restores both trace levels after each test.
class TraceLevels : public testing::Test {
  protected:
    ~TraceLevels() override { dat_trclvl_modify(side.ia, before.dat, before.dapl); }

    Levels levels() const {
        Levels found;
        succeed(dat_trclvl_query(side.ia, &found.dat, &found.dapl), "dat_trclvl_query");
        return found;
    }

    TemporaryFabric fabric;
    Side side;
    const Levels before = levels();
    DAT_TRCLVL_QUERY_FUNC query = query_function(provider_value(side.ia, DAT_ATTR_DEBUG_QUERY));
    DAT_TRCLVL_MODIFY_FUNC modify = modify_function(provider_value(side.ia, DAT_ATTR_DEBUG_MODIFY));
};

TEST_F(TraceLevels, TheAttributesStandAmongTheVendorsAndTheProvidersOnes) {
    for (const char* name :
         {DAT_ATTR_DELAYED_ACK_SUPPORTED, DAT_ATTR_VENDOR_EXTENSION, DAT_ATTR_VENDOR_EXT_VERSION,
          DAT_ATTR_DEBUG_QUERY, DAT_ATTR_DEBUG_MODIFY})
        EXPECT_STREQ(provider_value(side.ia, name), vendor_value(side, name)) << name;
    EXPECT_STREQ(vendor_value(side, "vendor_extension"), "true");
    EXPECT_STREQ(vendor_value(side, "vendor_ext_version"), "1.0");
    EXPECT_EQ(vendor_value(side, "debug_query"), provider_value(side.ia, "debug_query"))
        << "the same function";
    EXPECT_EQ(vendor_value(side, "debug_modify"), provider_value(side.ia, "debug_modify"));
}

TEST_F(TraceLevels, AnAddressAmongTheAttributesPrintsAsOneCharacter) {
    for (const char* name : {"debug_query", "debug_modify"}) {
        const char* value = vendor_value(side, name);
        char printed[16];
        ASSERT_EQ(snprintf(printed, sizeof printed, "%s", value), 1) << name;
        EXPECT_TRUE(isprint(static_cast<unsigned char>(printed[0]))) << name;
    }
}

TEST_F(TraceLevels, TheFunctionsBehindTheAttributesReadAndChangeBothLevels) {
    EXPECT_EQ(modify(side.ia, 4, 6), DAT_SUCCESS);
    Levels found;
    EXPECT_EQ(query(side.ia, &found.dat, &found.dapl), DAT_SUCCESS);
    EXPECT_EQ(found, (Levels{4, 6}));
    EXPECT_EQ(levels(), (Levels{4, 6})) << "the exported functions see the same levels";
    EXPECT_EQ(dat_trclvl_modify(side.ia, 0, 10), DAT_SUCCESS);
    EXPECT_EQ(query(side.ia, &found.dat, &found.dapl), DAT_SUCCESS);
    EXPECT_EQ(found, (Levels{0, 10})) << "and the other way round";
}

TEST_F(TraceLevels, TheLevelsOfAixHaveTheirNamesAndNumbers) {
    static_assert(TRC_LVL_ERROR == 1 && TRC_LVL_NORMAL == 3 && TRC_LVL_DETAIL == 7);
    EXPECT_EQ(modify(side.ia, TRC_LVL_ERROR, TRC_LVL_DETAIL), DAT_SUCCESS);
    EXPECT_EQ(levels(), (Levels{1, 7}));
    EXPECT_EQ(before.dapl, TRC_LVL_NORMAL) << "the default";
}

TEST_F(TraceLevels, MinusOneLeavesALevelAndNullAsksForNone) {
    for (const DAT_TRCLVL_MODIFY_FUNC change : {modify, &dat_trclvl_modify}) {
        ASSERT_EQ(change(side.ia, 2, 5), DAT_SUCCESS);
        EXPECT_EQ(change(side.ia, 4, -1), DAT_SUCCESS);
        EXPECT_EQ(levels(), (Levels{4, 5}));
        EXPECT_EQ(change(side.ia, -1, 6), DAT_SUCCESS);
        EXPECT_EQ(levels(), (Levels{4, 6}));
        EXPECT_EQ(change(side.ia, -1, -1), DAT_SUCCESS);
        EXPECT_EQ(levels(), (Levels{4, 6}));
    }
    for (const DAT_TRCLVL_QUERY_FUNC ask : {query, &dat_trclvl_query}) {
        int level = -2;
        EXPECT_EQ(ask(side.ia, &level, nullptr), DAT_SUCCESS);
        EXPECT_EQ(level, 4);
        EXPECT_EQ(ask(side.ia, nullptr, &level), DAT_SUCCESS);
        EXPECT_EQ(level, 6);
        EXPECT_EQ(ask(side.ia, nullptr, nullptr), DAT_SUCCESS);
    }
}

TEST_F(TraceLevels, OutOfRangeIsRefusedAndChangesNothing) {
    for (const DAT_TRCLVL_MODIFY_FUNC change : {modify, &dat_trclvl_modify}) {
        for (const int wrong : {-2, 11, 1 << 30, INT32_MIN}) {
            EXPECT_EQ(change(side.ia, wrong, 5), kBadArgument2) << wrong;
            EXPECT_EQ(change(side.ia, 5, wrong), kBadArgument3) << wrong;
            EXPECT_EQ(change(side.ia, wrong, wrong), kBadArgument2) << wrong;
        }
    }
    EXPECT_EQ(levels(), before);
}

TEST_F(TraceLevels, WhatIsNoOpenInstanceIsRefused) {
    const auto number = [](std::uintptr_t value) { return reinterpret_cast<DAT_IA_HANDLE>(value); };
    Side closed;
    const DAT_IA_HANDLE gone = closed.ia;
    closed.close();
    for (const DAT_IA_HANDLE wrong :
         {number(0), number(77), number(4096), number(65535), gone, side.pz, side.sends}) {
        int level = -2;
        EXPECT_EQ(query(wrong, &level, &level), kNoSuchIa) << wrong;
        EXPECT_EQ(modify(wrong, 5, 5), kNoSuchIa) << wrong;
        EXPECT_EQ(dat_trclvl_query(wrong, &level, nullptr), kNoSuchIa) << wrong;
        EXPECT_EQ(dat_trclvl_query(wrong, &level, &level), kNoSuchIa) << wrong;
        EXPECT_EQ(dat_trclvl_modify(wrong, 5, -1), kNoSuchIa) << wrong;
        EXPECT_EQ(dat_trclvl_modify(wrong, 5, 5), kNoSuchIa) << wrong;
        EXPECT_EQ(level, -2);
    }
    EXPECT_EQ(levels(), before);
}

TEST_F(TraceLevels, TheInstanceOfAnOpenQueryIsOne) {
    DAT_IA_HANDLE instance = DAT_HANDLE_NULL;
    DAT_IA_ATTR attributes{};
    ASSERT_EQ(dat_ib_open_query(const_cast<char*>(ia_name()), &instance, DAT_IA_FIELD_ALL,
                                &attributes, 0, nullptr),
              DAT_SUCCESS);
    const auto ask =
        query_function(value_of(attributes.vendor_attr, attributes.num_vendor_attr, "debug_query"));
    Levels found;
    EXPECT_EQ(ask(instance, &found.dat, &found.dapl), DAT_SUCCESS);
    EXPECT_EQ(found, before);
    EXPECT_EQ(dat_trclvl_query(instance, &found.dat, &found.dapl), DAT_SUCCESS);
    EXPECT_EQ(found, before);
    EXPECT_EQ(dat_ib_close_query(instance), DAT_SUCCESS);
}

/// Opens another adapter instance. @return its output: at level 5 the provider reports its device.
std::string told_by_an_open() {
    return captured_stderr([] { Side another; });
}

TEST_F(TraceLevels, TheProviderFollowsItsLevelAtOnce) {
    ASSERT_EQ(modify(side.ia, -1, 5), DAT_SUCCESS);
    EXPECT_NE(told_by_an_open().find("soft0"), std::string::npos);
    ASSERT_EQ(modify(side.ia, -1, 3), DAT_SUCCESS);
    EXPECT_EQ(told_by_an_open(), "");
    ASSERT_EQ(modify(side.ia, 7, -1), DAT_SUCCESS);
    EXPECT_EQ(told_by_an_open().find("soft0, port"), std::string::npos) << "libdat2's is another";
}

TEST_F(TraceLevels, Libdat2FollowsItsLevelAtOnce) {
    const auto failed_open = [] {
        return captured_stderr([] {
            DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
            DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
            EXPECT_NE(dat_ia_open(const_cast<char*>("no-such-ia"), 8, &async, &ia), DAT_SUCCESS);
        });
    };
    ASSERT_EQ(modify(side.ia, 0, -1), DAT_SUCCESS);
    EXPECT_EQ(failed_open(), "");
    ASSERT_EQ(modify(side.ia, 7, -1), DAT_SUCCESS);
    EXPECT_NE(failed_open().find("DAT003"), std::string::npos);
}

}  // namespace
