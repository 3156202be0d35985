// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// registration_experiments [--short] DIRECTORY [R1...]: runs the named experiments, or all of them
/// if none is named, and writes their numbers to the directory. Exits with status 1 if a checker
/// has found an error or a program has failed; a refuted claim is neither.
#include <sys/stat.h>

#include <cstring>
#include <exception>

#include "test/bench/registration/experiments.hpp"

namespace {

using namespace registration;

struct Known {
    const char* id;
    void (*run)(const Run&);
};
constexpr Known kExperiments[] = {
    {"R1", newcomers}, {"R2", hoarder}, {"R3", grace}, {"R4", waiting},    {"R5", policies},
    {"R6", liars},     {"R8", classes}, {"R9", ways},  {"R12", unwilling}, {"R13", peers},
    {"R14", calls},    {"R15", greedy}, {"R16", pool},
};

bool is_wanted(const char* id, int argc, char** argv) {
    for (int i = 0; i < argc; ++i)
        if (std::strcmp(id, argv[i]) == 0) return true;
    return argc == 0;
}

}  // namespace

int main(int argc, char** argv) {
    Run run;
    int first = 1;
    if (argc > first && std::strcmp(argv[first], "--short") == 0) run.scale = 0.1, ++first;
    if (argc <= first) {
        std::fprintf(stderr, "usage: registration_experiments [--short] DIRECTORY [R1...]\n");
        return 2;
    }
    run.directory = argv[first++];
    mkdir(run.directory.c_str(), 0755);
    for (const Known& one : kExperiments) {
        if (!is_wanted(one.id, argc - first, argv + first)) continue;
        try {
            one.run(run);
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", one.id, error.what());
            Experiment::failed = true;
        }
    }
    return Experiment::failed ? 1 : 0;
}
