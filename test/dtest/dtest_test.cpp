// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Tests of the parts of dtest that decide whether a transfer was correct, and of those that parse
/// what a peer sent or a user typed.
#include <arpa/inet.h>
#include <getopt.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "test/dtest/options.hpp"
#include "test/dtest/pattern.hpp"
#include "test/dtest/record.hpp"
#include "test/dtest/side_channel.hpp"
#include "tools/common/failure.hpp"

namespace {

using namespace dtest;
using namespace tools;

std::string failure_of(const RecordBytes& bytes) {
    try {
        decode_record(bytes);
    } catch (const Failure& failure) {
        return failure.what();
    }
    return "";
}

RecordBytes with_text(const std::string& text) {
    RecordBytes bytes{};
    std::memcpy(bytes.data(), text.data(), std::min(text.size(), bytes.size()));
    return bytes;
}

const Record kRecord{0, 0, 0, 0x0100007f, "soft0", Terms{Terms::kOneWay, 4096, 1000, 0}};

std::pair<Socket, Socket> socket_pair() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    return {Socket(ends[0]), Socket(ends[1])};
}

class Arguments {
  public:
    explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
        words_.insert(words_.begin(), "dtest");
    }
    std::optional<Options> parse() {
        std::vector<char*> pointers;
        for (std::string& word : words_) pointers.push_back(word.data());
        pointers.push_back(nullptr);
        optind = 0;
        return parse_options(static_cast<int>(words_.size()), pointers.data(), status);
    }
    int status = -1;

  private:
    std::vector<std::string> words_;
};

}  // namespace

TEST(DtestPattern, WhatWasFilledIsFoundRightForEveryLengthAndPosition) {
    std::vector<unsigned char> memory(300);
    for (std::size_t length = 0; length <= 200; ++length) {
        for (std::uint64_t position = 0; position < 17; ++position) {
            const Pattern pattern{3, 5};
            pattern.fill(memory.data() + position % 3, length, position);
            EXPECT_FALSE(pattern.first_difference(memory.data() + position % 3, length, position));
        }
    }
}

TEST(DtestPattern, EveryWrongByteIsFoundAtItsPlace) {
    const Pattern pattern{1, 9};
    std::vector<unsigned char> memory(100);
    for (std::uint64_t position : {0, 3, 4096 - 50}) {
        for (std::size_t wrong = 0; wrong < memory.size(); ++wrong) {
            pattern.fill(memory.data(), memory.size(), position);
            memory[wrong] ^= 0x10;
            EXPECT_EQ(pattern.first_difference(memory.data(), memory.size(), position), wrong);
        }
    }
}

TEST(DtestPattern, BytesOfThePreviousRoundDifferEverywhere) {
    std::vector<unsigned char> before(1000), now(1000);
    for (unsigned round = 0; round < 600; ++round) {
        Pattern{2, round}.fill(before.data(), before.size(), 0);
        Pattern{2, round + 1}.fill(now.data(), now.size(), 0);
        for (std::size_t i = 0; i < now.size(); ++i)
            ASSERT_NE(before[i], now[i]) << round << " " << i;
    }
}

TEST(DtestPattern, PoisonDiffersEverywhere) {
    std::vector<unsigned char> memory(1000);
    const Pattern pattern{2, 7};
    pattern.poison(memory.data(), memory.size(), 3);
    for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_NE(memory[i], pattern.at(3 + i));
}

TEST(DtestPattern, DataAtAnotherPlaceIsNoticed) {
    std::vector<unsigned char> memory(5000);
    const Pattern pattern{2, 7};
    pattern.fill(memory.data(), memory.size(), 0);
    for (std::size_t shift : {1, 2, 4, 8, 64, 512, 4096}) {
        EXPECT_TRUE(pattern.first_difference(memory.data() + shift, memory.size() - shift, 0));
    }
    EXPECT_TRUE((Pattern{3, 7}.first_difference(memory.data(), memory.size(), 0)));
}

TEST(DtestRecord, ComesBackAsItWasSent) {
    const Record got = decode_record(encode_record(kRecord));
    EXPECT_EQ(got.provider, "soft0");
    EXPECT_EQ(got.ipv4, kRecord.ipv4);
    ASSERT_TRUE(got.terms);
    EXPECT_EQ(*got.terms, *kRecord.terms);
}

TEST(DtestRecord, HasTheTextThatOtherDtestsRead) {
    EXPECT_STREQ(encode_record(kRecord).data(), "0000:00000000:00000000:0100007f:soft0");
}

TEST(DtestRecord, OfAnotherDtestHasNoTerms) {
    const Record got = decode_record(with_text("0000:00000000:00000000:0100000a:ofa-v2-ib0"));
    EXPECT_EQ(got.provider, "ofa-v2-ib0");
    EXPECT_FALSE(got.terms);
}

TEST(DtestRecord, AnAddressOfLidAndQpnIsAnIpv6Form) {
    const Record got = decode_record(with_text("1234:89abcdef:00000004:00000000:ofa-v2-ucm"));
    const sockaddr_storage address = got.address();
    EXPECT_EQ(address.ss_family, AF_INET6);
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    EXPECT_EQ(in6.sin6_port, 0x1234);
    EXPECT_EQ(in6.sin6_flowinfo, 0x89abcdef);
    EXPECT_EQ(in6.sin6_scope_id, 0x04000000u);
}

TEST(DtestRecord, AnIpv6AddressIsReachedWithoutTheServersInterface) {
    sockaddr_in6 server{};
    server.sin6_family = AF_INET6;
    server.sin6_scope_id = 7;
    ASSERT_EQ(inet_pton(AF_INET6, "fe80::1", &server.sin6_addr), 1);
    const Record sent = record_for(reinterpret_cast<const sockaddr*>(&server), std::string(55, 'p'),
                                   *kRecord.terms);
    const Record got = decode_record(encode_record(sent));
    EXPECT_EQ(*got.terms, *kRecord.terms);
    const sockaddr_storage address = got.address();
    ASSERT_EQ(address.ss_family, AF_INET6);
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    EXPECT_TRUE(IN6_ARE_ADDR_EQUAL(&in6.sin6_addr, &server.sin6_addr));
    EXPECT_EQ(in6.sin6_scope_id, 0u);
}

TEST(DtestRecord, AnIpv6AddressTakesRoomOfTheProvidersName) {
    Record record = kRecord;
    record.ipv6 = in6addr_loopback;
    record.provider.assign(55, 'p');
    EXPECT_EQ(decode_record(encode_record(record)).provider, record.provider);
    record.provider.assign(56, 'p');
    EXPECT_THROW(encode_record(record), tools::Failure);
}

TEST(DtestRecord, RefusesWhatIsNoRecord) {
    RecordBytes endless;
    endless.fill('0');
    EXPECT_NE(failure_of(endless), "");
    for (const char* text :
         {"", ":", "0000", "0000:", "0000:00000000:00000000:0100007f",
          "0000:00000000:00000000:0100007f:", "000g:00000000:00000000:0100007f:soft0",
          "0000:-0000000:00000000:0100007f:soft0", "00000:0000000:00000000:0100007f:soft0",
          "0000:00000000:00000000:00000000:soft0", "0000:00000000:00000000:0100007f:so ft0",
          "0000:00000000:00000000:0100007f:\033[2J", "0000:00000000:00000000:0100007f:soft\xff",
          "SSH-2.0-OpenSSH_9.2p1", "HTTP/1.1 400 Bad Request"}) {
        EXPECT_NE(failure_of(with_text(text)), "") << text;
    }
}

TEST(DtestRecord, RefusesAProviderNameThatOtherDtestsHaveNoRoomFor) {
    const std::string head = "0000:00000000:00000000:0100007f:";
    EXPECT_EQ(failure_of(with_text(head + std::string(kMaxProviderName, 'x'))), "");
    EXPECT_NE(failure_of(with_text(head + std::string(kMaxProviderName + 1, 'x'))), "");
    Record record = kRecord;
    record.provider = std::string(kMaxProviderName + 1, 'x');
    EXPECT_THROW(encode_record(record), Failure);
}

TEST(DtestRecord, AnyBytesGiveARecordOrAFailure) {
    std::mt19937 random(1);
    const RecordBytes good = encode_record(kRecord);
    for (int i = 0; i < 20000; ++i) {
        RecordBytes bytes = good;
        for (unsigned changes = random() % 6 + 1; changes > 0; --changes) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        try {
            const Record record = decode_record(bytes);
            EXPECT_LE(record.provider.size(), kMaxProviderName);
            for (const char c : record.provider) EXPECT_TRUE(c > ' ' && c <= '~');
        } catch (const Failure&) {
        }
    }
}

TEST(DtestSideChannel, ARecordInPiecesIsPutTogether) {
    auto [ours, theirs] = socket_pair();
    const RecordBytes bytes = encode_record(kRecord);
    ASSERT_EQ(write(theirs.descriptor(), bytes.data(), 50), 50);
    ASSERT_EQ(write(theirs.descriptor(), bytes.data() + 50, 78), 78);
    EXPECT_EQ(receive_record(ours, Deadline(10)).provider, "soft0");
}

TEST(DtestSideChannel, APeerThatEndsEarlyIsAFailure) {
    auto [ours, theirs] = socket_pair();
    ASSERT_EQ(write(theirs.descriptor(), "0000", 4), 4);
    theirs = Socket();
    EXPECT_FALSE(peer_closed(ours));
    EXPECT_THROW(receive_record(ours, Deadline(10)), Failure);
    EXPECT_TRUE(peer_closed(ours));
}

TEST(DtestSideChannel, APeerThatSaysNothingIsAFailureAtTheDeadline) {
    const auto [ours, theirs] = socket_pair();
    EXPECT_FALSE(peer_closed(ours));
    EXPECT_THROW(receive_record(ours, Deadline(0.05)), Failure);
}

TEST(DtestSideChannel, APeerThatSaysMoreGetsNoMoreRead) {
    auto [ours, theirs] = socket_pair();
    send_record(theirs, kRecord, Deadline(10));
    send_record(theirs, kRecord, Deadline(10));
    EXPECT_EQ(receive_record(ours, Deadline(10)).provider, "soft0");
    EXPECT_FALSE(peer_closed(ours));
}

TEST(DtestOptions, EachSizeOfAllSizesComesWithItsNeighbours) {
    const auto options = Arguments({"-W", "-a", "-b", "16"}).parse();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->sizes(), (std::vector<std::uint32_t>{1, 2, 3, 4, 5, 7, 8, 9, 15, 16}));
    EXPECT_EQ(options->largest_size(), 16u);
}

TEST(DtestOptions, SizesInStepsAreMultiplesWithTheirNeighbours) {
    const auto options = Arguments({"-W", "-i", "10", "-b", "25"}).parse();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->sizes(), (std::vector<std::uint32_t>{9, 10, 11, 19, 20, 21}));
}

TEST(DtestOptions, WritePingPongSetsOneWayAndItsCounts) {
    const auto options = Arguments({"-B", "5", "-W", "-h", "host"}).parse();
    ASSERT_TRUE(options);
    EXPECT_EQ(options->burst, 1000u);
    EXPECT_EQ(options->signal_rate, 1u);
    EXPECT_EQ(options->size, 1u);
    EXPECT_TRUE(options->one_way);
    EXPECT_FALSE(options->server());
}

TEST(DtestOptions, WrongUsageExitsWith244) {
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"-U"},
                                               {"-a"},
                                               {"-i", "4"},
                                               {"-W", "-i", "9", "-b", "8"},
                                               {"-b", "0"},
                                               {"-b", "x"},
                                               {"-b", "-1"},
                                               {"-b", "5000000000"},
                                               {"-B"},
                                               {"-z"},
                                               {"stray"},
                                               {"-h", ""},
                                               {"--nonsense"}}) {
        Arguments arguments(words);
        testing::internal::CaptureStdout();
        testing::internal::CaptureStderr();
        EXPECT_FALSE(arguments.parse()) << words[0];
        testing::internal::GetCapturedStdout();
        testing::internal::GetCapturedStderr();
        EXPECT_EQ(arguments.status, kUsageStatus) << words[0];
    }
}

TEST(DtestFailure, NamesMajorAndMinorCodes) {
    EXPECT_EQ(code_name(0x800a0064), "DAT_PROVIDER_NOT_FOUND DAT_NAME_NOT_REGISTERED (0x800a0064)");
    EXPECT_EQ(code_name(0), "DAT_SUCCESS (0x00000000)");
    EXPECT_EQ(event_name(DAT_CONNECTION_EVENT_BROKEN), "DAT_CONNECTION_EVENT_BROKEN");
    EXPECT_EQ(event_name(static_cast<DAT_EVENT_NUMBER>(0x7777)), "unknown event 0x7777");
}
