// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/core_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "tools/softverbs/explore/files.hpp"

namespace softverbs::explore {
namespace {

namespace fs = std::filesystem;

/// @return core(5)'s pattern, "" if it cannot be read.
std::string pattern() {
    const std::string text = read_file("/proc/sys/kernel/core_pattern");
    return text.substr(0, text.find('\n'));
}

bool is_process_number(const std::string& text) {
    return text.empty() || (text[0] == '.' && text.find_first_not_of("0123456789", 1) == text.npos);
}

}  // namespace

CoreFiles::CoreFiles() {
    const fs::path names = pattern();
    if (names.empty() || names.native()[0] == '|') return;
    const std::string name = names.filename(), folder = fs::current_path() / names.parent_path();
    if (folder.find('%') != folder.npos || name[0] == '%') return;
    begin_ = name.substr(0, name.find('%'));
    is_whole_ = begin_ == name;
    folder_ = folder;
    before_ = all();
    if (is_whole_ && before_.count(name) != 0) folder_.clear();
}

void CoreFiles::enable(pid_t first) const {
    rlimit limit;
    if (folder_.empty() || prlimit(first, RLIMIT_CORE, nullptr, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    prlimit(first, RLIMIT_CORE, &limit, nullptr);
}

std::set<std::string> CoreFiles::all() const {
    std::set<std::string> names;
    std::error_code failed;
    if (folder_.empty()) return names;
    for (const auto& entry : fs::directory_iterator(folder_, failed)) {
        const std::string name = entry.path().filename();
        const bool is_one = name.starts_with(begin_) &&
                            (!is_whole_ || is_process_number(name.substr(begin_.size())));
        if (is_one && entry.is_regular_file(failed)) names.insert(name);
    }
    return names;
}

std::vector<std::string> CoreFiles::take() const {
    const std::set<std::string> now = all();
    std::vector<std::string> come;
    std::set_difference(now.begin(), now.end(), before_.begin(), before_.end(),
                        std::back_inserter(come));
    for (std::string& name : come) name = folder_ + '/' + name;
    return come;
}

}  // namespace softverbs::explore
