// SPDX-License-Identifier: BSD-2-Clause
#include "tools/softverbs/explain.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "support/base/text_file.hpp"
#include "support/base/unique_fd.hpp"
#include "tools/softverbs/explanation.hpp"
#include "tools/softverbs/options.hpp"

namespace softverbs::tool {
namespace {

/// The largest account that is read, in bytes.
constexpr std::size_t kMostAccount = std::size_t{16} << 20;

void explain(const std::string& path, const char* program) {
    const auto account = support::read_text_file(path, kMostAccount);
    std::string text =
        account ? explanation(*account) : "its account: " + account.error().text + '\n';
    if (text.empty()) text = std::string(program) + ": " + why_not_loaded(program) + '\n';
    std::fflush(stdout);
    for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
        std::fprintf(stderr, "softverbs run: %.*s\n", static_cast<int>(end - at), text.data() + at);
}

}  // namespace

int run_and_explain(char** program, int (*run)(char**)) {
    std::error_code failed;
    std::string path = (std::filesystem::temp_directory_path(failed) / "softverbs-XXXXXX").string();
    const support::UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
    if (!file.valid()) {
        std::fprintf(stderr, "softverbs run: --explain: %s: %s\n", path.c_str(),
                     std::strerror(errno));
        return kRunFailed;
    }
    setenv("SOFTVERBS_EXPLAIN", path.c_str(), 1);
    const int status = run(program);
    if (status != kNotFound && status != kCannotExecute) explain(path, program[0]);
    unlink(path.c_str());
    return status;
}

}  // namespace softverbs::tool
