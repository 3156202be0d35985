// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Names of return codes: programs print them and compare the major ones.
#include <dat2/udat.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Enumerator {
    std::string name;
    DAT_UINT32 value;
};

/// The enumerators of one enum, from the table that the headers are checked against.
std::vector<Enumerator> enumerators(const std::string& tag) {
    std::ifstream table(std::string(getenv("TOP_SRCDIR")) + "/test/dat/abi.tsv");
    std::vector<Enumerator> result;
    for (std::string line; std::getline(table, line);) {
        std::istringstream fields(line);
        std::string kind, name, member, offset, size, value;
        for (std::string* field : {&kind, &name, &member, &offset, &size, &value})
            std::getline(fields, *field, '\t');
        if (kind == "enumerator" && name == tag)
            result.push_back({member, static_cast<DAT_UINT32>(std::stoul(value))});
    }
    return result;
}

struct Answer {
    DAT_RETURN status;
    std::string major, minor;
};

Answer strerror_of(DAT_RETURN code) {
    const char* major = "untouched";
    const char* minor = "untouched";
    const DAT_RETURN status = dat_strerror(code, &major, &minor);
    return {status, major, minor};
}

TEST(Strerror, NamesEveryType) {
    const auto types = enumerators("dat_return_type");
    ASSERT_GE(types.size(), 26u);
    for (const Enumerator& type : types) {
        if (type.name == "DAT_EXTENSION_BASE") continue;  // named by dat_strerror_extension
        const Answer answer = strerror_of(type.value);
        EXPECT_EQ(answer.status, DAT_RETURN{DAT_SUCCESS}) << type.name;
        EXPECT_EQ(answer.major, type.name);
        EXPECT_EQ(answer.minor, "");
    }
}

TEST(Strerror, NamesEverySubtype) {
    const auto subtypes = enumerators("dat_return_subtype");
    ASSERT_EQ(subtypes.size(), 104u);
    for (const Enumerator& subtype : subtypes) {
        const Answer answer = strerror_of(DAT_INVALID_STATE | subtype.value);
        EXPECT_EQ(answer.status, DAT_RETURN{DAT_SUCCESS}) << subtype.name;
        EXPECT_EQ(answer.major, "DAT_INVALID_STATE");
        EXPECT_EQ(answer.minor, subtype.value == 0 ? "" : subtype.name);
    }
}

TEST(Strerror, IgnoresTheClass) {
    for (const DAT_UINT32 bits : {0x80000000u, 0x40000000u, 0xC0000000u}) {
        const Answer answer = strerror_of(bits | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EP);
        EXPECT_EQ(answer.status, DAT_RETURN{DAT_SUCCESS});
        EXPECT_EQ(answer.major, "DAT_INVALID_HANDLE");
        EXPECT_EQ(answer.minor, "DAT_INVALID_HANDLE_EP");
    }
}

TEST(Strerror, SaysSoWhenACodeIsUnknown) {
    const Answer type = strerror_of(0x00180000);
    EXPECT_EQ(type.status, DAT_RETURN{DAT_INVALID_PARAMETER});
    EXPECT_EQ(type.major, "unknown error");
    EXPECT_EQ(type.minor, "");
    const Answer subtype = strerror_of(DAT_INVALID_STATE | 104);
    EXPECT_EQ(subtype.status, DAT_RETURN{DAT_INVALID_PARAMETER});
    EXPECT_EQ(subtype.major, "DAT_INVALID_STATE");
    EXPECT_EQ(subtype.minor, "unknown minor error");
}

TEST(Strerror, TakesNullForWhatIsNotWanted) {
    const char* major = nullptr;
    EXPECT_EQ(dat_strerror(DAT_ABORT, &major, nullptr), DAT_RETURN{DAT_SUCCESS});
    EXPECT_STREQ(major, "DAT_ABORT");
    EXPECT_EQ(dat_strerror(DAT_ABORT, nullptr, nullptr), 0x80060026u);
}

}  // namespace
