// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// main() of a fuzz target that is not linked with libFuzzer: one test that runs the target on its
/// saved inputs.
///
/// Compiled once for each target, with FUZZ_TEST (the test's name) and FUZZ_CORPORA (directories
/// below the source directory, separated by blanks).
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::set<std::filesystem::path> saved_inputs() {
    const char* source = getenv("TOP_SRCDIR");
    std::set<std::filesystem::path> files;  // sorted, so that the order is the same everywhere
    std::istringstream corpora(FUZZ_CORPORA);
    for (std::string corpus; corpora >> corpus;)
        for (const auto& file : std::filesystem::directory_iterator(
                 std::filesystem::path(source ? source : ".") / corpus))
            if (file.is_regular_file()) files.insert(file.path());
    return files;
}

void replay(const std::filesystem::path& path) {
    // Printed before the run, so that the last line names the input that ended the program.
    std::printf("# %s\n", path.filename().c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main() {
    std::printf("# test %s\n1..1\n", FUZZ_TEST);
    const auto files = saved_inputs();
    for (const auto& file : files) replay(file);
    // A corpus that is not found must not pass.
    std::printf("%s 1 - %s (%zu saved inputs)\n", files.empty() ? "not ok" : "ok", FUZZ_TEST,
                files.size());
    return files.empty();
}
