// SPDX-License-Identifier: Apache-2.0
#include "fuzz/story_words.hpp"

#include <span>

namespace holdfast::fuzz {
namespace {

struct Meaning {
  std::string_view name;
  std::string_view text;
};

constexpr Meaning kOperations[] = {
    {"create", "makes a sequence without tokens"},
    {"append", "writes rows for new tokens, and commits them"},
    {"begin", "opens an append whose rows are written, but not committed yet"},
    {"commit", "makes the rows of an open append visible"},
    {"drop", "gives up an open append or round: the sequence is what it was before"},
    {"verify", "opens a speculative round: rows for drafted tokens, of which some will be kept"},
    {"rewrite", "writes rows of an open round again"},
    {"accept", "keeps the first rows of a round, and takes back the others in every plane"},
    {"snapshot", "records a restore point over every plane, without a copy"},
    {"drop_snapshot", "gives a snapshot up, and what only it held"},
    {"rollback", "takes a sequence back to what a snapshot holds, in every plane"},
    {"fork", "starts another sequence from a snapshot, whose storage it shares"},
    {"truncate", "shortens a sequence, in every plane or not at all"},
    {"can_truncate", "asks whether a sequence can be shortened to a length"},
    {"release", "ends a sequence, and gives up what only it held"},
    {"close", "tries to close the cache while something in it is alive"},
    {"step", "appends to and verifies several sequences at once, as an engine's step does"},
    {"capture", "publishes a snapshot under its tokens, as a prefix entry"},
    {"restore", "starts a sequence from the longest prefix entry that fits its tokens"},
    {"erase", "takes a prefix entry away"},
    {"reload", "writes a prefix entry as bytes, and reads them back"},
    {"load_damaged", "reads the bytes of a prefix entry that were damaged: they must be refused"},
    {"stream", "goes on in another stream, whose work nothing orders by itself"},
    {"sync", "waits for all work of all streams"},
    {"fault", "makes the calls of a device fail"},
    {"heal", "ends what made the calls of a device fail"},
    {"cancel", "begins a step over several sequences, and drops it when its rows are on their way"},
    {"leave", "releases a sequence out of a step that is under way; the others finish"},
    {"delay", "holds up a stream of one device until the host waits for it"},
};

constexpr Meaning kPlanes[] = {
    {"attention_kv", "keys and values of attention, a row a token"},
    {"latent", "compressed rows of latent attention, one a token"},
    {"pool_keys", "keys by which a sparse indexer finds latent rows, one for each pool of tokens"},
    {"tail_ring", "the newest raw rows of the indexer, in a ring that is written over"},
    {"recurrent", "conv windows and ssm states, one slot for each state; the number is the slot"},
    {"held", "side state that must travel with the rest, in slots; the number is the slot"},
    {"draft_kv", "keys and values of a draft model, which may lag behind"},
    {"draft_latent", "latent rows of a draft model, which may lag behind"},
};

constexpr std::string_view meaning_in(std::span<Meaning const> table, std::string_view name) {
  for (Meaning const& one : table) {
    if (one.name == name) {
      return one.text;
    }
  }
  return "";
}

}  // namespace

std::string_view meaning_of_operation(std::string_view kind) noexcept {
  return meaning_in(kOperations, kind);
}

std::string_view meaning_of_plane(std::string_view name) noexcept {
  return meaning_in(kPlanes, name);
}

}  // namespace holdfast::fuzz
