// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The parts of dat_perf that need no device: histogram, command line, parsing of a peer's data.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tools/common/options.hpp"
#include "tools/perf/histogram.hpp"
#include "tools/perf/options.hpp"

namespace {

using namespace perf;

std::optional<Options> parse(std::vector<std::string> words, int& status) {
    words.insert(words.begin(), "dat_perf");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return parse_options(static_cast<int>(arguments.size()), arguments.data(), status);
}

Options parsed(const std::vector<std::string>& words) {
    int status = -1;
    const std::optional<Options> options = parse(words, status);
    EXPECT_EQ(status, 0);
    return options.value_or(Options{});
}

TEST(PerfHistogram, PercentilesAreThoseOfTheSortedValuesToWithinOnePartIn128) {
    std::mt19937_64 random(1);
    for (unsigned bits : {3, 8, 20, 63}) {
        Histogram histogram;
        std::vector<std::uint64_t> values;
        for (int i = 0; i < 5000; ++i) values.push_back(random() >> (63 - bits) >> random() % 3);
        for (const std::uint64_t value : values) histogram.add(value);
        std::sort(values.begin(), values.end());
        for (const double percent : {0.0, 1.0, 50.0, 99.0, 99.9, 100.0}) {
            const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * 5000));
            const std::uint64_t exact = values[rank == 0 ? 0 : rank - 1];
            EXPECT_GE(histogram.percentile(percent), exact);
            EXPECT_LE(histogram.percentile(percent) - exact, exact / 128 + 1);
        }
        EXPECT_EQ(histogram.minimum(), values.front());
        EXPECT_EQ(histogram.maximum(), values.back());
        EXPECT_EQ(histogram.percentile(100), values.back());
    }
}

TEST(PerfHistogram, TakesTheLeastAndTheGreatestValueThereIs) {
    Histogram histogram;
    histogram.add(0);
    histogram.add(UINT64_MAX);
    EXPECT_EQ(histogram.percentile(50), 0u);
    EXPECT_EQ(histogram.percentile(100), UINT64_MAX);
    EXPECT_EQ(histogram.count(), 2u);
}

TEST(PerfHistogram, RowsHoldEachValueOnceAndFollowEachOther) {
    std::mt19937_64 random(2);
    for (int round = 0; round < 200; ++round) {
        Histogram histogram;
        const std::uint64_t values = 1 + random() % 300;
        for (std::uint64_t i = 0; i < values; ++i) histogram.add(random() >> random() % 64);
        const std::vector<Histogram::Row> rows = histogram.rows(16);
        ASSERT_FALSE(rows.empty());
        ASSERT_LE(rows.size(), 16u);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            sum += rows[i].count;
            EXPECT_LE(rows[i].from, rows[i].to);
            if (i > 0) {
                EXPECT_EQ(rows[i].from, rows[i - 1].to + 1);
            }
        }
        EXPECT_EQ(sum, values);
        EXPECT_EQ(rows.front().from, histogram.minimum());
        EXPECT_EQ(rows.back().to, histogram.maximum());
    }
}

TEST(PerfHistogram, MergedIsAsIfOneHadTakenAll) {
    Histogram one, two, all;
    for (std::uint64_t i = 1; i < 1000; ++i) {
        (i % 3 ? one : two).add(i * i);
        all.add(i * i);
    }
    one.merge(two);
    EXPECT_EQ(one.count(), all.count());
    for (const double percent : {1.0, 50.0, 99.9})
        EXPECT_EQ(one.percentile(percent), all.percentile(percent));
}

TEST(PerfHistogram, EmptyAnswersZeroAndNoRows) {
    Histogram histogram;
    EXPECT_EQ(histogram.percentile(50), 0u);
    EXPECT_EQ(histogram.minimum(), 0u);
    EXPECT_TRUE(histogram.rows(16).empty());
}

TEST(PerfOptions, SizesAreNumbersWithUnitsAndRangesOfDoubles) {
    EXPECT_EQ(parsed({"-s", "1,8,4K,1m,1G"}).sizes,
              (std::vector<std::uint64_t>{1, 8, 4096, 1 << 20, 1 << 30}));
    EXPECT_EQ(parsed({"-s", "1K-5K"}).sizes, (std::vector<std::uint64_t>{1024, 2048, 4096}));
    EXPECT_EQ(parsed({"-s", "1-1G"}).sizes.size(), 31u);
    EXPECT_EQ(parsed({"--size=3"}).sizes, (std::vector<std::uint64_t>{3}));
}

TEST(PerfOptions, WrongUsageEndsWithStatus2) {
    const std::vector<std::vector<std::string>> wrong = {
        {"--size", "0"},        {"--size", "2G"},       {"--size", "x"},
        {"--size", "4K-1"},     {"--size", "1T"},       {"--size", ""},
        {"--operation", "fly"}, {"--test", "speed"},    {"--direction", "three"},
        {"--completion", "no"}, {"--memory", "none"},   {"--threads", "0"},
        {"--port", "65536"},    {"--iterations", "-1"}, {"--seconds", "0"},
        {"--both", "somehost"}, {"--peer-cpu", "0"},    {"one", "two"},
        {"--nosuch"},           {"--cpu", "x"},         {"--depth", "1000000"}};
    for (const auto& words : wrong) {
        int status = -1;
        testing::internal::CaptureStderr();
        EXPECT_FALSE(parse(words, status)) << words[0];
        EXPECT_NE(testing::internal::GetCapturedStderr().find("dat_perf: "), std::string::npos);
        EXPECT_EQ(status, tools::kUsageStatus) << words[0];
    }
}

TEST(PerfOptions, MeasurementsAreTheCombinationsWithoutThoseThatMeanTheSame) {
    const Options options = parsed({"-t", "latency,rate", "-o", "write,fetch-add,register", "-s",
                                    "8,16", "-d", "one,two", "-c", "polling,blocking"});
    const std::vector<Measurement> all = options.measurements(~0U);
    // Latency has one direction, atomics one size, registrations a latency only.
    EXPECT_EQ(all.size(), 4u + 2u + 4u + 8u + 4u);
    EXPECT_EQ(options.measurements(1U << static_cast<unsigned>(Operation::write)).size(), 12u);
    EXPECT_TRUE(options.measurements(0).empty());
}

TEST(PerfTerms, ComeBackAsTheyWereSent) {
    Terms terms;
    terms.threads = 3;
    terms.endpoints = 4;
    terms.depth = 5;
    terms.signal_rate = 2;
    terms.check = true;
    terms.memory = Memory::ordinary;
    terms.rooms.include({perf::Test::latency, Operation::send, 1 << 20, false, false});
    const std::optional<Terms> back = decode_terms(encode(terms));
    ASSERT_TRUE(back);
    EXPECT_EQ(encode(*back), encode(terms));
    EXPECT_EQ(back->rooms.server.in, 1u << 20);
    const Pass pass{{perf::Test::rate, Operation::write_immediate, 77, true, true}, 12345};
    const std::optional<Pass> again = decode_pass(encode(pass));
    ASSERT_TRUE(again);
    EXPECT_EQ(encode(*again), encode(pass));
}

TEST(PerfTerms, FromAPeerAreRefusedWhereTheyAreCutOrOutOfBounds) {
    const std::string good = encode(Terms{});
    ASSERT_TRUE(decode_terms(good));
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        const std::optional<Terms> terms = decode_terms(good.substr(0, cut));
        if (terms) {
            EXPECT_EQ(encode(*terms).size(), cut);
        }
    }
    for (const char* bad : {"", "x", "0 1 128 32 30 0 0 0 0 0 0", "1 1 128 129 30 0 0 0 0 0 0",
                            "1 1 128 32 30 0 9 0 0 0 0", "1 1 128 32 30 0 0 99999999999 0 0 0",
                            "1 1 128 32 30 0 0 0 0 0 0 0", "1 1 128 32 30 0 0 -1 0 0 0",
                            "257 1 128 32 30 0 0 0 0 0 0"})
        EXPECT_FALSE(decode_terms(bad)) << bad;
    for (const char* bad : {"", "0 0 0 0 0 1", "3 0 8 0 0 1", "0 8 8 0 0 1", "0 0 1073741825 0 0 1",
                            "0 0 8 2 0 1", "0 0 8 0 0 1 1"})
        EXPECT_FALSE(decode_pass(bad)) << bad;
}

}  // namespace
