// SPDX-License-Identifier: BSD-2-Clause
#include "check/model/objects.hpp"

#include <new>

namespace check {

Object& Objects::add(const void* handle, const Object& object) {
    Object& known = objects_[handle];
    drop_endpoint(known);
    known = object;
    return known;
}

Object* Objects::find(const void* handle) {
    const auto known = objects_.find(handle);
    return known == objects_.end() ? nullptr : &known->second;
}

Object* Objects::find_live(const void* handle) {
    Object* known = find(handle);
    return known && known->is_live ? known : nullptr;
}

Object* Objects::find_numbered(std::uint32_t number) {
    const auto known = numbered_.find(number);
    return known == numbered_.end() ? nullptr : find_live(known->second);
}

Endpoint& Objects::add_endpoint(Object& object) {
    drop_endpoint(object);
    object.endpoint = new (arena_.take(sizeof(Endpoint))) Endpoint(arena_);
    return *object.endpoint;
}

void Objects::drop_endpoint(Object& object) {
    if (!object.endpoint) return;
    object.endpoint->~Endpoint();
    arena_.give_back(object.endpoint, sizeof(Endpoint));
    object.endpoint = nullptr;
}

void Objects::end(Object& object, const Origin& origin) {
    object.is_live = false;
    object.ended = origin;
    drop_endpoint(object);
}

void Objects::forget(Domain owner) {
    for (auto next = objects_.begin(); next != objects_.end();) {
        if (next->second.owner != owner) {
            ++next;
            continue;
        }
        drop_endpoint(next->second);
        next = objects_.erase(next);
    }
}

bool Objects::is_fed(const void* queue) const {
    for (const auto& [handle, object] : objects_) {
        if (!object.is_live) continue;
        if (handle == queue && object.feeds_itself) return true;
        for (const void* fed : object.feeds)
            if (fed == queue) return true;
    }
    return false;
}

}  // namespace check
