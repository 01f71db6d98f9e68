// SPDX-License-Identifier: Apache-2.0
// Writes the page of invariants.
#include "fuzz/invariants_page.hpp"

#include <algorithm>
#include <sstream>

#include "fuzz/mutants.hpp"
#include "invariants/registry.hpp"

namespace holdfast::fuzz {
namespace {

constexpr char const* kInvariantsIntroduction =
    R"(<!-- Generated: holdfast list invariants --markdown > docs/INVARIANTS.md. A test compares. -->
# Invariants

What must hold after every operation of every program. Each is one file in [invariants](../invariants) and one line in its
[registry](../invariants/registry.cpp), and says what it *needs* of the system under test:

- **visible** is what anyone can see: positions, lengths, rows and states ([Visible](../models/visible.hpp)).
- **internals** are the library's tables, references and free storage, through its
  [inspection window](../lib/include/holdfast/inspect.hpp).
- **devices** are what the recording and simulated devices saw.
- **reasons** are what answers say beside code and number: why a call is refused, and figures
  ([Details](../models/observation.hpp)).

An invariant whose needs a system lacks is not judged there, and `holdfast run` says so. Those that need **visible** alone
look at more where there is more.

When they run:

- **cheap** checks run after every operation, for each sequence that it is about: O(planes + rows touched).
- **deep** checks run after every 32nd operation and at the end of a program: O(everything that is alive).

An invariant proves something only if it reports a seeded bug while the answers of library and model are not compared:
`holdfast mutants --no-compare` says which did. The last part names the bugs that each is expected to report; of several
that are named for one bug, one must.

| id | area | runs | needs | what must hold |
|---|---|---|---|---|
)";

std::string file_of(invariant::Invariant const& known) {
  std::string name = known.id;
  std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
    return static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  });
  return "invariants/" + name + ".cpp";
}

std::string runs_of(invariant::Invariant const& known) {
  return std::string{known.cheap != nullptr ? "cheap" : ""} +
         (known.cheap != nullptr && known.deep != nullptr ? ", " : "") +
         (known.deep != nullptr ? "deep" : "");
}

bool names(char const* killers, std::string const& id) {
  std::istringstream words{killers};
  for (std::string word; words >> word;) {
    if (word == id) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string invariants_page() {
  std::string page = kInvariantsIntroduction;
  for (invariant::Invariant const* const known : invariant::all_invariants()) {
    page += "| [" + std::string{known->id} + "](../" + file_of(*known) + ") | " + known->area +
            " | " + runs_of(*known) + " | " + text_of(known->needs) + " | " + known->statement +
            " |\n";
  }
  page += "\n## Seeded bugs that each is expected to report\n";
  for (invariant::Invariant const* const known : invariant::all_invariants()) {
    page += "\n**" + std::string{known->id} + "**\n\n";
    for (MutantInfo const& mutant : all_mutants()) {
      if (names(mutant.killers, known->id)) {
        page += "- `" + std::string{mutant.name} + "`: " + mutant.text + "\n";
      }
    }
  }
  return page;
}

}  // namespace holdfast::fuzz
