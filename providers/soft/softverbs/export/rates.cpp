// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Conversions between the link rate enumeration, Mbit/s and multiples of 2.5 Gbit/s.
#include <infiniband/verbs.h>

#include <algorithm>
#include <iterator>

#include "providers/soft/softverbs/export/export.hpp"

namespace {

struct Rate {
    ibv_rate rate;
    int megabits;  ///< actual rate of the link: lanes times the signalling rate
    int multiple;  ///< -1 where libibverbs gives none
};

constexpr Rate kRates[] = {
    {IBV_RATE_2_5_GBPS, 2500, 1},       {IBV_RATE_5_GBPS, 5000, 2},
    {IBV_RATE_10_GBPS, 10000, 4},       {IBV_RATE_20_GBPS, 20000, 8},
    {IBV_RATE_30_GBPS, 30000, 12},      {IBV_RATE_40_GBPS, 40000, 16},
    {IBV_RATE_60_GBPS, 60000, 24},      {IBV_RATE_80_GBPS, 80000, 32},
    {IBV_RATE_120_GBPS, 120000, 48},    {IBV_RATE_14_GBPS, 14062, -1},
    {IBV_RATE_56_GBPS, 56250, -1},      {IBV_RATE_112_GBPS, 112500, -1},
    {IBV_RATE_168_GBPS, 168750, -1},    {IBV_RATE_25_GBPS, 25781, -1},
    {IBV_RATE_100_GBPS, 103125, -1},    {IBV_RATE_200_GBPS, 206250, -1},
    {IBV_RATE_300_GBPS, 309375, -1},    {IBV_RATE_28_GBPS, 28125, 11},
    {IBV_RATE_50_GBPS, 53125, 20},      {IBV_RATE_400_GBPS, 425000, 160},
    {IBV_RATE_600_GBPS, 637500, 240},   {IBV_RATE_800_GBPS, 850000, 320},
    {IBV_RATE_1200_GBPS, 1275000, 480},
};

template <class Value>
Rate find(Value Rate::*field, Value wanted) {
    const auto* found = std::find_if(std::begin(kRates), std::end(kRates),
                                     [=](const Rate& row) { return row.*field == wanted; });
    return found == std::end(kRates) ? Rate{IBV_RATE_MAX, -1, -1} : *found;
}

}  // namespace

EXPORTED int ibv_rate_to_mbps(ibv_rate rate) {
    return find(&Rate::rate, rate).megabits;
}

EXPORTED int ibv_rate_to_mult(ibv_rate rate) {
    return find(&Rate::rate, rate).multiple;
}

EXPORTED ibv_rate mbps_to_ibv_rate(int megabits) {
    return find(&Rate::megabits, megabits).rate;
}

EXPORTED ibv_rate mult_to_ibv_rate(int multiple) {
    return multiple < 0 ? IBV_RATE_MAX : find(&Rate::multiple, multiple).rate;
}
