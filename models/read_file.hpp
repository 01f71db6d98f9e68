// SPDX-License-Identifier: Apache-2.0
// The one way in which the harness reads a file that it was told of.
#pragma once

#include <cstdint>
#include <string>

#include "models/input_error.hpp"

namespace holdfast::model {

/// A file that cannot be read.
class UnreadableFile : public InputError {
 public:
  UnreadableFile(std::string line, int code) : InputError{std::move(line)}, code_{code} {}
  /// An errno.
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// All bytes of a file, pipe or terminal, or the first `most`; what else there is, is refused. Waits
/// for whoever writes into a pipe; a signal that is caught ends that, with the code EINTR. Throws
/// UnreadableFile.
[[nodiscard]] std::string read_file(std::string const& path, std::size_t most = SIZE_MAX);

}  // namespace holdfast::model
