// SPDX-License-Identifier: Apache-2.0
#include "models/read_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace holdfast::model {
namespace {

[[noreturn]] void fail(std::string const& path, int code) {
  throw UnreadableFile{path + ": cannot be read: " + std::generic_category().message(code), code};
}

/// A file that is open, closed at the end.
class Reading {
 public:
  explicit Reading(std::string const& path)
      // Without O_NONBLOCK a named pipe that nobody writes to would not even open.
      : number_{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)} {
    struct stat about {};
    if (number_ < 0 || fstat(number_, &about) != 0) {
      end(path, errno);
    }
    if (S_ISDIR(about.st_mode)) {
      end(path, EISDIR);
    }
    waits_ = !S_ISREG(about.st_mode);
    if (waits_ && !S_ISFIFO(about.st_mode) && isatty(number_) == 0) {
      close(number_);  // some devices never end
      throw UnreadableFile{path + ": cannot be read: it is neither a file nor a pipe", EINVAL};
    }
  }
  ~Reading() { close(number_); }
  Reading(Reading const&) = delete;
  Reading& operator=(Reading const&) = delete;

  /// As read(2), but waits for who writes into a pipe, until a signal comes.
  [[nodiscard]] ssize_t read(char* bytes, std::size_t most) const {
    for (;;) {
      pollfd awaited{.fd = number_, .events = POLLIN, .revents = 0};
      if (waits_ && poll(&awaited, 1, -1) < 0) {
        return -1;
      }
      ssize_t const got = ::read(number_, bytes, most);
      if (got >= 0 || errno != EAGAIN) {
        return got;
      }
    }
  }

 private:
  [[noreturn]] void end(std::string const& path, int code) const {
    if (number_ >= 0) {
      close(number_);
    }
    fail(path, code);
  }

  int number_;
  bool waits_ = false;
};

}  // namespace

std::string read_file(std::string const& path, std::size_t most) {
  Reading const file{path};
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  std::string bytes;
  for (ssize_t got = 1; got != 0 && bytes.size() < most;) {
    std::size_t const before = bytes.size();
    std::size_t const piece = std::min(std::max(before, kPiece), most - before);
    bytes.resize(before + piece);
    got = file.read(bytes.data() + before, piece);
    if (got < 0) {
      fail(path, errno);
    }
    bytes.resize(before + static_cast<std::size_t>(got));
  }
  return bytes;
}

}  // namespace holdfast::model
