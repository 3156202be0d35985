// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// softverbs: starts programs on soft0, and shows and cleans fabrics.
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

#include "support/settings/yaml_module.hpp"
#include "tools/softverbs/explore/explore.hpp"
#include "tools/softverbs/fault.hpp"
#include "tools/softverbs/list.hpp"
#include "tools/softverbs/run.hpp"
#include "tools/softverbs/states.hpp"

namespace {

int carry_out(const softverbs::tool::Options& options) {
    using namespace softverbs::tool;
    switch (options.command) {
        case Command::kRun:
            return run(options);
        case Command::kList:
            return list(options);
        case Command::kClean:
            return clean(options);
        case Command::kPort:
            return port(options);
        case Command::kDevice:
            return device(options);
        case Command::kFault:
            return fault(options);
    }
    return kFailed;
}

/// It has a command line of its own.
int explore(int argc, char** argv) {
    using namespace softverbs::tool;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    return softverbs::explore::explore(argc, argv, {program, fabric_text});
}

}  // namespace

int main(int argc, char** argv) {
    try {
        // Found as the other files that belong to this program are: the tree may have been moved.
        static const std::string module = softverbs::tool::find_library("libopendat-yaml.so");
        if (!module.empty()) support::use_yaml_module(module.c_str());
        if (argc > 1 && std::strcmp(argv[1], "explore") == 0) return explore(argc - 1, argv + 1);
        int status = 0;
        const auto options = softverbs::tool::parse(argc, argv, status);
        return options ? carry_out(*options) : status;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "softverbs: %s\n", failure.what());
        return softverbs::tool::kFailed;
    }
}
