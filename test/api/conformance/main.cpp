// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Runs the rows on the libdat2 that it is loaded with and prints the answers in the order of the
/// table.
///
///   conformance list                                  ROW <tab> wanted answer
///   conformance ask|ask-reference [PATTERN...]        ROW <tab> given answer
///   conformance ask-part I/N [PATTERN...]             the same for rows I, I + N, ..., from 0
///
/// Each row runs in a fresh process with a fabric of its own; a crash or a hang is an answer too.
/// The output of the libraries goes to files beside the fabric. Rows listen on the same ports:
/// where the fabric does not separate them, `ask-part` runs one row at a time.
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <iterator>

#include "test/api/conformance/rig.hpp"
#include "test/api/conformance/row.hpp"

namespace {

using namespace conformance;
namespace fs = std::filesystem;

constexpr std::size_t kProcesses = 4;
/// Longer than any wait in a row: a row whose wait times out still writes its answer.
const auto kRowDeadline = 3 * test::kDeadline;

Rows all_rows() {
    Rows rows;
    for (const auto& more :
         {strerror_rows(),  registry_rows(),   ia_rows(),        ia_attribute_rows(),
          handle_rows(),    context_rows(),    ep_create_rows(), ep_query_rows(),
          ep_modify_rows(), ep_connect_rows(), ep_end_rows(),    ep_state_rows(),
          post_rows(),      transfer_rows(),   cr_rows(),        service_point_rows(),
          evd_rows(),       evd_wait_rows(),   cno_rows(),       memory_rows(),
          rmr_rows(),       srq_rows(),        extension_rows(), proposal_rows()})
        rows.insert(rows.end(), more.begin(), more.end());
    return rows;
}

[[noreturn]] void be_row(const Row& row, const fs::path& directory, int answers) {
    // A process group of its own, so that its peers are killed with it.
    setpgid(0, 0);
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const std::string fabric = directory / "fabric";
    fs::create_directories(fabric);
    fs::permissions(fabric, fs::perms::owner_all);
    setenv("SOFTVERBS_FABRIC", fabric.c_str(), 1);
    for (const auto& [name, stream] : {std::pair{"out", STDOUT_FILENO}, {"err", STDERR_FILENO}})
        dup2(open((directory / name).c_str(), O_WRONLY | O_CREAT, 0600), stream);
    Rig rig(answers);
    try {
        row.body(rig);
    } catch (const std::exception& error) {
        rig << error.what();
    }
    _exit(0);  // leaves everything open: closing has rows of its own
}

/// A row whose process runs.
class Running {
  public:
    Running(const Row& row, fs::path directory)
        : row_(row), directory_(std::move(directory)), end_(test::Clock::now() + kRowDeadline) {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC)) throw std::runtime_error("pipe failed");
        fs::create_directories(directory_);
        pid_ = fork();
        if (pid_ < 0) throw std::runtime_error("fork failed");
        if (pid_ == 0) be_row(row, directory_, ends[1]);
        close(ends[1]);
        answers_ = ends[0];
    }

    /// Waits at most `patience` for output. @return whether the row is done.
    bool is_done(std::chrono::milliseconds patience) {
        pollfd descriptor{answers_, POLLIN, 0};
        if (!ended_ && poll(&descriptor, 1, static_cast<int>(patience.count())) == 1) read_some();
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) != pid_) {
            if (test::Clock::now() < end_) return false;
            add("hangs");
        } else if (WIFSIGNALED(status)) {
            drain();
            add("crashes");
        } else {
            drain();
            if (status != 0) add("ended with " + std::to_string(WEXITSTATUS(status)));
        }
        finish();
        return true;
    }

    void print() const { std::cout << row_.name << '\t' << answer_ << std::endl; }

  private:
    bool read_some() {
        char text[4096];
        const ssize_t size = read(answers_, text, sizeof text);
        ended_ = size <= 0;
        if (!ended_) answer_.append(text, static_cast<size_t>(size));
        return !ended_;
    }
    /// Reads only what the pipe holds now: peers may keep it open after the row's process has
    /// ended.
    void drain() {
        fcntl(answers_, F_SETFL, O_NONBLOCK);
        while (!ended_ && read_some()) {
        }
    }
    void add(const std::string& word) { answer_ += (answer_.empty() ? "" : " ") + word; }
    void finish() {
        kill(-pid_, SIGKILL);
        waitpid(pid_, nullptr, WNOHANG);
        close(answers_);
        std::error_code ignored;
        fs::remove_all(directory_ / "fabric", ignored);
    }

    const Row& row_;
    fs::path directory_;
    test::Clock::time_point end_;
    pid_t pid_ = -1;
    int answers_ = -1;
    bool ended_ = false;
    std::string answer_;
};

bool is_wanted(const Row& row, const std::vector<std::string>& patterns) {
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) {
               return fnmatch(p.c_str(), row.name.c_str(), 0) == 0;
           });
}

/// @param at_once number of rows that may run at the same time.
void ask(const Rows& rows, bool is_reference, std::size_t at_once, const fs::path& directory) {
    std::deque<std::unique_ptr<Running>> running;
    int number = 0;
    const auto take_first = [&] {
        while (!running.front()->is_done(std::chrono::milliseconds(20))) {
        }
        running.front()->print();
        running.pop_front();
    };
    for (const Row& row : rows) {
        if (is_reference && !row.not_asked.empty()) {
            while (!running.empty()) take_first();
            std::cout << row.name << "\tnot asked: " << row.not_asked << std::endl;
            continue;
        }
        if (running.size() == at_once) take_first();
        running.push_back(
            std::make_unique<Running>(row, directory / ("row-" + std::to_string(number++))));
    }
    while (!running.empty()) take_first();
}

/// @param part "I/N". @return every N-th row, starting at index I; none if the text is malformed.
Rows part_of(const Rows& rows, const std::string& part) {
    std::size_t first = 0, every = 0;
    char rest = 0;
    Rows some;
    if (sscanf(part.c_str(), "%zu/%zu%c", &first, &every, &rest) != 2 || every == 0) return some;
    for (std::size_t i = first; i < rows.size(); i += every) some.push_back(rows[i]);
    return some;
}

}  // namespace

int main(int count, char** arguments) {
    const std::string what = count > 1 ? arguments[1] : "list";
    const bool is_part = what == "ask-part";
    const int options = std::min(count, is_part ? 3 : 2);
    const std::vector<std::string> patterns(arguments + options, arguments + count);
    Rows rows;
    for (const Row& row : all_rows())
        if (is_wanted(row, patterns)) rows.push_back(row);
    if (is_part) rows = part_of(rows, arguments[options - 1]);
    if (what == "list") {
        for (const Row& row : rows) std::cout << row.name << '\t' << row.answer << '\n';
        return 0;
    }
    const char* scratch = getenv("CONFORMANCE_SCRATCH");
    if (!scratch) {
        std::cerr << "conformance: CONFORMANCE_SCRATCH names no directory for the rows' files\n";
        return 2;
    }
    ask(rows, what == "ask-reference", is_part ? 1 : kProcesses, scratch);
    return 0;
}
