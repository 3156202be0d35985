// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// The segments of a post, translated for the device: each context becomes the device's key, and a
/// use of its registration begins. Lives on the stack of the call that posts.
#pragma once

#include <algorithm>

#include "broker/registrations.hpp"
#include "dapl/base/guard.hpp"

namespace dapl::memory {

/// Most segments of a post. No device takes more, so begin() refuses longer lists.
inline constexpr DAT_COUNT kMostSegments = 256;

/// A key that no device has a registration for. It replaces an unknown context and leaves the error
/// to the device, as without the broker: some devices check a key only when data moves.
inline constexpr std::uint32_t kForeignKey = ~0U;

class Uses {
  public:
    Uses(Registrations& registrations, Use use) : registrations_(registrations), use_(use) {}
    ~Uses() {
        for (int i = 0; i < count_; ++i) registrations_.end_use(*used_[i], use_);
    }
    Uses(const Uses&) = delete;
    Uses& operator=(const Uses&) = delete;

    /// Translates the segments into a copy and begins a use of each registration. @return
    /// DAT_SUCCESS, or the code that the post returns.
    DAT_RETURN begin(DAT_COUNT segments, const DAT_LMR_TRIPLET* local) {
        local_ = const_cast<DAT_LMR_TRIPLET*>(local);
        if (!local || segments <= 0) return DAT_SUCCESS;
        if (segments > kMostSegments) return raw(DAT_INVALID_PARAMETER);
        local_ = copy_;
        for (DAT_COUNT i = 0; i < segments; ++i) {
            const DAT_RETURN code = add(local[i], copy_[i]);
            if (code != DAT_SUCCESS) return code;
        }
        return DAT_SUCCESS;
    }
    DAT_RETURN begin(Registration& used) {
        std::uint32_t key;
        const DAT_RETURN code = registrations_.begin_use(used, use_, 0, key);
        if (code == DAT_SUCCESS) used_[count_++] = &used;
        return code;
    }
    DAT_LMR_TRIPLET* local() { return local_; }

    /// Posts to an endpoint. @param post DAT_RETURN(TransferUse*): hands the transfer to the core.
    template <class Post>
    DAT_RETURN post(const Post& post) {
        TransferUse use = 0;
        if (count_ == 1) {
            use = transfer_use(*used_[0], use_);
        } else if (count_ > 1) {
            const UseNumber number = registrations_.records.add(0, used_, count_);
            if (number == kNoUse) return out_of_memory();
            use = transfer_use(number, use_);
        }
        count_ = 0;  // `use` has them now
        const DAT_RETURN code = post(&use);
        if (use) [[unlikely]]
            registrations_.end_use(use);
        return code;
    }
    /// Posts to an SRQ. @param post gets the number of a use record, which takes the place of the
    /// cookie.
    template <class Post>
    DAT_RETURN post_shared(DAT_UINT64 cookie, const void* queue, const Post& post) {
        const UseNumber number = registrations_.records.add(cookie, used_, count_, queue);
        if (number == kNoUse) return out_of_memory();
        count_ = 0;  // the record owns the uses now
        DAT_DTO_COOKIE carried;
        carried.as_64 = number;
        const DAT_RETURN code = post(carried);
        if (code != DAT_SUCCESS) registrations_.end(number, use_);
        return code;
    }

  private:
    DAT_RETURN add(const DAT_LMR_TRIPLET& given, DAT_LMR_TRIPLET& translated) {
        translated = given;
        Registration* used = registrations_.find(given.lmr_context);
        if (!used) [[unlikely]] {
            translated.lmr_context = kForeignKey;
            return DAT_SUCCESS;
        }
        std::uint32_t key;
        const DAT_RETURN code = registrations_.begin_use(*used, use_, given.segment_length, key);
        if (code != DAT_SUCCESS) [[unlikely]]
            return code;
        translated.lmr_context = key;
        used_[count_++] = used;
        return DAT_SUCCESS;
    }

    Registrations& registrations_;
    const Use use_;
    int count_ = 0;
    DAT_LMR_TRIPLET* local_ = nullptr;
    Registration* used_[kMostSegments];
    DAT_LMR_TRIPLET copy_[kMostSegments];
};

}  // namespace dapl::memory
