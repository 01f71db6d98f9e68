// SPDX-License-Identifier: Apache-2.0
#include "fuzz/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "models/input_error.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;

std::string on_one_line(fs::path const& path) {
  return model::InputError{path.string()}.what();
}

[[noreturn]] void fail(fs::path const& path, char const* deed, int code) {
  throw FileError{on_one_line(path) + ": cannot be " + deed + ": " +
                  std::generic_category().message(code)};
}

/// Closes what it holds.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_{number} {}
  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }
  Descriptor(Descriptor const&) = delete;
  Descriptor& operator=(Descriptor const&) = delete;

  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

/// 0, or what went wrong.
int write_all(int file, std::string_view bytes, Outlives outlives) {
  while (!bytes.empty()) {
    ssize_t const written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return errno;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return outlives == Outlives::kProcess || fsync(file) == 0 ? 0 : errno;
}

/// A name beside `path` that nobody else writes to.
fs::path unfinished(fs::path const& path) {
  static std::atomic<std::uint64_t> count{0};
  constexpr std::size_t kMost = 200;  // a name that is as long as names may be has no room left
  return path.parent_path() / fmt::format("{}{}-{}-{}",
                                          kUnfinished,
                                          path.filename().string().substr(0, kMost),
                                          getpid(),
                                          count.fetch_add(1));
}

fs::path folder_of(fs::path const& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path{"."};
}

void rename_whole(fs::path const& from, fs::path const& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    int const code = errno;
    unlink(from.c_str());
    fail(to, "written", code);
  }
}

void sync_folder_of(fs::path const& path) {
  Descriptor const folder{open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.number() >= 0) {
    static_cast<void>(fsync(folder.number()));  // not every file system can
  }
}

bool is_unfinished(fs::path const& path) {
  return path.filename().string().rfind(kUnfinished, 0) == 0;
}

}  // namespace

void write_whole(fs::path const& path, std::string_view bytes, Outlives outlives) {
  fs::path const other = unfinished(path);
  constexpr mode_t kMode = 0666;  // less what the user takes away
  {
    Descriptor const file{open(other.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode)};
    int const code = file.number() < 0 ? errno : write_all(file.number(), bytes, outlives);
    if (code != 0) {
      unlink(other.c_str());
      fail(path, "written", code);
    }
  }
  rename_whole(other, path);
  if (outlives == Outlives::kMachine) {
    sync_folder_of(path);
  }
}

void move_whole(fs::path const& from, fs::path const& to) {
  rename_whole(from, to);
  sync_folder_of(to);
}

void make_folder(fs::path const& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    fail(path, "made", error ? error.value() : ENOTDIR);
  }
}

void remove_whole(fs::path const& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) {
    fail(path, "removed", error.value());
  }
}

std::vector<fs::path> entries_of(fs::path const& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!is_unfinished(entry->path()) && !entry->is_other(ignored)) {
      paths.push_back(entry->path());
    }
  }
  if (error) {
    throw model::InputError{folder.string() + ": cannot be read: " + error.message()};
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void remove_unfinished(fs::path const& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end;
       entry.increment(error)) {
    if (is_unfinished(entry->path())) {
      paths.push_back(entry->path());
    }
  }
  std::for_each(paths.begin(), paths.end(), remove_whole);
}

std::string name_of_bytes(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace holdfast::fuzz
