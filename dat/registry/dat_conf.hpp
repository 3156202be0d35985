// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The dat.conf reader: a pure function from text to records and problems, so that it can be tested
/// and fuzzed alone. The format is that of dat.conf(5); a bad line never affects its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dat {

/// One valid line. Kernel and nondefault records are read too; the registry leaves them out.
struct ConfRecord {
    int line = 0;        ///< from 1
    int end_column = 0;  ///< in dat.conf, where a comment after the record would begin, from 1
    std::string ia_name;
    bool kernel = false;
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    bool thread_safe = false;
    bool is_default = false;
    std::string library;           ///< for dlopen, unchanged
    std::string ia_params;         ///< for the provider, unchanged
    std::string provider_version;  ///< not used, like the next field
    std::string platform_params;
};

/// Why a line was left out: the first thing wrong with it.
struct ConfProblem {
    int line = 0;    ///< from 1
    int column = 0;  ///< in bytes, from 1: where the field begins or would begin
    const char* field = "";
    std::string found;  ///< cut to kMaxFound bytes
    const char* accepted = "";
};

struct ConfText {
    std::vector<ConfRecord> records;    ///< in file order
    std::vector<ConfProblem> problems;  ///< the first kMaxProblems, or as many as were asked for
    std::size_t bad_lines = 0;          ///< total number
};

inline constexpr std::size_t kMaxProblems = 10;
inline constexpr std::size_t kMaxFound = 40;

/// Accepts any bytes. Thread safe. Throws only std::bad_alloc.
/// @param most largest number of problems to return.
ConfText read_dat_conf(std::string_view text, std::size_t most = kMaxProblems);

}  // namespace dat
