#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace stepcast {

/// A short list without an allocation of its own: the first `Inside` items live in the object, more of
/// them on the heap. For the millions of lists that nearly always hold one or two items.
template <class T, std::uint32_t Inside>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  SmallVector(const SmallVector& other) { append(other); }
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      take(other);
    }
    return *this;
  }
  ~SmallVector() = default;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* begin() { return more_ ? more_.get() : inside_; }
  [[nodiscard]] T* end() { return begin() + size_; }
  [[nodiscard]] const T* begin() const { return more_ ? more_.get() : inside_; }
  [[nodiscard]] const T* end() const { return begin() + size_; }
  [[nodiscard]] T& operator[](std::size_t index) { return begin()[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const { return begin()[index]; }
  [[nodiscard]] const T& front() const { return *begin(); }  ///< REQUIRES: !empty()

  void push_back(const T& item) {
    const T copy = item;
    if (size_ == room_) {
      grow(2 * room_);
    }
    begin()[size_++] = copy;
  }
  /// Forgets the items and keeps their room.
  void clear() { size_ = 0; }
  /// Takes the first `count` items out. REQUIRES: count <= size().
  void drop_front(std::size_t count) {
    size_ -= static_cast<std::uint32_t>(count);
    T* const items = begin();
    for (std::uint32_t i = 0; i < size_; ++i) {
      items[i] = items[i + count];
    }
  }

 private:
  void grow(std::uint32_t room) {
    std::unique_ptr<T[]> wider = std::make_unique<T[]>(room);
    for (std::uint32_t i = 0; i < size_; ++i) {
      wider[i] = (*this)[i];
    }
    more_ = std::move(wider);
    room_ = room;
  }
  void append(const SmallVector& other) {
    for (const T& item : other) {
      push_back(item);
    }
  }
  void take(SmallVector& other) {
    more_ = std::move(other.more_);
    for (std::uint32_t i = 0; i < Inside; ++i) {
      inside_[i] = other.inside_[i];
    }
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, Inside);
  }

  std::unique_ptr<T[]> more_;  ///< all items, when they are more than `Inside`
  std::uint32_t size_ = 0;
  std::uint32_t room_ = Inside;
  T inside_[Inside] = {};
};

}  // namespace stepcast
