// SPDX-License-Identifier: BSD-2-Clause
#include "dat/registry/conf_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <system_error>

#include "dapl/support/log.hpp"
#include "dapl/support/settings.hpp"

namespace dat {
namespace {

/// A real file has a hundred lines; this one was meant to be something else.
constexpr off_t kMaxFileSize = 16 << 20;

class Descriptor {
  public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return fd_; }

  private:
    int fd_;
};

std::string error_text(int error) {
    return std::generic_category().message(error);
}

/// @return why not, empty when `text` holds the whole file.
std::string read_whole(const std::string& path, std::string& text) {
    // Not blocking: the path may name a pipe that nobody writes to.
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) return error_text(errno);
    struct stat status;
    if (fstat(file.get(), &status) != 0) return error_text(errno);
    if (!S_ISREG(status.st_mode)) return "it is not a regular file";
    if (status.st_size > kMaxFileSize) return "it is larger than 16 MiB";
    text.resize(static_cast<std::size_t>(status.st_size));
    std::size_t length = 0;
    while (length < text.size()) {
        const ssize_t n = read(file.get(), text.data() + length, text.size() - length);
        if (n < 0 && errno != EINTR) return error_text(errno);
        if (n == 0) break;
        if (n > 0) length += static_cast<std::size_t>(n);
    }
    text.resize(length);
    return {};
}

}  // namespace

ConfFile read_conf_file(const ConfPlace& place) {
    ConfFile file;
    std::string text;
    file.path = place.path;
    file.unreadable = read_whole(file.path, text);
    if (file.unreadable.empty()) file.text = read_dat_conf(text);
    return file;
}

std::vector<ConfPlace> conf_places() {
    if (support::setting_is_set(support::Setting::kDatOverride))
        return {
            {support::setting_text(support::Setting::kDatOverride), "environment DAT_OVERRIDE"}};
    std::vector<ConfPlace> places{{DAT_CONF_DIRECTORY "/dat.conf", "default"}};
    if (places.front().path != "/etc/dat.conf") places.push_back({"/etc/dat.conf", "default"});
    return places;
}

ConfFile read_conf_file() {
    std::optional<ConfFile> first;
    for (const ConfPlace& place : conf_places()) {
        ConfFile file = read_conf_file(place);
        if (file.unreadable.empty()) return file;
        if (!first) first = std::move(file);
    }
    return std::move(*first);
}

void report_problems(const ConfFile& file) {
    const ConfText& text = file.text;
    for (const ConfProblem& problem : text.problems)
        support::report<support::kBadConfLine>(file.path, problem.line, problem.column,
                                               problem.field, problem.found, problem.accepted);
    if (text.bad_lines > text.problems.size())
        support::report<support::kMoreBadConfLines>(file.path,
                                                    text.bad_lines - text.problems.size());
}

}  // namespace dat
