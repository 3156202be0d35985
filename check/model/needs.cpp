// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace check {
namespace {

struct Limit {
    Need need;
    const char* transport;
    std::uint64_t most;
};

/// Linux' drivers report these as max_sge and max_sge_rd (mlx5: ConnectX-4 and later), and the
/// messages of the connection managers carry this much. iWARP reads into one segment.
constexpr Limit kLimits[] = {{Need::kPrivateData, "cma", 56}, {Need::kPrivateData, "scm", 68},
                             {Need::kPrivateData, "ucm", 68}, {Need::kSegments, "siw", 6},
                             {Need::kSegments, "mlx5", 30},   {Need::kSegments, "rxe", 32},
                             {Need::kReadSegments, "siw", 1}, {Need::kReadSegments, "mlx5", 30},
                             {Need::kReadSegments, "rxe", 32}};

constexpr const char* kTexts[] = {"bytes of private data", "segments in one request",
                                  "segments in one RDMA read"};

bool lacks(const Limit& limit, Need need, std::uint64_t number) {
    return limit.need == need && limit.most < number;
}

}  // namespace

bool is_everywhere(Need need, std::uint64_t number) {
    return std::none_of(std::begin(kLimits), std::end(kLimits),
                        [=](const Limit& limit) { return lacks(limit, need, number); });
}

std::string text_of(Need need, std::uint64_t number) {
    return fmt::format("{} {}", number, kTexts[static_cast<unsigned>(need)]);
}

std::string those_without(Need need, std::uint64_t number) {
    std::string list;
    for (const Limit& limit : kLimits)
        if (lacks(limit, need, number))
            list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", limit.transport, limit.most);
    return list;
}

}  // namespace check
