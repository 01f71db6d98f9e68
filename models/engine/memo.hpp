// SPDX-License-Identifier: Apache-2.0
// Remembers what pure functions gave. Programs make the same keys and states again and again: engine,
// model and checks all ask for them, and most histories begin alike.
//
// A key is all that the function's answer depends on. It is compared byte by byte, so that an answer
// that is found is the one that the function would give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace holdfast::model {

/// All arguments of one call. What is behind the pointers must have no padding.
struct MemoKey {
  void const* head;
  void const* body;
  std::uint32_t head_bytes;
  std::uint32_t body_bytes;
  std::uint32_t hash;  // its highest bits say where to look, no more
};

/// Answers of some floats each. A newer one takes the place of an older one with the same hash.
class Memo {
 public:
  /// So many places, as a power of two.
  explicit Memo(std::uint32_t log_places)
      : shift_{32 - log_places}, places_(std::size_t{1} << log_places) {}

  /// The answer that was kept for this key; nullptr when none was.
  [[nodiscard]] float const* find(MemoKey const& key) const noexcept {
    Place const& place = places_[key.hash >> shift_];
    bool const is_it = place.head_bytes == key.head_bytes && place.body_bytes == key.body_bytes &&
                       std::memcmp(place.head(), key.head, key.head_bytes) == 0 &&
                       std::memcmp(place.body(), key.body, key.body_bytes) == 0;
    return is_it ? place.answer() : nullptr;
  }
  /// Keeps an answer of `count` floats, which the caller writes where the result says.
  [[nodiscard]] float* keep(MemoKey const& key, std::uint32_t count) {
    Place& place = places_[key.hash >> shift_];
    place.head_bytes = key.head_bytes;
    place.body_bytes = key.body_bytes;
    place.words.resize(place.answer_at() + count);
    std::memcpy(place.words.data(), key.head, key.head_bytes);
    std::memcpy(place.words.data() + place.body_at(), key.body, key.body_bytes);
    return place.words.data() + place.answer_at();
  }

 private:
  struct Place {
    std::uint32_t head_bytes = 0;
    std::uint32_t body_bytes = 0;
    std::vector<float> words;  // head, body and answer

    static std::size_t words_of(std::uint32_t bytes) noexcept {
      return (bytes + sizeof(float) - 1) / sizeof(float);
    }
    [[nodiscard]] std::size_t body_at() const noexcept { return words_of(head_bytes); }
    [[nodiscard]] std::size_t answer_at() const noexcept {
      return body_at() + words_of(body_bytes);
    }
    [[nodiscard]] float const* head() const noexcept { return words.data(); }
    [[nodiscard]] float const* body() const noexcept { return words.data() + body_at(); }
    [[nodiscard]] float const* answer() const noexcept { return words.data() + answer_at(); }
  };

  std::uint32_t shift_;
  std::vector<Place> places_;
};

}  // namespace holdfast::model
