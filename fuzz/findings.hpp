// SPDX-License-Identifier: Apache-2.0
// What went wrong so far, one bucket for each kind of failure, in a folder that people and programs
// read:
//
//   findings/RECUR-accept/finding.json    what is known of it
//   findings/RECUR-accept/shortest.trace  the reproducer with the fewest operations
//   findings/RECUR-accept/fastest.trace   the one that fails soonest
//
// A fuzzer's input that is no program, or a text whose operations hold, ends in .bin. Every file is whole at any
// moment.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/run.hpp"
#include "models/trace.hpp"

namespace holdfast::fuzz {

/// What makes two failures the same.
struct Signature {
  std::string id;  ///< invariant that reported first; else COMPARE, SIGNAL 11, EXIT 77, HANG, ...
  std::string operation;            ///< kind of the failing one; "end"; "" when there is none
  std::vector<std::string> frames;  ///< at most three, when a sanitizer or a signal showed a stack

  friend auto operator<=>(Signature const&, Signature const&) = default;
};

/// "RECUR at accept", with the innermost frame.
[[nodiscard]] std::string describe(Signature const& signature);
/// The folder's name of a bucket: letters, digits, '-' and '_'.
[[nodiscard]] std::string bucket_name(Signature const& signature);
/// Of ids in the order in which they reported: the first that names a statement, not just an answer.
[[nodiscard]] std::string first_id(std::vector<std::string> const& ids);
[[nodiscard]] Signature signature_of(Failure const& failure, std::vector<model::AnyOp> const& ops);
/// The three innermost frames of a sanitizer's report, without addresses, lines, arguments and what
/// belongs to the sanitizer; of an undefined behaviour without a stack: file and kind.
[[nodiscard]] std::vector<std::string> frames_of(std::string_view report);

/// A way to make the failure happen.
struct Reproducer {
  std::string bytes;
  bool is_trace = true;          ///< else the input of a fuzzer
  std::uint64_t operations = 0;  ///< of a trace; else bytes
  double seconds = 0;            ///< until it failed
};

/// One failure, as whoever met it hands it on.
struct Finding {
  Signature signature;
  /// Bucket names of what the program comes to when it is made small and less than its violation is
  /// kept: two failures with a cause in common share a bucket. None when that is not known.
  std::vector<std::string> causes;
  std::string text;    ///< one line: what was found against what must be
  std::string target;  ///< that met it
  std::uint64_t seed = 0;
  std::string commit;
  std::string mutant;     ///< "" when none was on
  std::int64_t seen = 0;  ///< seconds since 1970
  Reproducer reproducer;
};

[[nodiscard]] std::string print_finding(Finding const& finding);
/// Throws model::InputError that begins with `origin`.
[[nodiscard]] Finding parse_finding(std::string_view text, std::string const& origin);

/// What a bucket is.
enum class Lifecycle : std::uint8_t {
  kNew,         // first met by this campaign
  kKnown,       // was there before it
  kFixed,       // its reproducers hold now
  kRegression,  // was fixed, and was met again
};
[[nodiscard]] char const* name_of(Lifecycle state) noexcept;

/// All failures of one signature.
struct Bucket {
  Finding first;  ///< without its reproducer
  Lifecycle state = Lifecycle::kNew;
  std::uint64_t count = 0;
  std::int64_t last_seen = 0;
  Reproducer shortest;
  Reproducer fastest;
};

/// The buckets of a folder. One writer at a time.
class Findings {
 public:
  /// Reads what is there; the folder is made with the first finding. Throws model::InputError that
  /// names a damaged file.
  explicit Findings(std::filesystem::path folder);

  /// Puts it into its bucket, and on disk; returns the bucket's name.
  std::string add(Finding const& finding);
  /// The bucket of a finding: that of its signature, or of one of its causes; "" when there is none yet.
  [[nodiscard]] std::string find(Finding const& finding) const;
  /// It was met so many times more.
  void note_met(std::string const& bucket, std::uint64_t times, std::int64_t seen);
  /// Takes over all buckets of another folder; what both have is one bucket here.
  void merge(Findings const& other);
  /// A campaign begins: what is new becomes known.
  void age();
  /// Says whether the reproducers of a bucket still fail: one that no longer does is fixed, one that
  /// was fixed and fails is a regression.
  void note_replay(std::string const& bucket, bool fails);

  [[nodiscard]] std::map<std::string, Bucket> const& buckets() const noexcept { return buckets_; }
  [[nodiscard]] std::filesystem::path const& folder() const noexcept { return folder_; }
  /// Path of the shortest reproducer of a bucket.
  [[nodiscard]] std::filesystem::path shortest_path(std::string const& bucket) const;

 private:
  void load(std::filesystem::path const& folder);
  void write(std::string const& name, Bucket const& bucket) const;

  std::filesystem::path folder_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace holdfast::fuzz
