// SPDX-License-Identifier: BSD-2-Clause
#include "support/settings/configuration_files.hpp"

#include <sched.h>
#include <sys/auxv.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <utility>

#include "support/base/guard.hpp"
#include "support/base/report.hpp"
#include "support/base/text_file.hpp"
#include "support/settings/environment.hpp"
#include "support/settings/yaml_module.hpp"
#include "support/thread/thread_errors.hpp"

namespace support {
namespace {

using Origin = ConfigurationFile::Origin;
constexpr std::size_t kMaxFileSize = 256 << 10;
constexpr std::size_t kProblemsTold = 10;

/// @return false when there is no such file. A file of the user's that cannot be reached counts as
/// none too: services run with home directories that they may not enter.
bool is_there(Origin origin, const Unreadable& reason) {
    if (origin == Origin::kNamed) return true;
    if (reason.error == ENOENT || reason.error == ENOTDIR) return false;
    return origin != Origin::kUser || reason.error != EACCES;
}

class FilesReader {
  public:
    Configuration take() { return std::move(result_); }

    /// @return whether there is such a file.
    bool read(Origin origin, std::string path) {
        ConfigurationFile file{origin, std::move(path), {}, {}};
        const Owner owner = is_privileged() ? Owner::kTrusted : Owner::kAnybody;
        auto text = read_text_file(file.path, kMaxFileSize, owner);
        if (!text && !is_there(origin, text.error())) return false;
        if (!text)
            file.not_read = std::move(text.error().text);
        else
            parse(*text, file);
        result_.files.push_back(std::move(file));
        return true;
    }

    /// Records a file that is not read under AT_SECURE, because whoever starts the program has
    /// named it.
    void name_unread(Origin origin, const char* path) {
        result_.files.push_back({origin, path, "this is a set-uid program", {}});
    }

  private:
    void parse(const std::string& text, ConfigurationFile& file) {
        if (!module_) module_.emplace();
        if (module_->reader())
            file.text = read_configuration(text, module_->reader());
        else
            file.not_read = "the module that reads YAML cannot be used: " + module_->why_not();
    }

    Configuration result_;
    std::optional<YamlModule> module_;
};

constinit std::atomic<const Configuration*> g_configuration{nullptr};
constinit std::atomic<int> g_readers{0};
constinit std::atomic<bool> g_gone{false};
constinit std::atomic<bool> g_told{false};

void delete_configuration() {
    const Configuration* last = g_configuration.exchange(nullptr);
    // In a forked child, a thread of the parent process may count as a reader for ever: then the
    // few bytes are leaked.
    constexpr int kTries = 1000;
    for (int i = 0; i < kTries && g_readers.load() != 0; ++i) sched_yield();
    if (g_readers.load() == 0) delete last;
}

/// Afterwards, reading a setting gives the environment's value or the default.
__attribute__((destructor)) void library_unloaded() {
    g_gone = true;
    delete_configuration();
}

const Configuration* read_once() {
    if (g_gone) return nullptr;
    const CancellationDisabled disabled;  // opening a file is a cancellation point
    auto* made = new Configuration(read_configuration_files());
    const Configuration* present = nullptr;
    if (g_configuration.compare_exchange_strong(present, made)) return made;
    delete made;  // another thread was faster
    return present;
}

void report_file(const ConfigurationFile& file) {
    if (!file.not_read.empty()) return report<kConfigurationNotRead>(file.path, file.not_read);
    report_problems(file.path, file.text.problems);
}

}  // namespace

Configuration read_configuration_files() {
    FilesReader reader;
    const char* named = variable_in_environment(kSettings[static_cast<int>(Setting::kConfig)].name);
    const bool secure = getauxval(AT_SECURE) != 0;
    if (named && *named) {
        if (secure)
            reader.name_unread(Origin::kNamed, named);
        else
            reader.read(Origin::kNamed, named);
    }
    if (const std::string user = user_configuration_directory(); !user.empty())
        reader.read(Origin::kUser, user + "/opendat/opendat.yaml");
    if (!reader.read(Origin::kSystem, OPENDAT_SYSTEM_DIRECTORY "/opendat.yaml") &&
        std::string_view(OPENDAT_SYSTEM_DIRECTORY) != "/etc")
        reader.read(Origin::kSystem, "/etc/opendat.yaml");
    return reader.take();
}

ConfigurationInUse::ConfigurationInUse() {
    ++g_readers;
    configuration_ = g_configuration.load();
    if (configuration_) return;
    try {
        configuration_ = read_once();
    } catch (...) {
        --g_readers;
        throw;
    }
}

ConfigurationInUse::~ConfigurationInUse() {
    --g_readers;
}

void report_problems(const std::string& path, std::span<const ConfigurationProblem> problems) {
    for (const ConfigurationProblem& problem :
         problems.first(std::min(problems.size(), kProblemsTold)))
        report<kBadConfiguration>(path, problem.line, problem.column, problem_text(problem),
                                  problem_hint(problem));
    if (problems.size() > kProblemsTold)
        report<kMoreBadConfiguration>(path, problems.size() - kProblemsTold);
}

void report_configuration_once() {
    if (thread_errors().configuration_told || g_told.exchange(true)) return;
    const ConfigurationInUse configuration;
    for (const ConfigurationFile& file : configuration.files()) report_file(file);
}

void forget_configuration() {
    delete_configuration();
    g_told = false;
}

}  // namespace support
