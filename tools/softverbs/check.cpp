// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/check.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/base/unique_fd.hpp"
#include "tools/softverbs/child.hpp"
#include "tools/softverbs/options.hpp"

namespace softverbs::tool {
namespace {

constexpr char kLog[] = "OPENDAT_CHECK_LOG";

std::uintmax_t size_of(const std::string& path) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    return failed ? 0 : size;
}

int run_with_log(char** program, const std::string& path) {
    const std::uintmax_t before = size_of(path);
    const int status = run_child(program);
    return status < 128 && size_of(path) > before ? kFound : status;
}

}  // namespace

int run_and_check(char** program) {
    const char* named = std::getenv(kLog);
    if (named && *named) {
        const std::string path = std::filesystem::absolute(named).string();
        setenv(kLog, path.c_str(), 1);
        return run_with_log(program, path);
    }
    std::error_code failed;
    std::string path =
        (std::filesystem::temp_directory_path(failed) / "softverbs-check-XXXXXX").string();
    const support::UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
    if (!file.valid()) {
        std::fprintf(stderr, "softverbs run: --check: %s: %s\n", path.c_str(),
                     std::strerror(errno));
        return kRunFailed;
    }
    setenv(kLog, path.c_str(), 1);
    const int status = run_with_log(program, path);
    unlink(path.c_str());
    return status;
}

}  // namespace softverbs::tool
