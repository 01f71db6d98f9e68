// SPDX-License-Identifier: Apache-2.0
#include "fuzz/flight_recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace holdfast::fuzz {
namespace {

[[noreturn]] void fail(std::string const& path) {
  throw std::runtime_error(path + ": cannot be written: " + std::generic_category().message(errno));
}

}  // namespace

FlightRecorder::FlightRecorder(std::string const& path) : path_{path} {
  constexpr mode_t kMode = 0644;
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, kMode);
  if (file_ < 0) {
    fail(path_);
  }
}

FlightRecorder::~FlightRecorder() {
  static_cast<void>(close(file_));
  static_cast<void>(unlink(path_.c_str()));
}

void FlightRecorder::start(model::Trace const& head) {
  if (ftruncate(file_, 0) != 0) {
    fail(path_);
  }
  append(model::print_trace(head));
}

void FlightRecorder::note(model::AnyOp const& op) {
  std::string text;
  model::print_op(op, text);
  append(text + "\n");
}

void FlightRecorder::append(std::string const& text) {
  for (std::size_t done = 0; done < text.size();) {
    ssize_t const wrote = write(file_, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) {
      fail(path_);
    }
    done += wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
  }
}

}  // namespace holdfast::fuzz
