// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The dat.conf reader: what it accepts, and how it reports what is wrong and where.
#include "dat/registry/dat_conf.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using dat::ConfText;
using dat::read_dat_conf;

/// A record that ends with `params`, its last two fields as they are written in the file.
std::string record(const std::string& params, const std::string& name = "soft0") {
    return name + " u2.0 nonthreadsafe default libdaplsoft.so.2 dapl.2.0 " + params;
}

std::string params_of(const std::string& written) {
    const ConfText text = read_dat_conf(record(written + " \"\""));
    return text.records.size() == 1 ? text.records[0].ia_params : "not one record";
}

/// @return the problem of a text that has exactly one, as FIELD@LINE:COLUMN 'FOUND'.
std::string problem_in(const std::string& written) {
    const ConfText text = read_dat_conf(written);
    if (text.bad_lines != 1 || text.problems.size() != 1) return "not one problem";
    const dat::ConfProblem& problem = text.problems[0];
    return problem.field + ("@" + std::to_string(problem.line)) + ":" +
           std::to_string(problem.column) + " '" + problem.found + "'";
}

TEST(DatConfReader, TakesAllFieldsOfARecord) {
    const ConfText text =
        read_dat_conf("# comment\n\nname k1.23 threadsafe nondefault /lib/x.so v.1.2 \"a 0\" p");
    ASSERT_EQ(text.records.size(), 1u);
    const dat::ConfRecord& record = text.records[0];
    EXPECT_EQ(record.line, 3);
    EXPECT_EQ(record.ia_name, "name");
    EXPECT_TRUE(record.kernel);
    EXPECT_EQ(record.major, 1u);
    EXPECT_EQ(record.minor, 23u);
    EXPECT_TRUE(record.thread_safe);
    EXPECT_FALSE(record.is_default);
    EXPECT_EQ(record.library, "/lib/x.so");
    EXPECT_EQ(record.ia_params, "a 0");
    EXPECT_EQ(text.bad_lines, 0u);
}

TEST(DatConfReader, UndoesQuotingAndEscapesInsideQuotesOnly) {
    EXPECT_EQ(params_of(R"("lo 0")"), "lo 0");
    EXPECT_EQ(params_of(R"("")"), "");
    EXPECT_EQ(params_of(R"("a\"b")"), "a\"b");
    EXPECT_EQ(params_of(R"("a\\b")"), "a\\b");
    EXPECT_EQ(params_of(R"("a # b")"), "a # b");
    EXPECT_EQ(params_of(R"(a\b)"), "a\\b");
    EXPECT_EQ(params_of(R"(a#b)"), "a#b");
}

TEST(DatConfReader, EndsAnUnquotedTokenBehindAQuote) {
    const ConfText text = read_dat_conf(record("x\"y"));
    ASSERT_EQ(text.records.size(), 1u);
    EXPECT_EQ(text.records[0].ia_params, "x\"");
}

TEST(DatConfReader, ReadsCrLfFilesAndFilesWithoutALastNewline) {
    const ConfText text =
        read_dat_conf("# c\r\n\r\n" + record("\"\" \"\"\r\n") + record("a b", "x") + "\r");
    ASSERT_EQ(text.records.size(), 2u);
    EXPECT_EQ(text.bad_lines, 0u);
    EXPECT_EQ(text.records[1].line, 4);
}

TEST(DatConfReader, NamesTheFieldItsPlaceAndWhatItFound) {
    EXPECT_EQ(problem_in("\n  a v2.0"), "api_version@2:5 'v2.0'");
    EXPECT_EQ(problem_in("a u20"), "api_version@1:3 'u20'");
    EXPECT_EQ(problem_in("a u4294967296.0"), "api_version@1:3 'u4294967296.0'");
    EXPECT_EQ(problem_in("a u2.0 Threadsafe"), "thread_safety@1:8 'Threadsafe'");
    EXPECT_EQ(problem_in("a u2.0 threadsafe off"), "default@1:19 'off'");
    EXPECT_EQ(problem_in("a u2.0 threadsafe default l dapl.2"), "provider_version@1:29 'dapl.2'");
    EXPECT_EQ(problem_in("a"), "api_version@1:2 'the end of the record'");
    EXPECT_EQ(problem_in("a # u2.0"), "api_version@1:3 'the end of the record'");
    EXPECT_EQ(problem_in(record("x y z")), "end of line@1:64 'z'");
    EXPECT_EQ(problem_in(record("x \"y")), "platform_params@1:62 '\"y'");
    EXPECT_EQ(problem_in(record("x \"")), "platform_params@1:62 '\"'");
    EXPECT_EQ(problem_in(record("x \"y\\")), "platform_params@1:62 '\"y\\'");
}

TEST(DatConfReader, TakesNamesOf255BytesAndNotOf256) {
    const std::string longest(255, 'n');
    EXPECT_EQ(read_dat_conf(record("a b", longest)).records.size(), 1u);
    EXPECT_EQ(problem_in(record("a b", longest + "n")),
              "ia_name@1:1 '" + std::string(dat::kMaxFound - 3, 'n') + "...'");
}

TEST(DatConfReader, TakesNoTextWithANulByte) {
    EXPECT_EQ(read_dat_conf(record(std::string("a\0b c", 5))).bad_lines, 1u);
}

TEST(DatConfReader, LooksOnlyAtHowThreadSafetyAndDefaultBegin) {
    const ConfText text = read_dat_conf("a u2.0 threadsafe-mostly defaulted l d.1.0 \"\" \"\"");
    ASSERT_EQ(text.records.size(), 1u);
    EXPECT_TRUE(text.records[0].thread_safe);
    EXPECT_TRUE(text.records[0].is_default);
}

TEST(DatConfReader, KeepsGoodLinesAroundBadOnes) {
    const ConfText text = read_dat_conf(record("a b", "one") + "\nbad \"\n" +
                                        record("\"a\n", "two") + record("a b", "three"));
    ASSERT_EQ(text.records.size(), 2u);
    EXPECT_EQ(text.records[0].ia_name, "one");
    EXPECT_EQ(text.records[1].ia_name, "three");
    EXPECT_EQ(text.records[1].line, 4);
    EXPECT_EQ(text.bad_lines, 2u);
}

TEST(DatConfReader, KeepsTheFirstProblemsOfAJunkFileAndCountsTheRest) {
    std::string junk;
    for (int i = 0; i < 1000; ++i) junk += "junk\n";
    const ConfText text = read_dat_conf(junk);
    EXPECT_EQ(text.problems.size(), dat::kMaxProblems);
    EXPECT_EQ(text.problems.back().line, static_cast<int>(dat::kMaxProblems));
    EXPECT_EQ(text.bad_lines, 1000u);
}

TEST(DatConfReader, ReadsTheFileThatIsInstalled) {
    const char* source = getenv("TOP_SRCDIR");
    std::ifstream file(std::string(source ? source : ".") + "/etc/dat.conf");
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const ConfText text = read_dat_conf(content);
    EXPECT_EQ(text.bad_lines, 0u);
    ASSERT_EQ(text.records.size(), 2u);
    EXPECT_EQ(text.records[0].ia_name, "soft0");
    EXPECT_EQ(text.records[1].ia_name, "ofa-v2-lo");
    for (const dat::ConfRecord& record : text.records) {
        EXPECT_EQ(record.library, "libdaplsoft.so.2");
        EXPECT_EQ(record.ia_params, "soft0 0");
    }
}

}  // namespace
