// SPDX-License-Identifier: Apache-2.0
#include "models/read_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace holdfast::model {
namespace {

[[noreturn]] void fail(std::string const& path, int code) {
  throw UnreadableFile{path + ": cannot be read: " + std::generic_category().message(code), code};
}

}  // namespace

std::string read_file(std::string const& path, std::size_t most) {
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  std::unique_ptr<std::FILE, Close> const file{std::fopen(path.c_str(), "rbe")};
  if (file == nullptr) {
    fail(path, errno);
  }
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  std::string bytes;
  for (std::size_t read = 1; read != 0 && bytes.size() < most;) {
    std::size_t const before = bytes.size();
    std::size_t const piece = std::min(std::max(before, kPiece), most - before);
    bytes.resize(before + piece);
    read = std::fread(bytes.data() + before, 1, piece, file.get());
    bytes.resize(before + read);
  }
  if (std::ferror(file.get()) != 0) {
    fail(path, errno);  // a folder, for one, opens but does not read
  }
  return bytes;
}

}  // namespace holdfast::model
