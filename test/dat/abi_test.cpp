// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The sources that abi.awk generates from abi.tsv check most of it while they are compiled. What
/// is left to check at run time: that they covered every row, and values that are not constant
/// expressions.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

struct AbiCount {
    const char* kind;
    int rows;
};

extern "C" {
extern const AbiCount abi_counts_c[];
extern const AbiCount abi_counts_cxx[];
const char* abi_values_c();
const char* abi_values_cxx();
}

namespace {

using Counts = std::map<std::string, int>;

Counts checked(const AbiCount* counts) {
    Counts result;
    for (; counts->kind; ++counts) result[counts->kind] = counts->rows;
    return result;
}

Counts rows_of_the_table() {
    std::ifstream table(std::string(getenv("TOP_SRCDIR")) + "/test/dat/abi.tsv");
    Counts counts;
    std::string line;
    std::getline(table, line);  // names of the columns
    while (std::getline(table, line)) ++counts[line.substr(0, line.find('\t'))];
    return counts;
}

TEST(Abi, EveryRowOfTheTableIsCheckedInC) {
    ASSERT_GT(rows_of_the_table()["member"], 300);
    EXPECT_EQ(checked(abi_counts_c), rows_of_the_table());
    EXPECT_STREQ(abi_values_c(), nullptr);
}

TEST(Abi, EveryRowOfTheTableIsCheckedInCxx) {
    EXPECT_EQ(checked(abi_counts_cxx), rows_of_the_table());
    EXPECT_STREQ(abi_values_cxx(), nullptr);
}

}  // namespace
