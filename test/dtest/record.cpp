// SPDX-License-Identifier: BSD-2-Clause
#include "test/dtest/record.hpp"

#include <arpa/inet.h>

#include <cstdio>
#include <cstring>

#include "tools/common/failure.hpp"

namespace dtest {

using namespace tools;

namespace {

constexpr std::size_t kTermsOffset = 104;
constexpr char kTermsMark[] = {'O', 'D', 'T', '1'};
/// Marks a record with an IPv6 address, which lies in front of the terms.
constexpr char kTermsMarkWithIpv6[] = {'O', 'D', 'T', '2'};
constexpr std::size_t kIpv6Offset = kTermsOffset - sizeof(in6_addr);
constexpr std::size_t kNumbersSize = sizeof "0000:00000000:00000000:00000000:" - 1;
constexpr std::size_t kMaxProviderNameBesideIpv6 = kIpv6Offset - kNumbersSize - 1;
static_assert(kMaxProviderNameBesideIpv6 == 55);

Failure bad_record(const std::string& found) {
    return Failure("server's record", found, "LID:QPN:SCOPE:IPV4:PROVIDER in 128 bytes",
                   "check that a dtest server, and nothing else, listens on the side channel's "
                   "port");
}

/// Parses exactly `digits` hexadecimal digits and the colon after them.
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

bool is_marked(const RecordBytes& bytes, const char (&mark)[sizeof kTermsMark]) {
    return std::memcmp(bytes.data() + kTermsOffset, mark, sizeof mark) == 0;
}

/// Decodes what follows the text. @param text_length length of the text, without its NUL.
void decode_rest(const RecordBytes& bytes, std::size_t text_length, Record& record) {
    const bool has_ipv6 = is_marked(bytes, kTermsMarkWithIpv6);
    if (text_length >= (has_ipv6 ? kIpv6Offset : kTermsOffset)) return;
    if (!has_ipv6 && !is_marked(bytes, kTermsMark)) return;
    std::uint32_t words[4];
    std::memcpy(words, bytes.data() + kTermsOffset + sizeof kTermsMark, sizeof words);
    record.terms = Terms{ntohl(words[0]), ntohl(words[1]), ntohl(words[2]), ntohl(words[3])};
    if (has_ipv6) std::memcpy(&record.ipv6, bytes.data() + kIpv6Offset, sizeof record.ipv6);
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
        if (has_ib_form()) in6.sin6_scope_id = ntohl(scope);
        in6.sin6_addr = ipv6;
        std::memcpy(&storage, &in6, sizeof in6);
    }
    return storage;
}

RecordBytes encode_record(const Record& record) {
    const bool has_ipv6 = record.terms && record.has_ipv6();
    const std::size_t room = has_ipv6 ? kMaxProviderNameBesideIpv6 : kMaxProviderName;
    if (record.provider.empty() || record.provider.size() > room) {
        throw Failure("server's record",
                      "provider name of " + std::to_string(record.provider.size()) + " bytes",
                      format("1 to %zu, the room that every dtest has", room),
                      "give the provider a shorter name in dat.conf");
    }
    RecordBytes bytes{};
    std::snprintf(bytes.data(), kTermsOffset, "%04hx:%08x:%08x:%08x:%s", record.lid, record.qpn,
                  record.scope, record.ipv4, record.provider.c_str());
    if (record.terms) {
        const Terms& terms = *record.terms;
        const std::uint32_t words[4] = {htonl(terms.modes), htonl(terms.size), htonl(terms.burst),
                                        htonl(terms.increment)};
        std::memcpy(bytes.data() + kTermsOffset, has_ipv6 ? kTermsMarkWithIpv6 : kTermsMark,
                    sizeof kTermsMark);
        std::memcpy(bytes.data() + kTermsOffset + sizeof kTermsMark, words, sizeof words);
    }
    if (has_ipv6) std::memcpy(bytes.data() + kIpv6Offset, &record.ipv6, sizeof record.ipv6);
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
    decode_rest(bytes, static_cast<std::size_t>(static_cast<const char*>(end) - bytes.data()),
                record);
    if (record.ipv4 == 0 && !record.has_ib_form() && !record.has_ipv6()) {
        throw bad_record("neither an IPv4 or IPv6 address nor LID and QPN");
    }
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
        record.ipv6 = in6->sin6_addr;
    } else {
        throw Failure("dat_ia_query", format("ia_address_ptr of family %d", address->sa_family),
                      "AF_INET or AF_INET6", "check the provider's line in dat.conf");
    }
    return record;
}

}  // namespace dtest
