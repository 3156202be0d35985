// SPDX-License-Identifier: BSD-2-Clause
#include "tools/conf/replace_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "support/base/unique_fd.hpp"

namespace conf {
namespace {

void require(bool done, const std::string& what) {
    if (!done) throw std::system_error(errno, std::generic_category(), what);
}

/// A new file in the directory of the one that it will replace; removed unless it does.
class Replacement {
  public:
    explicit Replacement(const std::string& target) : name_(target + ".XXXXXX") {
        file_.reset(mkostemp(name_.data(), O_CLOEXEC));
        require(file_.valid(), name_);
    }
    ~Replacement() {
        if (file_.valid()) unlink(name_.c_str());
    }
    Replacement(const Replacement&) = delete;
    Replacement& operator=(const Replacement&) = delete;

    /// @param old the file to be replaced, if it exists.
    void give_to_owner(const std::optional<struct stat>& old) {
        constexpr mode_t kReadableForAll = 0644;
        if (old) require(fchown(file_.get(), old->st_uid, old->st_gid) == 0, name_ + ": its owner");
        require(fchmod(file_.get(), old ? old->st_mode & 07777 : kReadableForAll) == 0,
                name_ + ": its mode");
    }
    void write_all(const std::string& text) {
        for (std::size_t done = 0; done < text.size();) {
            const ssize_t n = write(file_.get(), text.data() + done, text.size() - done);
            require(n >= 0 || errno == EINTR, name_);
            if (n > 0) done += static_cast<std::size_t>(n);
        }
        require(fsync(file_.get()) == 0, name_);
    }
    void take_place_of(const std::string& target) {
        require(rename(name_.c_str(), target.c_str()) == 0, target);
        file_.reset();
    }

  private:
    std::string name_;
    support::UniqueFd file_;
};

}  // namespace

void replace_file(const std::string& path, const std::string& text) {
    const std::filesystem::path target = std::filesystem::weakly_canonical(path);
    struct stat status;
    std::optional<struct stat> old;
    if (stat(target.c_str(), &status) == 0) old = status;
    Replacement replacement(target);
    replacement.write_all(text);
    replacement.give_to_owner(old);
    replacement.take_place_of(target);
    // Makes the rename as durable as the content. Some file systems cannot do that for a directory.
    const support::UniqueFd directory(
        open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.valid()) fsync(directory.get());
}

}  // namespace conf
