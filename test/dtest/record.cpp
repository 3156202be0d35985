// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/record.hpp"

#include <arpa/inet.h>

#include <cstdio>
#include <cstring>

#include "dat/tools/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr std::size_t kTermsOffset = 104;
constexpr char kTermsMark[] = {'O', 'D', 'T', '1'};

Failure bad_record(const std::string& found) {
    return Failure("server's record", found, "LID:QPN:SCOPE:IPV4:PROVIDER in 128 bytes",
                   "check that a dtest server, and nothing else, listens on the side channel's "
                   "port");
}

/// Reads exactly `digits` hexadecimal digits and the colon behind them.
std::uint32_t take_hex(const char*& text, unsigned digits) {
    std::uint32_t value = 0;
    for (; digits > 0; --digits, ++text) {
        const char c = *text;
        if (c >= '0' && c <= '9') {
            value = value * 16 + static_cast<std::uint32_t>(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value * 16 + static_cast<std::uint32_t>(c - 'a') + 10;
        } else {
            throw bad_record("not a hexadecimal number");
        }
    }
    if (*text++ != ':') throw bad_record("no colon behind a number");
    return value;
}

std::optional<Terms> decode_terms(const RecordBytes& bytes, std::size_t text_length) {
    const char* from = bytes.data() + kTermsOffset;
    if (text_length >= kTermsOffset || std::memcmp(from, kTermsMark, sizeof kTermsMark) != 0) {
        return std::nullopt;
    }
    std::uint32_t words[4];
    std::memcpy(words, from + sizeof kTermsMark, sizeof words);
    return Terms{ntohl(words[0]), ntohl(words[1]), ntohl(words[2]), ntohl(words[3])};
}

}  // namespace

std::string Terms::options() const {
    if (modes & kExtensions) {
        return format("dtest_ext -b %u%s%s, %u datagram endpoints, --rounds %u", size,
                      modes & kDatagrams ? " -u" : "", modes & kManyServers ? " -m" : "", burst,
                      increment);
    }
    std::string text = format("-b %u -B %u", size, burst);
    if (modes & kOneWay) text += " -u";
    if (modes & kWriteOnly) text += " -w";
    if (modes & kWritePingPong) text += " -W";
    if (modes & kAllSizes) text += " -a";
    if (increment != 0) text += format(" -i %u", increment);
    return text;
}

sockaddr_storage Record::address() const {
    sockaddr_storage storage{};
    if (ipv4 != 0) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr.s_addr = ipv4;
        std::memcpy(&storage, &in, sizeof in);
    } else {
        sockaddr_in6 in6{};
        in6.sin6_family = AF_INET6;
        in6.sin6_port = lid;
        in6.sin6_flowinfo = qpn;
        in6.sin6_scope_id = ntohl(scope);
        std::memcpy(&storage, &in6, sizeof in6);
    }
    return storage;
}

RecordBytes encode_record(const Record& record) {
    if (record.provider.empty() || record.provider.size() > kMaxProviderName) {
        throw Failure("server's record",
                      "provider name of " + std::to_string(record.provider.size()) + " bytes",
                      "1 to 63, the room that every dtest has",
                      "give the provider a shorter name in dat.conf");
    }
    RecordBytes bytes{};
    std::snprintf(bytes.data(), kTermsOffset, "%04hx:%08x:%08x:%08x:%s", record.lid, record.qpn,
                  record.scope, record.ipv4, record.provider.c_str());
    if (record.terms) {
        const Terms& terms = *record.terms;
        const std::uint32_t words[4] = {htonl(terms.modes), htonl(terms.size), htonl(terms.burst),
                                        htonl(terms.increment)};
        std::memcpy(bytes.data() + kTermsOffset, kTermsMark, sizeof kTermsMark);
        std::memcpy(bytes.data() + kTermsOffset + sizeof kTermsMark, words, sizeof words);
    }
    return bytes;
}

Record decode_record(const RecordBytes& bytes) {
    const void* end = std::memchr(bytes.data(), '\0', bytes.size());
    if (end == nullptr) throw bad_record("text without an end");
    const char* text = bytes.data();
    Record record;
    record.lid = static_cast<std::uint16_t>(take_hex(text, 4));
    record.qpn = take_hex(text, 8);
    record.scope = take_hex(text, 8);
    record.ipv4 = take_hex(text, 8);
    record.provider = text;
    if (record.provider.empty() || record.provider.size() > kMaxProviderName) {
        throw bad_record(format("provider name of %zu bytes", record.provider.size()));
    }
    for (const char c : record.provider) {
        if (c <= ' ' || c > '~')
            throw bad_record(format("byte 0x%02x in the provider's name", c & 0xff));
    }
    if (record.ipv4 == 0 && (record.lid == 0 || record.qpn == 0)) {
        throw bad_record("neither an IPv4 address nor LID and QPN");
    }
    record.terms =
        decode_terms(bytes, static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()));
    return record;
}

Record record_for(const sockaddr* address, const std::string& provider, const Terms& terms) {
    Record record;
    record.provider = provider;
    record.terms = terms;
    if (address->sa_family == AF_INET) {
        record.ipv4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr;
    } else if (address->sa_family == AF_INET6) {
        const auto* in6 = reinterpret_cast<const sockaddr_in6*>(address);
        record.lid = in6->sin6_port;
        record.qpn = in6->sin6_flowinfo;
        record.scope = htonl(in6->sin6_scope_id);
    } else {
        throw Failure("dat_ia_query", format("ia_address_ptr of family %d", address->sa_family),
                      "AF_INET or AF_INET6", "check the provider's line in dat.conf");
    }
    return record;
}

}  // namespace dtest
