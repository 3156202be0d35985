// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explore/files.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace softverbs::explore {

std::string read_file(const std::string& path, std::size_t most) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                               std::fclose);
    std::string text;
    char part[4096];
    while (file && text.size() < most) {
        const std::size_t got =
            std::fread(part, 1, std::min(sizeof part, most - text.size()), file.get());
        if (got == 0) break;
        text.append(part, got);
    }
    return text;
}

void write_file(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "we");
    const bool is_written = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (!file || std::fclose(file) != 0 || !is_written)
        throw std::system_error(errno, std::generic_category(), path);
}

}  // namespace softverbs::explore
