// SPDX-License-Identifier: BSD-2-Clause
/// @file
/// Intrusive list: a parent's children. Membership costs no allocation and so cannot fail.
#pragma once

namespace dapl {

/// Base of a type whose objects are on at most one List<T>.
template <class T>
class ListNode {
    template <class>
    friend class List;
    T* next_ = nullptr;
    T* previous_ = nullptr;
};

/// Owns nothing. Not thread safe: the lock of the parent guards it.
template <class T>
class List {
  public:
    T* first() const { return first_; }
    T* after(const T& item) const { return node(item).next_; }
    bool empty() const { return !first_; }
    void add(T& item) {
        node(item).next_ = first_;
        node(item).previous_ = nullptr;
        if (first_) node(*first_).previous_ = &item;
        first_ = &item;
    }
    void remove(T& item) {
        T* next = node(item).next_;
        T* previous = node(item).previous_;
        (previous ? node(*previous).next_ : first_) = next;
        if (next) node(*next).previous_ = previous;
        node(item).next_ = node(item).previous_ = nullptr;
    }

  private:
    static ListNode<T>& node(T& item) { return item; }
    static const ListNode<T>& node(const T& item) { return item; }
    T* first_ = nullptr;
};

}  // namespace dapl
