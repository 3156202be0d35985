// SPDX-License-Identifier: BSD-2-Clause
// Attributes without an open adapter instance: dat_ib_open_query() and dat_ib_close_query().
#include <dat2/dat_ib_extensions.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "test/api/side.hpp"
#include "test/support/threads.hpp"

namespace {

using namespace test;

constexpr auto kAllOfIa = DAT_IA_FIELD_ALL;
constexpr auto kAllOfProvider = DAT_PROVIDER_FIELD_ALL;

bool is_loaded() {
    for (const char* name : {"libdaplsoft.so.2", "libdaplofa.so.2", "libdaploscm.so.2"}) {
        void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
        if (library) dlclose(library);
        if (library) return true;
    }
    return false;
}

class Query : public testing::Test {
  protected:
    DAT_RETURN open(const char* name, DAT_IA_HANDLE* into) {
        return dat_ib_open_query(const_cast<char*>(name), into, kAllOfIa, &ia_attributes,
                                 kAllOfProvider, &provider_attributes);
    }
    TemporaryFabric fabric;
    DAT_IA_ATTR ia_attributes{};
    DAT_PROVIDER_ATTR provider_attributes{};
    DAT_IA_HANDLE query = DAT_HANDLE_NULL;
};

TEST_F(Query, AnswersWhatAnOpenInstanceAnswersAndLeavesNothing) {
    succeed(open(test::ia_name(), &query), "the first one");
    succeed(dat_ib_close_query(query), "its end");
    const int before = threads();  // includes one that a sanitizer starts with the first
    ASSERT_EQ(open(test::ia_name(), &query), DAT_SUCCESS);
    {
        Side side;
        DAT_IA_ATTR ia{};
        DAT_PROVIDER_ATTR provider{};
        ASSERT_EQ(dat_ia_query(side.ia, nullptr, kAllOfIa, &ia, kAllOfProvider, &provider),
                  DAT_SUCCESS);
        EXPECT_STREQ(ia_attributes.adapter_name, ia.adapter_name);
        EXPECT_EQ(ia_attributes.max_eps, ia.max_eps);
        EXPECT_EQ(ia_attributes.max_evd_qlen, ia.max_evd_qlen);
        EXPECT_EQ(ia_attributes.extension_supported, ia.extension_supported);
        EXPECT_STREQ(provider_attributes.provider_name, test::ia_name());
        EXPECT_EQ(provider_attributes.max_private_data_size, provider.max_private_data_size);
        ASSERT_EQ(provider_attributes.num_provider_specific_attr,
                  provider.num_provider_specific_attr);
        for (int i = 0; i < provider.num_provider_specific_attr; ++i)
            EXPECT_STREQ(provider_attributes.provider_specific_attr[i].value,
                         provider.provider_specific_attr[i].value);
    }
    EXPECT_TRUE(is_loaded());
    EXPECT_EQ(dat_ib_close_query(query), DAT_SUCCESS);
    EXPECT_EQ(threads(), before);
    EXPECT_FALSE(is_loaded());
}

TEST_F(Query, SeveralAreOpenAtOnceAndEachIsClosedOnce) {
    DAT_IA_HANDLE other = DAT_HANDLE_NULL;
    ASSERT_EQ(open(test::ia_name(), &query), DAT_SUCCESS);
    ASSERT_EQ(open(test::ia_name(), &other), DAT_SUCCESS);
    EXPECT_NE(query, other);
    EXPECT_EQ(dat_ib_close_query(query), DAT_SUCCESS);
    EXPECT_EQ(dat_ib_close_query(query), 0x8005000Bu);
    EXPECT_EQ(dat_ib_close_query(other), DAT_SUCCESS);
    EXPECT_FALSE(is_loaded());
    EXPECT_EQ(dat_ib_close_query(DAT_HANDLE_NULL), 0x8005000Bu);
}

TEST_F(Query, ItsHandleIsNoneOfAnOpenInstance) {
    ASSERT_EQ(open(test::ia_name(), &query), DAT_SUCCESS);
    EXPECT_EQ(dat_ia_close(query, DAT_CLOSE_ABRUPT_FLAG), 0x8005000Bu);
    Side side;
    EXPECT_EQ(dat_ib_close_query(side.ia), 0x8005000Bu) << "nor the other way round";
    EXPECT_EQ(dat_ib_close_query(side.pz), 0x8005000Bu);
    EXPECT_EQ(dat_ib_close_query(query), DAT_SUCCESS);
}

TEST_F(Query, ARefusedOneLeavesNothingOpen) {
    EXPECT_EQ(dat_ib_open_query(nullptr, &query, 0, nullptr, 0, nullptr), 0x80050027u);
    const auto name = const_cast<char*>(test::ia_name());
    EXPECT_EQ(dat_ib_open_query(name, nullptr, 0, nullptr, 0, nullptr), 0x80060028u);
    EXPECT_EQ(dat_ib_open_query(name, &query, kAllOfIa, nullptr, 0, nullptr), 0x80060028u);
    EXPECT_EQ(dat_ib_open_query(name, &query, 0, nullptr, kAllOfProvider, nullptr), 0x8006002Au);
    EXPECT_EQ(dat_ib_open_query(name, &query, ~kAllOfIa, &ia_attributes, 0, nullptr), 0x80060027u);
    EXPECT_EQ(query, DAT_HANDLE_NULL);
    EXPECT_FALSE(is_loaded());
    const std::string said =
        captured_stderr([&] { EXPECT_EQ(open("no-such-ia", &query), 0x800A0064u); });
    EXPECT_NE(said.find("DAT003"), std::string::npos) << said;
    EXPECT_EQ(dat_ib_open_query(name, &query, 0, nullptr, 0, nullptr), DAT_SUCCESS)
        << "a mask of 0 asks for nothing";
    EXPECT_EQ(dat_ib_close_query(query), DAT_SUCCESS);
}

}  // namespace
