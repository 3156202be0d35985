// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Hands a transfer to the decorator of the adapter instance, if there is one, before it is posted:
/// for calls that the decorator does not wrap itself.
#pragma once

#include "dapl/adapter/ia.hpp"
#include "dapl/ep/ep.hpp"
#include "dapl/ep/post.hpp"
#include "dapl/transfer/decoration.hpp"

namespace dapl {

/// @param post DAT_RETURN(const Request&), called at most once. @return its code, or that of the
/// decorator.
template <class Post>
[[gnu::always_inline]] inline DAT_RETURN decorated(const Ep& ep, const Request& request,
                                                   bool is_receive, const Post& post) {
    Decoration* decoration = ep.ia.decoration;
    if (!decoration || request.use) [[likely]]
        return post(request);
    const auto call = [](const void* what, const Request& named) {
        return (*static_cast<const Post*>(what))(named);
    };
    return decoration->post(request, is_receive, call, &post);
}

}  // namespace dapl
