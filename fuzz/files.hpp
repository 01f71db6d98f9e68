// SPDX-License-Identifier: Apache-2.0
// Files that are whole or not there, whatever kills the process or the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::fuzz {

/// A file or folder cannot be written; `what()` is one line that begins with its path. Exit code 3.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Begin of the names of files and folders that are not whole yet.
inline constexpr std::string_view kUnfinished = ".unfinished-";

/// Whether a file must outlive the machine's end, or only the process's.
enum class Outlives : std::uint8_t { kMachine, kProcess };

/// Writes under another name, syncs, and renames. Throws FileError.
void write_whole(std::filesystem::path const& path,
                 std::string_view bytes,
                 Outlives outlives = Outlives::kMachine);

/// Makes a folder with those above it. Throws FileError.
void make_folder(std::filesystem::path const& path);

/// Takes a file or folder away with all that is in it; one that is not there is no error. Throws
/// FileError.
void remove_whole(std::filesystem::path const& path);

/// Renames, and syncs the folder of the new name. Throws FileError.
void move_whole(std::filesystem::path const& from, std::filesystem::path const& to);

/// The files and folders in a folder, sorted by name, without what is unfinished. Throws model::InputError when
/// it cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> entries_of(std::filesystem::path const& folder);

/// Takes away what was not finished. Only for a folder that nobody else writes to.
void remove_unfinished(std::filesystem::path const& folder);

/// 16 hexadecimal digits that stand for the bytes: the name of a corpus unit.
[[nodiscard]] std::string name_of_bytes(std::string_view bytes);

}  // namespace holdfast::fuzz
