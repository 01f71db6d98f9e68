// SPDX-License-Identifier: Apache-2.0
// The tables below are the rules; the code under them only reads the tables.
#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <regex>
#include <set>
#include <utility>

namespace holdfast::test::tidy {
namespace {

using Words = std::vector<std::string_view>;

// Who may include whom, by first folder. "lib" stands for the modules of lib/src.
struct Layer {
  std::string_view name;
  Words sees;
};

std::vector<Layer> const& layers() {
  static std::vector<Layer> const table = {
      {"models", {"holdfast", "models"}},
      {"invariants", {"holdfast", "models", "invariants"}},
      {"fuzz", {"holdfast", "models", "invariants", "fuzz"}},
      {"tools", {"holdfast", "models", "invariants", "fuzz", "tools"}},
      {"bench", {"holdfast", "models", "invariants", "fuzz", "bench", "lib"}},
      {"tests", {"holdfast", "models", "invariants", "fuzz", "tests"}},
      {"tests/unit", {"holdfast", "models", "invariants", "fuzz", "tests", "lib"}},
      {"tests/contract", {"holdfast", "models", "invariants", "fuzz", "tests", "lib"}},
      {"tests/engines", {"holdfast", "models", "fuzz", "tests", "adapters"}},
      {"tests/compile_fail", {"holdfast", "lib", "models", "tests"}},
      {"examples", {"holdfast", "examples"}},
  };
  return table;
}

// Inside lib/src a module sees itself and those before it.
constexpr std::array<std::string_view, 6> kModules = {
    "base", "device", "storage", "planes", "prefix", "cache"};

// Headers of others and the only folders that may include them; the library's are beside these.
struct Guarded {
  std::string_view prefix;
  Words folders;
};

std::vector<Guarded> const& guarded_headers() {
  static std::vector<Guarded> const table = {
      {"gtest/", {"tests/"}},
      {"gmock/", {"tests/"}},
      {"rapidcheck", {"tests/", "fuzz/"}},
      {"boost/graph/", {"models/", "fuzz/", "tests/"}},
      {"boost/", {"models/", "fuzz/", "tests/"}},
  };
  return table;
}

std::vector<Guarded> const& library_headers() {
  static std::vector<Guarded> const table = {
      {"cuda", {"lib/src/device/"}},
      {"cooperative_groups", {"lib/src/device/"}},
      {"xxhash.h", {"lib/src/prefix/"}},
      {"zstd.h", {"lib/src/prefix/"}},
  };
  return table;
}

struct LengthException {
  std::string_view path;
  int lines;
};

// May only shrink.
constexpr std::array<LengthException, 0> kLengthExceptions = {};

constexpr int kLinesMax = 600;
constexpr int kTestLinesMax = 800;

struct Ban {
  Words words;
  Words in;      // folders where the ban holds; "" is everywhere
  Words except;  // folders or files free of it
  std::string_view instead;
};

std::vector<Ban> const& bans() {
  static std::vector<Ban> const table = {
      {{"system_clock",
        "steady_clock",
        "high_resolution_clock",
        "clock_gettime",
        "gettimeofday",
        "seconds_since"},
       {""},
       {"bench/",
        "tools/",
        "fuzz/campaign",
        "fuzz/clock.hpp",
        "fuzz/run.cpp",
        "fuzz/target/engine_",
        "fuzz/targets/replay_main.cpp",
        "tests/unit/cache/allocation_test.cpp"},
       "a time passed in as a parameter"},
      {{"rand",
        "srand",
        "rand_r",
        "random_device",
        "mt19937",
        "mt19937_64",
        "minstd_rand",
        "default_random_engine",
        "uniform_int_distribution",
        "uniform_real_distribution",
        "bernoulli_distribution",
        "discrete_distribution",
        "normal_distribution",
        "geometric_distribution"},
       {""},
       {},
       "the seeded generator of models (std ones differ between libraries)"},
      {{"getenv", "secure_getenv"},
       {""},
       {"tools/terminal.cpp"},  // NO_COLOR and TERM
       "a command line option or a parameter"},
      {{"unordered_map", "unordered_set", "unordered_multimap", "unordered_multiset"},
       {"models/", "invariants/", "fuzz/"},
       {},
       "std::map, std::set or a sorted vector (iteration order must not depend on the library)"},
      {{"iostream",
        "cout",
        "cerr",
        "clog",
        "printf",
        "fprintf",
        "vprintf",
        "vfprintf",
        "puts",
        "fputs",
        "putchar"},
       {"lib/"},
       {},
       "a returned Result or a caller's callback (the library never prints)"},
      {{"PlaneRule::", "if constexpr (requires"},
       {"lib/src/"},
       {"lib/src/planes/plane_list.hpp"},
       "a member of the plane interface (lib/src/planes/plane.hpp)"},
      {{"PlaneKind::"},
       {"lib/src/"},
       {},
       "what the plan says of a class (lib/src/storage/plan.hpp); a seeded bug asks is_named()"},
  };
  return table;
}

bool starts_with_any(std::string_view text, Words const& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
  });
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
  });
}

bool is_cpp(std::string_view path) {
  return ends_with_any(path, {".hpp", ".cpp", ".h", ".cuh", ".cu"});
}

bool is_code(std::string_view path) {
  return is_cpp(path) || path == "dev" || path == ".ci/run" ||
         ends_with_any(path, {".def", ".cmake", "CMakeLists.txt", "CMakePresets.json"});
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_word_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    std::size_t const end = at + word.size();
    bool const starts = at == 0 || !is_word_char(line[at - 1]);
    bool const ends = end == line.size() || !is_word_char(line[end]) || !is_word_char(word.back());
    if (starts && ends) {
      return true;
    }
  }
  return false;
}

std::string first_folder(std::string_view path) {
  return std::string(path.substr(0, path.find('/')));
}

std::string folder_of(std::string_view path) {
  std::size_t const slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : std::string(path.substr(0, slash + 1));
}

int module_index(std::string_view name) {
  auto const at = std::find(kModules.begin(), kModules.end(), name);
  return at == kModules.end() ? -1 : static_cast<int>(at - kModules.begin());
}

bool is_std_header(std::string_view name) {
  return name.find('/') == std::string_view::npos && name.find('.') == std::string_view::npos;
}

struct Include {
  std::string name;
  bool quoted;
};

// What is wrong with an include of the library; empty when nothing is.
std::string library_include_fault(std::string_view path, Include const& include) {
  std::string const first = first_folder(include.name);
  if (first == "holdfast" || (!include.quoted && is_std_header(include.name))) {
    return "";
  }
  for (Guarded const& allowed : library_headers()) {
    if (starts_with_any(include.name, {allowed.prefix}) && starts_with_any(path, allowed.folders)) {
      return "";
    }
  }
  constexpr std::string_view kSource = "lib/src/";
  int const theirs = include.quoted ? module_index(first) : -1;
  if (theirs < 0 || !starts_with_any(path, {kSource})) {
    return "the library includes only std and itself; move the need to a caller";
  }
  int const ours = module_index(first_folder(path.substr(kSource.size())));
  if (theirs > ours) {
    return "order is base <- device <- storage <- planes <- prefix <- cache; move the shared part "
           "down";
  }
  return "";
}

std::string harness_include_fault(std::string_view path, Include const& include) {
  Layer const* layer = nullptr;
  for (Layer const& candidate : layers()) {  // the last that fits is the closest
    std::string const folder = std::string(candidate.name) + "/";
    if (starts_with_any(path, {folder})) {
      layer = &candidate;
    }
  }
  if (layer == nullptr) {
    return "";
  }
  for (Guarded const& guarded : guarded_headers()) {
    if (starts_with_any(include.name, {guarded.prefix}) &&
        !starts_with_any(path, guarded.folders)) {
      return "only " + std::string(guarded.folders.front()) + " may use it; move the code there";
    }
  }
  std::string first = first_folder(include.name);
  if (!include.quoted && first != "holdfast") {
    bool const allowed = layer->name != "examples" || is_std_header(include.name);
    return allowed ? "" : "an example shows std and <holdfast/...> alone";
  }
  if (module_index(first) >= 0) {
    first = "lib";
  }
  if (std::find(layer->sees.begin(), layer->sees.end(), first) != layer->sees.end()) {
    return "";
  }
  std::string fault = std::string(layer->name) + "/ sees only";
  for (std::string_view const seen : layer->sees) {
    fault += " " + std::string(seen == "lib" ? "lib/src" : seen) + "/";
  }
  return fault + ", by paths from the repository's root";
}

// A blank for a character of a comment or literal; a line end stays.
char blank(char c) {
  return c == '\n' ? '\n' : ' ';
}

std::size_t end_of_literal(std::string_view text, std::size_t begin) {
  char const quote = text[begin];
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n') {
    at += text[at] == '\\' ? 2U : 1U;
  }
  return std::min(at + 1, text.size());
}

std::size_t end_after(std::string_view text, std::string_view mark, std::size_t from) {
  std::size_t const at = text.find(mark, from);
  return at == std::string_view::npos ? text.size() : at + mark.size();
}

// Where the comment or literal that begins at `at` ends; `at` itself when none begins.
std::size_t end_of_blank(std::string_view text, std::size_t at) {
  std::string_view const rest = text.substr(at);
  if (starts_with_any(rest, {"//"})) {
    return std::min(text.find('\n', at), text.size());
  }
  if (starts_with_any(rest, {"/*"})) {
    return end_after(text, "*/", at + 2);
  }
  if (starts_with_any(rest, {"R\""})) {
    std::string const delimiter(rest.substr(2, rest.find('(') - 2));
    return end_after(text, ")" + delimiter + "\"", at);
  }
  bool const digit_separator = rest[0] == '\'' && at > 0 && is_word_char(text[at - 1]);
  if (rest[0] == '"' || (rest[0] == '\'' && !digit_separator)) {
    return end_of_literal(text, at);
  }
  return at;
}

// Every word of a CMakeLists.txt outside comments.
std::set<std::string> cmake_words(std::string_view text) {
  constexpr std::string_view kSeparators = " \t()\"";
  std::set<std::string> words;
  for (std::string_view line : split_lines(text)) {
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      std::size_t const end = std::min(line.find_first_of(kSeparators), line.size());
      words.emplace(line.substr(0, end));
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
  return words;
}

bool holds_in(Ban const& ban, std::string_view path) {
  return starts_with_any(path, ban.in) && !starts_with_any(path, ban.except);
}

void report_words(std::string const& path,
                  int number,
                  std::string_view line,
                  Ban const& ban,
                  Breaches& breaches) {
  if (!holds_in(ban, path)) {
    return;
  }
  for (std::string_view const word : ban.words) {
    if (has_word(line, word)) {
      breaches.push_back({path, number, std::string(word) + ": use " + std::string(ban.instead)});
    }
  }
}

// "a/b/../c/./d" -> "a/c/d"; a path that climbs out of the root starts with "..".
std::string normalized(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    std::string const part = first_folder(path);
    path.remove_prefix(std::min(part.size() + 1, path.size()));
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string joined;
  for (std::string const& part : parts) {
    joined += (joined.empty() ? "" : "/") + part;
  }
  return joined;
}

bool exists(Tree const& tree, std::string const& path) {
  if (path.empty() || tree.count(path) != 0) {
    return true;
  }
  auto const inside = tree.lower_bound(path + "/");
  return inside != tree.end() && starts_with_any(inside->first, {path + "/"});
}

using Links = std::vector<std::string>;

// The relative links of one line of markdown.
Links relative_links(std::string_view line) {
  static std::regex const markdown_link(R"(\]\(<?([^)\s>]+)[^)]*\))");
  static std::regex const absolute(R"(^([a-z][a-z0-9+.-]*:|//))");
  using Iterator = std::regex_iterator<std::string_view::const_iterator>;
  Links targets;
  for (Iterator link(line.begin(), line.end(), markdown_link); link != Iterator(); ++link) {
    std::string target = (*link)[1].str();
    if (!std::regex_search(target, absolute)) {
      targets.push_back(std::move(target));
    }
  }
  return targets;
}

// The anchor of a heading, as GitHub makes it: letters in lower case, spaces as dashes, nothing else.
std::string anchor_of(std::string_view heading) {
  static std::regex const link(R"(\[([^\]]*)\]\([^)]*\))");
  std::string const text = std::regex_replace(std::string{heading}, link, "$1");
  std::string anchor;
  for (char const c : text) {
    auto const letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '_' || c == '-') {
      anchor += static_cast<char>(std::tolower(letter));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

// What a link into a document may name behind '#'.
std::set<std::string> anchors_of(std::string_view document) {
  static std::regex const heading(R"(^#{1,6} +(.*[^ #])[ #]*$)");
  std::set<std::string> anchors;
  bool in_fence = false;
  for (std::string_view const line : split_lines(document)) {
    if (starts_with_any(line, {"```"})) {
      in_fence = !in_fence;
    }
    std::match_results<std::string_view::const_iterator> found;
    if (in_fence || !std::regex_match(line.begin(), line.end(), found, heading)) {
      continue;
    }
    std::string const anchor = anchor_of(found[1].str());
    for (int count = 0;
         !anchors.insert(count == 0 ? anchor : anchor + "-" + std::to_string(count)).second;) {
      ++count;
    }
  }
  return anchors;
}

}  // namespace

std::string describe(Breach const& breach) {
  return breach.path + ":" + std::to_string(breach.line) + ": " + breach.what;
}

std::string without_comments_and_literals(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (out.size() < text.size()) {
    std::size_t const at = out.size();
    std::size_t const end = end_of_blank(text, at);
    if (end == at) {
      out += text[at];
      continue;
    }
    for (std::size_t i = at; i < end; ++i) {
      out += blank(text[i]);
    }
  }
  return out;
}

Breaches include_layers(std::string const& path, std::string_view text) {
  static std::regex const include_line(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  Breaches breaches;
  if (!is_cpp(path)) {
    return breaches;
  }
  int number = 0;
  for (std::string_view const line : split_lines(text)) {
    ++number;
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(line.begin(), line.end(), match, include_line)) {
      continue;
    }
    Include const include = {match[2].str(), match[1].str() == "\""};
    bool const in_lib = first_folder(path) == "lib";
    std::string const fault =
        in_lib ? library_include_fault(path, include) : harness_include_fault(path, include);
    if (!fault.empty()) {
      breaches.push_back({path, number, "includes " + include.name + ": " + fault});
    }
  }
  return breaches;
}

Breaches file_length(std::string const& path, std::string_view text) {
  if (!is_code(path)) {
    return {};
  }
  int lines_max = starts_with_any(path, {"tests/"}) ? kTestLinesMax : kLinesMax;
  for (LengthException const& exception : kLengthExceptions) {
    lines_max = path == exception.path ? exception.lines : lines_max;
  }
  int const lines = static_cast<int>(split_lines(text).size());
  if (lines <= lines_max) {
    return {};
  }
  return {{path,
           lines,
           std::to_string(lines) + " lines, at most " + std::to_string(lines_max) +
               "; split the file by subject"}};
}

Breaches banned_words(std::string const& path, std::string_view text) {
  Breaches breaches;
  if (!is_cpp(path)) {
    return breaches;
  }
  std::string const code = without_comments_and_literals(text);
  int number = 0;
  for (std::string_view const line : split_lines(code)) {
    ++number;
    for (Ban const& ban : bans()) {
      report_words(path, number, line, ban, breaches);
    }
  }
  return breaches;
}

/// Whether a list of files names this one, itself or by a pattern with one star in its last part.
bool names(std::set<std::string> const& words, std::string const& name) {
  return std::any_of(words.begin(), words.end(), [&](std::string const& word) {
    std::size_t const star = word.find('*');
    if (star == std::string::npos) {
      return word == name;
    }
    std::size_t const rest = word.size() - star - 1;
    return name.size() >= star + rest && name.compare(0, star, word, 0, star) == 0 &&
           name.compare(name.size() - rest, rest, word, star + 1, rest) == 0 &&
           name.find('/', star) == std::string::npos;
  });
}

Breaches unlisted_file(std::string const& path, Tree const& tree) {
  static Words const folders = {
      "lib/", "models/", "invariants/", "fuzz/", "tools/", "tests/", "examples/", "bench/"};
  bool const geometry =
      starts_with_any(path, {"models/geometry/"}) && ends_with_any(path, {".json"});
  bool const source = starts_with_any(path, folders) && ends_with_any(path, {".cpp", ".cu"});
  if (!geometry && !source) {
    return {};
  }
  for (std::string folder = folder_of(path);;
       folder = folder_of(std::string_view(folder).substr(0, folder.size() - 1))) {
    auto const list = tree.find(folder + "CMakeLists.txt");
    std::string const name = path.substr(folder.size());
    if (list != tree.end() && names(cmake_words(list->second), name)) {
      return {};
    }
    if (folder.empty()) {
      return {{path, 0, "no CMakeLists.txt names it, so nothing builds it; add it to a list"}};
    }
  }
}

// The operation types that models/ops defines.
std::set<std::string> const& operation_types(Tree const& tree) {
  static std::map<Tree const*, std::set<std::string>> known;
  static std::regex const definition(R"(\nstruct (\w+Op) \{)");
  auto const [place, is_new] = known.try_emplace(&tree);
  for (auto file = tree.lower_bound("models/ops/");
       is_new && file != tree.end() && starts_with_any(file->first, {"models/ops/"});
       ++file) {
    std::string const& text = file->second;
    for (std::sregex_iterator found(text.begin(), text.end(), definition);
         found != std::sregex_iterator();
         ++found) {
      place->second.insert((*found)[1].str());
    }
  }
  return place->second;
}

Breaches concrete_operations(std::string const& path, Tree const& tree) {
  static Words const folders = {"models/", "invariants/", "fuzz/", "tools/", "bench/", "adapters/"};
  if (!is_cpp(path) || !starts_with_any(path, folders) || starts_with_any(path, {"models/ops/"})) {
    return {};
  }
  Breaches breaches;
  std::string const code = without_comments_and_literals(tree.at(path));
  int number = 0;
  for (std::string_view const line : split_lines(code)) {
    ++number;
    for (std::string const& type : operation_types(tree)) {
      if (has_word(line, type)) {
        breaches.push_back({path,
                            number,
                            type + ": only models/ops knows operations by name; ask for an effect "
                                   "(models/ops/traits.hpp), or give all operations a member"});
      }
    }
  }
  return breaches;
}

Breaches ascii_only(std::string const& path, std::string_view text) {
  Breaches breaches;
  if (!is_code(path) && !ends_with_any(path, {".md", ".clang-format", ".clang-tidy"})) {
    return breaches;
  }
  int number = 0;
  for (std::string_view const line : split_lines(text)) {
    ++number;
    auto const at = std::find_if(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) > 0x7e ||
             (static_cast<unsigned char>(c) < 0x20 && c != '\t');
    });
    if (at != line.end()) {
      breaches.push_back({path,
                          number,
                          "column " + std::to_string(at - line.begin() + 1) +
                              " is not ASCII; write it in plain letters"});
    }
  }
  return breaches;
}

Breaches dead_links(std::string const& path, Tree const& tree) {
  Breaches breaches;
  auto const file = tree.find(path);
  if (file == tree.end() || !ends_with_any(path, {".md"})) {
    return breaches;
  }
  bool in_fence = false;
  int number = 0;
  for (std::string_view const line : split_lines(file->second)) {
    ++number;
    if (starts_with_any(line, {"```"})) {
      in_fence = !in_fence;
    }
    for (std::string const& target : in_fence ? Links() : relative_links(line)) {
      std::size_t const hash = std::min(target.find('#'), target.size());
      std::string const from = target.front() == '/' ? "" : folder_of(path);
      std::string const to = hash == 0 ? path : normalized(from + target.substr(0, hash));
      if (!exists(tree, to)) {
        breaches.push_back({path, number, target + ": no such file; mend or remove the link"});
      } else if (hash != target.size() && ends_with_any(to, {".md"}) &&
                 anchors_of(tree.at(to)).count(target.substr(hash + 1)) == 0) {
        breaches.push_back({path, number, target + ": no such heading; mend or remove the link"});
      }
    }
  }
  return breaches;
}

Breaches unreached_document(std::string const& path, Tree const& tree) {
  std::string const root = "README.md";
  if (!ends_with_any(path, {".md"}) || tree.count(root) == 0) {
    return {};
  }
  std::set<std::string> reached = {root};
  std::vector<std::string> open = {root};
  while (!open.empty()) {
    std::string const from = open.back();
    open.pop_back();
    for (std::string_view const line : split_lines(tree.at(from))) {
      for (std::string const& target : relative_links(line)) {
        std::string const to = normalized((target.front() == '/' ? "" : folder_of(from)) +
                                          target.substr(0, target.find('#')));
        if (ends_with_any(to, {".md"}) && tree.count(to) != 0 && reached.insert(to).second) {
          open.push_back(to);
        }
      }
    }
  }
  if (reached.count(path) != 0) {
    return {};
  }
  return {{path, 0, "no link leads here from README.md; add one where a reader would look"}};
}

}  // namespace holdfast::test::tidy
