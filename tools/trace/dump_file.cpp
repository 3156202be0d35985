// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Format: magic, version, a number that shows the byte order; then 64-bit numbers, texts as length
/// and bytes, lists as count and elements. Version 1 contains records of version 1.
#include "tools/trace/dump_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "tools/common/failure.hpp"

namespace tracing {
namespace {

constexpr char kMagic[8] = "ODTDUMP";
constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kByteOrder = 0x0102030405060708;
constexpr std::uint64_t kLongestText = 4096;

struct Writer {
    std::vector<std::byte> bytes;

    void raw(const void* from, std::size_t size) {
        const auto* first = static_cast<const std::byte*>(from);
        bytes.insert(bytes.end(), first, first + size);
    }
    void number(std::uint64_t value) { raw(&value, sizeof value); }
    void text(const std::string& value) {
        const std::uint64_t length = std::min<std::uint64_t>(value.size(), kLongestText);
        number(length);
        raw(value.data(), length);
    }
    void moment(const Moment& value) {
        number(value.ticks);
        number(value.monotonic_ns);
        number(value.realtime_ns);
    }
    void thread(const Thread& value) {
        number(value.id);
        number(value.ended);
        text(value.name);
        moment(value.begun);
        moment(value.latest);
        number(value.overwritten);
        number(value.records.size());
        raw(value.records.data(), value.records.size() * sizeof(support::TraceRecord));
    }
    void library(const Library& value) {
        text(value.path);
        number(static_cast<std::uint64_t>(value.side));
        number(static_cast<std::uint64_t>(value.level));
        number(static_cast<std::uint64_t>(value.clock));
        number(value.lost);
        number(value.threads.size());
        for (const Thread& each : value.threads) thread(each);
    }
};

struct Reader {
    std::span<const std::byte> left;
    const std::string& name;

    [[noreturn]] void fail(const std::string& found) const {
        throw tools::Failure(name, found, fmt::format("a dump of version {}", kVersion),
                             "write it again with `dat_trace --save` of this release");
    }
    void raw(void* into, std::size_t size) {
        if (left.size() < size) fail("the dump is truncated");
        std::memcpy(into, left.data(), size);
        left = left.subspan(size);
    }
    std::uint64_t number() {
        std::uint64_t value;
        raw(&value, sizeof value);
        return value;
    }
    std::string text() {
        const std::uint64_t length = number();
        if (length > kLongestText || length > left.size()) fail("a text in the dump is too long");
        std::string value(length, '\0');
        raw(value.data(), length);
        return value;
    }
    /// @param smallest minimum size of an element in bytes.
    std::uint64_t count(std::size_t smallest) {
        const std::uint64_t value = number();
        if (value > left.size() / smallest) fail("the dump is truncated");
        return value;
    }
    Moment moment() {
        Moment value;
        value.ticks = number();
        value.monotonic_ns = number();
        value.realtime_ns = number();
        return value;
    }
    Thread thread() {
        Thread value;
        value.id = static_cast<std::uint32_t>(number());
        value.ended = number() != 0;
        value.name = text();
        value.begun = moment();
        value.latest = moment();
        value.overwritten = number();
        value.records.resize(count(sizeof(support::TraceRecord)));
        raw(value.records.data(), value.records.size() * sizeof(support::TraceRecord));
        return value;
    }
    Library library() {
        Library value;
        value.path = text();
        value.side = static_cast<support::TraceSide>(number());
        value.level = static_cast<std::int32_t>(number());
        value.clock = static_cast<support::TraceClock>(number());
        value.lost = number();
        for (std::uint64_t n = count(8 * sizeof(std::uint64_t)); n > 0; --n)
            value.threads.push_back(thread());
        return value;
    }
};

}  // namespace

std::vector<std::byte> to_dump(const Snapshot& snapshot) {
    Writer out;
    out.raw(kMagic, sizeof kMagic);
    out.number(kVersion);
    out.number(kByteOrder);
    out.text(snapshot.source);
    out.text(snapshot.program);
    out.text(snapshot.host);
    out.number(snapshot.pid);
    out.moment(snapshot.now);
    out.number(snapshot.libraries.size());
    for (const Library& library : snapshot.libraries) out.library(library);
    return std::move(out.bytes);
}

bool is_dump(std::span<const std::byte> bytes) {
    return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
}

Snapshot from_dump(std::span<const std::byte> bytes, const std::string& name) {
    Reader in{bytes.subspan(sizeof kMagic), name};
    const std::uint64_t version = in.number();
    const bool same_order = in.number() == kByteOrder;
    if (!same_order) in.fail("it comes from a machine with another byte order");
    if (version != kVersion) in.fail(fmt::format("it is a dump of version {}", version));
    Snapshot snapshot;
    snapshot.source = in.text();
    snapshot.program = in.text();
    snapshot.host = in.text();
    snapshot.pid = static_cast<std::uint32_t>(in.number());
    snapshot.now = in.moment();
    for (std::uint64_t n = in.count(6 * sizeof(std::uint64_t)); n > 0; --n)
        snapshot.libraries.push_back(in.library());
    return snapshot;
}

}  // namespace tracing
