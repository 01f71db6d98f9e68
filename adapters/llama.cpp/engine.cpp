// SPDX-License-Identifier: Apache-2.0
#include "adapters/llama.cpp/engine.hpp"

#include <algorithm>
#include <array>

namespace holdfast::llama_cpp {

namespace {

// The saved half that cannot be rolled back, or all of it.
llama_state_seq_flags flags(bool part) {
  return part ? LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY : LLAMA_STATE_SEQ_FLAGS_NONE;
}

// One thread, f32 rows and no flash attention: what other chunks of the same tokens change stays small.
llama_context_params exact_parameters() {
  llama_context_params p = llama_context_default_params();
  p.n_threads = 1;
  p.n_threads_batch = 1;
  p.type_k = GGML_TYPE_F32;
  p.type_v = GGML_TYPE_F32;
  p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  return p;
}

// One sequence, one micro-batch, and nothing that helps anything but a history from its first token on. States
// have room for more rows than kContext says, and what no cache refuses can be some rows longer.
Context make_plain_context(llama_model* model) {
  constexpr std::uint32_t kMost = kContext + 4 * kBatch;
  llama_context_params p = exact_parameters();
  p.n_ctx = kMost;
  p.n_batch = kMost;
  p.n_ubatch = kMost;
  p.n_seq_max = 1;
  return Context(llama_init_from_model(model, p));
}

Context make_context(llama_model* model, Knobs const& knobs) {
  llama_context_params p = exact_parameters();
  p.n_ctx = knobs.unified ? kContext : kContext * kSequences;
  p.n_batch = kBatch;
  p.n_ubatch = knobs.micro_batch;
  p.n_seq_max = kSequences;
  p.n_rs_seq = knobs.rollback;
  p.kv_unified = knobs.unified;
  p.swa_full = knobs.whole_window;
  return Context(llama_init_from_model(model, p));
}

// A llama_batch over vectors.
class Batch {
 public:
  void add(Row const& row, llama_pos position) {
    tokens_.push_back(row.token);
    positions_.push_back(position);
    sequences_.push_back(row.sequence);
    logits_.push_back(row.wants_logits ? 1 : 0);
  }

  int decode(llama_context* context) {
    std::vector<std::int32_t> counts(tokens_.size(), 1);
    std::vector<llama_seq_id*> ids;
    ids.reserve(sequences_.size());
    for (llama_seq_id& sequence : sequences_) {
      ids.push_back(&sequence);
    }
    llama_batch batch = {};
    batch.n_tokens = static_cast<std::int32_t>(tokens_.size());
    batch.token = tokens_.data();
    batch.pos = positions_.data();
    batch.n_seq_id = counts.data();
    batch.seq_id = ids.data();
    batch.logits = logits_.data();
    return llama_decode(context, batch);
  }

  std::vector<Logits> logits(llama_context* context) const {
    std::vector<Logits> all;
    for (std::size_t row = 0; row < logits_.size(); ++row) {
      if (logits_[row] != 0) {
        float const* values = llama_get_logits_ith(context, static_cast<std::int32_t>(row));
        all.emplace_back(values, values + kVocabulary);
      }
    }
    return all;
  }

 private:
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<llama_seq_id> sequences_;
  std::vector<std::int8_t> logits_;
};

// llama.h says of each status what it means.
std::string decode_reason(int status) {
  switch (status) {
    case 1:
      return "no_slot";
    case 2:
      return "aborted";
    case -1:
      return "invalid_batch";
    default:
      return "fatal" + std::to_string(status);
  }
}

std::string decimal(std::uint64_t value) {
  return std::to_string(value);
}

// A load that fails, for want of room or for damaged bytes, has emptied its sequence. llama.h does not say
// how much of the sequence is left, so the answer is weak.
Answer loaded(std::size_t read) {
  return read == 0 ? Answer::weak() : Answer::ok("bytes=" + decimal(read));
}

}  // namespace

Engine::Loaded const* Engine::load_model(Architecture const& architecture, std::string& why) {
  auto const known = models_.find(architecture.name);
  if (known != models_.end()) {
    return &known->second;
  }
  Loaded loaded;
  loaded.model = make_tiny_model(architecture, 1, why);
  if (loaded.model == nullptr) {
    return nullptr;
  }
  loaded.plain = make_plain_context(loaded.model.get());
  if (loaded.plain == nullptr) {
    why = "no plain context";
    return nullptr;
  }
  return &models_.emplace(architecture.name, std::move(loaded)).first->second;
}

Answer Engine::reset(Knobs const& knobs) {
  std::string why;
  entries_.clear();
  given_.clear();
  context_.reset();
  loaded_ = load_model(*knobs.architecture, why);
  if (loaded_ != nullptr) {
    context_ = make_context(loaded_->model.get(), knobs);
  }
  return context_ == nullptr ? Answer::refused("no_context") : Answer::ok();
}

Answer Engine::positions() const {
  std::string fields;
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    const llama_pos least = llama_memory_seq_pos_min(memory(), sequence);
    const llama_pos greatest = llama_memory_seq_pos_max(memory(), sequence);
    if (least != -1 || greatest != -1) {  // a hybrid of which one half is empty says -1 once
      fields += (fields.empty() ? "s" : " s") + std::to_string(sequence) + "=" +
                std::to_string(least) + ".." + std::to_string(greatest);
    }
  }
  return Answer::ok(fields);
}

Answer Engine::cold(std::vector<Row> const& rows, llama_pos first) {
  llama_context* plain = loaded_->plain.get();
  llama_memory_clear(llama_get_memory(plain), true);
  Batch batch;
  for (Row const& row : rows) {
    batch.add(row, first++);
  }
  int const status = rows.empty() ? 0 : batch.decode(plain);
  if (status != 0) {
    return Answer::refused(decode_reason(status));
  }
  Answer answer;
  answer.logits = batch.logits(plain);
  return answer;
}

llama_pos Engine::next_position(int sequence) const {
  return llama_memory_seq_pos_max(memory(), sequence) + 1;
}

// A batch above n_batch is one that llama.h does not allow, and the library aborts.
Answer Engine::decode(std::vector<Row> const& rows) {
  if (rows.size() > kBatch) {
    return Answer::refused("batch");
  }
  std::map<int, llama_pos> next;
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    next[sequence] = next_position(sequence);
    if (next[sequence] == 0) {
      given_[sequence].clear();
    }
  }
  Batch batch;
  for (Row const& row : rows) {
    batch.add(row, next[row.sequence]++);
  }
  int const status = batch.decode(context_.get());
  if (status != 0) {
    return Answer::refused(decode_reason(status));
  }
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    given_[row->sequence].insert(--next[row->sequence]);
  }
  Answer answer;
  answer.logits = batch.logits(context_.get());
  return answer;
}

// Whether rows that the next one would see have left the window. llama.h guarantees that all positions
// from the least to the greatest are there, and says that the least is above 0 for windows alone.
bool Engine::lacks_window(int sequence) {
  const std::int32_t window = llama_model_n_swa(loaded_->model.get());
  if (window == 0) {
    return false;
  }
  const llama_pos least = llama_memory_seq_pos_min(memory(), sequence);
  const llama_pos first = *given_[sequence].begin();
  return least == -1 || least > std::max(first, next_position(sequence) - window + 1);
}

// What a removal did to a sequence the next position of which was `before`: whether it took its last rows
// and left others, of which those that the next row would see are gone.
bool Engine::is_weakened(int sequence, Range range, llama_pos before) {
  bool const took_tail = next_position(sequence) < before;
  std::set<llama_pos>& given = given_[sequence];
  for (auto row = given.begin(); row != given.end();) {
    row = range.has(*row) ? given.erase(row) : std::next(row);
  }
  return took_tail && !given.empty() && lacks_window(sequence);
}

Answer Engine::remove(int sequence, Range range) {
  const llama_pos before = next_position(sequence);
  if (!llama_memory_seq_rm(memory(), sequence, range.first, range.end)) {
    return Answer::refused("cannot_remove");
  }
  return is_weakened(sequence, range, before) ? Answer::weak() : Answer::ok();
}

Answer Engine::remove_every(Range range) {
  std::array<llama_pos, kSequences> before = {};
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    before[static_cast<std::size_t>(sequence)] = next_position(sequence);
  }
  if (!llama_memory_seq_rm(memory(), -1, range.first, range.end)) {
    return Answer::refused("cannot_remove");
  }
  bool weak = false;
  for (int sequence = 0; sequence < kSequences; ++sequence) {
    weak = is_weakened(sequence, range, before[static_cast<std::size_t>(sequence)]) || weak;
  }
  return weak ? Answer::weak() : Answer::ok();
}

// llama.h does not say what becomes of the rows that `to` has, so they are removed first.
Answer Engine::copy(int from, int to) {
  if (from == to) {
    return Answer::ok();
  }
  if (!llama_memory_seq_rm(memory(), to, -1, -1)) {
    return Answer::refused("cannot_remove");
  }
  llama_memory_seq_cp(memory(), from, to, -1, -1);
  given_[to] = given_[from];
  return Answer::ok();
}

Answer Engine::keep(int sequence) {
  llama_memory_seq_keep(memory(), sequence);
  return Answer::ok();
}

Answer Engine::shift(int sequence, Range range, llama_pos by) {
  if (!llama_memory_can_shift(memory())) {
    return Answer::refused("cannot_shift");
  }
  llama_memory_seq_add(memory(), sequence, range.first, range.end, by);
  std::set<llama_pos> moved;
  for (llama_pos const row : given_[sequence]) {
    moved.insert(range.has(row) ? row + by : row);
  }
  given_[sequence] = std::move(moved);
  return Answer::ok();
}

Answer Engine::clear() {
  llama_memory_clear(memory(), true);
  return Answer::ok();
}

Answer Engine::save(std::optional<int> sequence, int entry, bool part) {
  llama_context* context = context_.get();
  Entry made;
  const std::size_t promised = sequence
                                   ? llama_state_seq_get_size_ext(context, *sequence, flags(part))
                                   : llama_state_get_size(context);
  made.bytes.resize(promised);
  const std::size_t written =
      sequence ? llama_state_seq_get_data_ext(
                     context, made.bytes.data(), promised, *sequence, flags(part))
               : llama_state_get_data(context, made.bytes.data(), promised);
  if (written == 0) {
    return Answer::refused("cannot_save");
  }
  made.bytes.resize(std::min(promised, written));
  made.given = given_;
  if (sequence) {
    made.given[0] = given_[*sequence];
    made.next = next_position(*sequence);
  }
  entries_[entry] = std::move(made);
  return Answer::ok("bytes=" + decimal(written) + " promised=" + decimal(promised));
}

Answer Engine::load(std::optional<int> sequence, int entry, bool part) {
  auto const found = entries_.find(entry);
  if (found == entries_.end()) {
    return Answer::refused("no_entry");
  }
  Entry& saved = found->second;
  llama_context* context = context_.get();
  if (!sequence) {
    given_ = saved.given;
    return loaded(llama_state_set_data(context, saved.bytes.data(), saved.bytes.size()));
  }
  const std::size_t read = llama_state_seq_set_data_ext(
      context, saved.bytes.data(), saved.bytes.size(), *sequence, flags(part));
  if (read != 0 && part && !llama_memory_seq_rm(memory(), *sequence, saved.next, -1)) {
    return Answer::weak();  // what was damaged may say that it is longer, and cannot be shortened
  }
  given_[*sequence] = saved.given[0];
  return loaded(read);
}

Answer Engine::flip(int entry, std::uint64_t bit) {
  auto const found = entries_.find(entry);
  if (found == entries_.end()) {
    return Answer::refused("no_entry");
  }
  Entry& saved = found->second;
  if (!saved.bytes.empty()) {
    bit %= 8 * saved.bytes.size();
    saved.bytes[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  }
  return Answer::ok();
}

Answer Engine::cut(int entry, std::uint64_t bytes) {
  auto const found = entries_.find(entry);
  if (found == entries_.end()) {
    return Answer::refused("no_entry");
  }
  Entry& saved = found->second;
  saved.bytes.resize(saved.bytes.size() - bytes % (saved.bytes.size() + 1));
  return Answer::ok();
}

}  // namespace holdfast::llama_cpp
