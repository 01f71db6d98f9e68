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
  char piece[kPiece];
  std::string bytes;
  while (bytes.size() < most) {
    ssize_t const got = file.read(piece, std::min(kPiece, most - bytes.size()));
    if (got < 0) {
      fail(path, errno);
    }
    if (got == 0) {
      break;
    }
    bytes.append(piece, static_cast<std::size_t>(got));
  }
  return bytes;
}

}  // namespace holdfast::model
