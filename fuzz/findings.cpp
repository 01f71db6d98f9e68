// SPDX-License-Identifier: Apache-2.0
// Buckets in memory and on disk.
#include "fuzz/findings.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "fuzz/files.hpp"
#include "fuzz/json_text.hpp"
#include "models/input_error.hpp"
#include "models/read_file.hpp"

namespace holdfast::fuzz {
namespace {

namespace fs = std::filesystem;
using model::InputError;

constexpr char const* kFile = "finding.json";
constexpr std::array<char const*, 4> kStates = {"new", "known", "fixed", "regression"};

Json json_of(Signature const& signature) {
  return {{"id", signature.id}, {"operation", signature.operation}, {"frames", signature.frames}};
}

Signature signature_from(Json const& json) {
  return {.id = json.at("id").get<std::string>(),
          .operation = json.at("operation").get<std::string>(),
          .frames = json.at("frames").get<std::vector<std::string>>()};
}

Json json_of(Finding const& finding) {
  return {{"signature", json_of(finding.signature)},
          {"causes", finding.causes},
          {"text", finding.text},
          {"target", finding.target},
          {"seed", finding.seed},
          {"commit", finding.commit},
          {"mutant", finding.mutant},
          {"first_seen", finding.seen}};
}

Finding finding_from(Json const& json) {
  return {.signature = signature_from(json.at("signature")),
          .causes = json.at("causes").get<std::vector<std::string>>(),
          .text = json.at("text").get<std::string>(),
          .target = json.at("target").get<std::string>(),
          .seed = count_of(json.at("seed")),
          .commit = json.at("commit").get<std::string>(),
          .mutant = json.at("mutant").get<std::string>(),
          .seen = json.at("first_seen").get<std::int64_t>()};
}

std::string file_of(char const* which, Reproducer const& reproducer) {
  return std::string{which} + (reproducer.is_trace ? ".trace" : ".bin");
}

Json json_of(char const* which, Reproducer const& reproducer) {
  return {{"file", file_of(which, reproducer)},
          {"operations", reproducer.operations},
          {"seconds", reproducer.seconds}};
}

/// Operations of a trace; the size of what is none.
std::uint64_t measure(Reproducer const& reproducer, std::string const& origin) {
  return reproducer.is_trace ? model::parse_trace(reproducer.bytes, origin).ops.size()
                             : reproducer.bytes.size();
}

Reproducer reproducer_from(Json const& json, fs::path const& folder) {
  std::string const file = json.at("file").get<std::string>();
  fs::path const path = folder / fs::path{file}.filename();
  Reproducer reproducer{.bytes = model::read_file(path),
                        .is_trace = path.extension() == ".trace",
                        .seconds = seconds_of(json.at("seconds"))};
  // The file may be newer than what was said of it: the process may have ended in between.
  reproducer.operations = measure(reproducer, path.string());
  return reproducer;
}

Json json_of(Bucket const& bucket) {
  Json json = json_of(bucket.first);
  json["state"] = name_of(bucket.state);
  json["count"] = bucket.count;
  json["last_seen"] = bucket.last_seen;
  json["shortest"] = json_of("shortest", bucket.shortest);
  json["fastest"] = json_of("fastest", bucket.fastest);
  return json;
}

Bucket bucket_from(Json const& json, fs::path const& folder) {
  Bucket bucket{.first = finding_from(json),
                .count = count_of(json.at("count")),
                .last_seen = json.at("last_seen").get<std::int64_t>(),
                .shortest = reproducer_from(json.at("shortest"), folder),
                .fastest = reproducer_from(json.at("fastest"), folder)};
  std::string const state = json.at("state").get<std::string>();
  auto const* const found = std::find(kStates.begin(), kStates.end(), state);
  if (found == kStates.end()) {
    throw InputError{(folder / kFile).string() + ": is damaged: unknown state '" + state + "'"};
  }
  bucket.state = static_cast<Lifecycle>(found - kStates.begin());
  return bucket;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Bytes that are no text, for JSON.
std::string hex_of(std::string_view bytes) {
  std::string text;
  for (char const byte : bytes) {
    auto const code = static_cast<unsigned char>(byte);
    text += kHexDigits[code >> 4U];
    text += kHexDigits[code & 0xFU];
  }
  return text;
}

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(kHexDigits.find(hex[i]) * 16 + kHexDigits.find(hex[i + 1]));
  }
  return bytes;
}

/// A trace is better than bytes, whatever their number.
bool is_shorter(Reproducer const& one, Reproducer const& other) {
  return std::tuple{!one.is_trace, one.operations, one.bytes.size()} <
         std::tuple{!other.is_trace, other.operations, other.bytes.size()};
}
bool is_faster(Reproducer const& one, Reproducer const& other) {
  return std::pair{!one.is_trace, one.seconds} < std::pair{!other.is_trace, other.seconds};
}

/// Whether anything of `bucket` became better by what `other` has.
void take_better(Bucket& bucket, Reproducer const& shortest, Reproducer const& fastest) {
  if (is_shorter(shortest, bucket.shortest)) {
    bucket.shortest = shortest;
  }
  if (is_faster(fastest, bucket.fastest)) {
    bucket.fastest = fastest;
  }
}

// Which state two folders agree on: the worst, as nobody has seen all.
Lifecycle worse(Lifecycle one, Lifecycle other) {
  constexpr std::array<int, 4> kRank = {2, 1, 0, 3};
  auto const rank = [&](Lifecycle state) { return kRank[static_cast<std::size_t>(state)]; };
  return rank(one) >= rank(other) ? one : other;
}

bool is_of_sanitizer(std::string_view function) {
  constexpr std::array<std::string_view, 18> kBegins = {"__asan",
                                                        "__ubsan",
                                                        "__tsan",
                                                        "__sanitizer",
                                                        "__interceptor",
                                                        "__lsan",
                                                        "fuzzer::",
                                                        "operator new",
                                                        "operator delete",
                                                        "raise",
                                                        "gsignal",
                                                        "abort",
                                                        "__GI_",
                                                        "std::terminate",
                                                        "__pthread_kill",
                                                        "holdfast::fuzz::report_finding",
                                                        "malloc",
                                                        "free"};
  return std::any_of(kBegins.begin(), kBegins.end(), [&](std::string_view begin) {
    return function.substr(0, begin.size()) == begin;
  });
}

/// The name of a function without its arguments and template arguments.
std::string plain_name(std::string_view function) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string name;
  int depth = 0;
  for (std::size_t at = 0; at < function.size(); ++at) {
    if (depth == 0 && function.substr(at, kAnonymous.size()) == kAnonymous) {
      name += "{}";
      at += kAnonymous.size() - 1;
    } else if (function[at] == '<' || function[at] == '(') {
      ++depth;
    } else if (function[at] == '>' || function[at] == ')') {
      depth = std::max(0, depth - 1);
    } else if (depth == 0) {
      name += function[at];
    }
  }
  return name.substr(0, name.find(' '));
}

/// The function of "    #3 0x4a5b in name(args) file:1:2"; "" when the line is none.
std::string function_of(std::string_view line) {
  std::size_t const mark = line.find('#');
  std::size_t const in = line.find(" in ");
  if (mark == std::string_view::npos || in == std::string_view::npos || in < mark ||
      line.find_first_not_of(' ') != mark || mark + 1 >= line.size() ||
      std::isdigit(static_cast<unsigned char>(line[mark + 1])) == 0) {
    return {};
  }
  return plain_name(line.substr(in + 4));
}

/// "file.cpp: signed integer overflow" of "/a/file.cpp:1:2: runtime error: signed integer overflow: ..."
std::string undefined_behaviour(std::string_view line) {
  constexpr std::string_view kMark = ": runtime error: ";
  std::size_t const at = line.find(kMark);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view file = line.substr(0, at);
  file = file.substr(0, file.find(':'));
  file = file.substr(file.rfind('/') == std::string_view::npos ? 0 : file.rfind('/') + 1);
  std::string_view kind = line.substr(at + kMark.size());
  kind = kind.substr(0, kind.find_first_of(":0123456789"));
  return std::string{file} + ": " + std::string{kind};
}

}  // namespace

std::string describe(Signature const& signature) {
  std::string text = signature.id;
  if (!signature.operation.empty()) {
    text += " at " + signature.operation;
  }
  return signature.frames.empty() ? text : text + " in " + signature.frames.front();
}

std::string bucket_name(Signature const& signature) {
  std::string name = signature.id;
  if (!signature.operation.empty()) {
    name += "-" + signature.operation;
  }
  for (char& letter : name) {
    bool const is_plain = std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '-';
    letter = is_plain ? letter : '_';
  }
  if (signature.frames.empty()) {
    return name;
  }
  std::string const frames = fmt::format("{}", fmt::join(signature.frames, "\n"));
  return fmt::format("{}-{:08x}", name, XXH3_64bits(frames.data(), frames.size()) & 0xFFFFFFFFU);
}

std::string first_id(std::vector<std::string> const& ids) {
  for (std::string const& id : ids) {
    if (id != "COMPARE") {
      return id;
    }
  }
  return ids.empty() ? "" : ids.front();
}

Signature signature_of(Failure const& failure, std::vector<model::AnyOp> const& ops) {
  std::vector<std::string> ids;
  for (invariant::Violation const& violation : failure.violations) {
    ids.emplace_back(violation.id);
  }
  bool const has_operation = !failure.at_end && failure.op_index < ops.size();
  return {.id = first_id(ids),
          .operation = has_operation ? model::name_of(ops[failure.op_index]) : "end",
          .frames = {}};
}

std::vector<std::string> frames_of(std::string_view report) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> frames;
  std::string undefined;
  bool in_stack = false;
  while (!report.empty() && frames.size() < kMost) {
    std::string_view const line = report.substr(0, report.find('\n'));
    report.remove_prefix(std::min(report.size(), line.size() + 1));
    std::string const function = function_of(line);
    if (undefined.empty()) {
      undefined = undefined_behaviour(line);
    }
    if (function.empty() && in_stack && !frames.empty()) {
      break;  // the stacks that follow say where memory came from
    }
    in_stack = !function.empty();
    if (in_stack && !is_of_sanitizer(function)) {
      frames.push_back(function);
    }
  }
  if (frames.empty() && !undefined.empty()) {
    frames.push_back(undefined);
  }
  return frames;
}

std::string print_finding(Finding const& finding) {
  Json json = json_of(finding);
  bool const is_trace = finding.reproducer.is_trace;
  json["trace"] = is_trace ? Json(finding.reproducer.bytes) : Json();
  json["bytes"] = is_trace ? Json() : Json(hex_of(finding.reproducer.bytes));
  json["seconds"] = finding.reproducer.seconds;
  return text_of(json);
}

Finding parse_finding(std::string_view text, std::string const& origin) {
  return read_json(text, origin, [&](Json const& json) {
    Finding finding = finding_from(json);
    bool const is_trace = json.at("bytes").is_null();
    finding.reproducer = {.bytes = is_trace ? json.at("trace").get<std::string>()
                                            : bytes_of(json.at("bytes").get<std::string>()),
                          .is_trace = is_trace,
                          .seconds = seconds_of(json.at("seconds"))};
    finding.reproducer.operations = measure(finding.reproducer, origin);
    return finding;
  });
}

char const* name_of(Lifecycle state) noexcept {
  return kStates[static_cast<std::size_t>(state)];
}

Findings::Findings(fs::path folder) : folder_{std::move(folder)} {
  std::error_code error;
  if (!fs::exists(folder_, error)) {
    return;
  }
  for (fs::path const& entry : entries_of(folder_)) {
    load(entry);
  }
}

void Findings::load(fs::path const& folder) {
  fs::path const path = folder / kFile;
  std::string const text = model::read_file(path);
  Bucket bucket =
      read_json(text, path.string(), [&](Json const& json) { return bucket_from(json, folder); });
  if (bucket_name(bucket.first.signature) != folder.filename().string()) {
    throw InputError{path.string() + ": is of " + bucket_name(bucket.first.signature)};
  }
  buckets_.emplace(folder.filename().string(), std::move(bucket));
}

void Findings::write(std::string const& name, Bucket const& bucket) const {
  fs::path const folder = folder_ / name;
  std::error_code error;
  bool const is_fresh = !fs::exists(folder, error);
  // A bucket appears whole. Of one that is there, reproducers come before what is said of them.
  fs::path const where = is_fresh ? folder_ / (std::string{kUnfinished} + name) : folder;
  make_folder(where);
  for (auto const& [which, reproducer] :
       {std::pair{"shortest", &bucket.shortest}, std::pair{"fastest", &bucket.fastest}}) {
    write_whole(where / file_of(which, *reproducer), reproducer->bytes);
  }
  write_whole(where / kFile, text_of(json_of(bucket)));
  if (is_fresh) {
    move_whole(where, folder);
    return;
  }
  for (auto const& [other, reproducer] :
       {std::pair{"shortest.bin", &bucket.shortest}, std::pair{"fastest.bin", &bucket.fastest}}) {
    if (reproducer->is_trace) {
      fs::remove(folder / other, error);  // a trace took its place
    }
  }
}

std::string Findings::find(Finding const& finding) const {
  std::string name = bucket_name(finding.signature);
  if (buckets_.count(name) != 0 || finding.causes.empty()) {
    return buckets_.count(name) != 0 ? name : "";
  }
  auto const at = std::find_if(buckets_.begin(), buckets_.end(), [&](auto const& known) {
    std::vector<std::string> const& causes = known.second.first.causes;
    return std::find_first_of(
               causes.begin(), causes.end(), finding.causes.begin(), finding.causes.end()) !=
           causes.end();
  });
  return at == buckets_.end() ? "" : at->first;
}

std::string Findings::add(Finding const& finding) {
  std::string name = find(finding);
  if (name.empty()) {
    name = bucket_name(finding.signature);
    Bucket& bucket = buckets_[name];
    bucket.first = finding;
    bucket.shortest = bucket.fastest = std::exchange(bucket.first.reproducer, {});
  } else if (name == bucket_name(finding.signature)) {
    take_better(buckets_[name], finding.reproducer, finding.reproducer);
  }
  note_met(name, 1, finding.seen);
  return name;
}

void Findings::note_met(std::string const& name, std::uint64_t times, std::int64_t seen) {
  Bucket& bucket = buckets_.at(name);
  bucket.state = bucket.state == Lifecycle::kFixed ? Lifecycle::kRegression : bucket.state;
  bucket.last_seen = std::max(bucket.last_seen, seen);
  bucket.count += times;
  write(name, bucket);
}

void Findings::merge(Findings const& other) {
  for (auto const& [their_name, theirs] : other.buckets()) {
    std::string const known = find(theirs.first);
    std::string const name = known.empty() ? their_name : known;
    auto const [at, is_fresh] = buckets_.try_emplace(name, theirs);
    Bucket& ours = at->second;
    if (!is_fresh) {
      if (name == their_name) {
        take_better(ours, theirs.shortest, theirs.fastest);
      }
      ours.state = worse(ours.state, theirs.state);
      ours.count += theirs.count;
      ours.last_seen = std::max(ours.last_seen, theirs.last_seen);
      if (theirs.first.seen < ours.first.seen) {
        ours.first = theirs.first;
      }
    }
    write(name, ours);
  }
}

void Findings::age() {
  for (auto& [name, bucket] : buckets_) {
    if (bucket.state == Lifecycle::kNew) {
      bucket.state = Lifecycle::kKnown;
      write(name, bucket);
    }
  }
}

void Findings::note_replay(std::string const& name, bool fails) {
  Bucket& bucket = buckets_.at(name);
  bool const was_fixed = bucket.state == Lifecycle::kFixed;
  if (fails == was_fixed) {
    bucket.state = fails ? Lifecycle::kRegression : Lifecycle::kFixed;
    write(name, bucket);
  }
}

fs::path Findings::shortest_path(std::string const& name) const {
  return folder_ / name / file_of("shortest", buckets_.at(name).shortest);
}

}  // namespace holdfast::fuzz
