// Letters to a running loop.

#include "letters.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace projected_control {
namespace {

constexpr int64_t bad_size = PROJECTED_CONTROL_STATUS_SIZE;
constexpr int64_t bad_value = PROJECTED_CONTROL_STATUS_VALUE;

constexpr int reference_section = PROJECTED_CONTROL_LETTER_SECTION_REFERENCE;
constexpr int force_reference_section = PROJECTED_CONTROL_LETTER_SECTION_FORCE_REFERENCE;

constexpr uint32_t load_sections[] = {
    PROJECTED_CONTROL_SECTION_MASSES, PROJECTED_CONTROL_SECTION_CENTRES,
    PROJECTED_CONTROL_SECTION_INERTIAS, PROJECTED_CONTROL_SECTION_CHECK};

projected_control_letter_terms parts(const double *letter, const Sizes &s) {
  return projected_control_letter_terms_view(
      const_cast<double *>(letter), s.n, s.k, s.motion, s.force);
}

// A table as a letter will have it: where it comes from, and room for it and for all before it.
struct Placed {
  const double *source;
  double pieces, sines;
  int64_t count;

  Placed(const double *last, const Section &fresh)
      : source(fresh.there ? fresh.reals() : last),
        pieces(std::fmax(last[1], source[3])),
        sines(std::fmax(last[2], source[4])),
        count(projected_control_motion_terms_size(
            static_cast<int64_t>(last[0]), static_cast<int64_t>(pieces),
            static_cast<int64_t>(sines))) {}

  void write(double *table) const {
    table[0] = source[0];
    table[1] = pieces;
    table[2] = sines;
    move_table(source, table);
  }
};

}  // namespace

Letters::~Letters() {
  if (arm_) projected_control_arm_destroy(arm_);
}

Verdict Letters::begin(
    const Message &begin, const struct projected_control_tick &tick, const Sizes &sizes,
    double period) {
  sizes_ = sizes;
  period_ = period;
  mailbox_ = current_ = tick.mailbox;
  last_.assign(mailbox_, mailbox_ + tick.mailbox_shape[0]);
  const auto letter = parts(mailbox_, sizes_);
  head_ = letter.reference - mailbox_;
  applied_ = letter.lengths - mailbox_;
  versions_ = letter.versions - mailbox_;
  Verdict verdict;
  arm_ = arm_from(begin, sizes_.n, verdict);
  return verdict;
}

Verdict Letters::post(const Message &message) {
  std::vector<double> letter;
  Sizes sizes = sizes_;
  Load load;
  if (Verdict v = compose(message, letter, sizes); !v.accepted()) return v;
  if (Verdict v = check_letter(letter.data(), last_.data(), sizes, period_); !v.accepted()) return v;
  if (Verdict v = read_load(message, load); !v.accepted()) return v;
  send(std::move(letter), sizes, std::move(load));
  return {};
}

// The whole letter: what the message has of it, and the last letter's tables where these stay.
Verdict Letters::compose(const Message &message, std::vector<double> &letter, Sizes &sizes) const {
  if (Verdict v = message.expect(PROJECTED_CONTROL_SECTION_MAILBOX, head_); !v.accepted()) return v;
  const double *const head = message.section(PROJECTED_CONTROL_SECTION_MAILBOX).reals();
  const auto last = parts(last_.data(), sizes_);
  const Section &motion = message.section(PROJECTED_CONTROL_SECTION_REFERENCE);
  const Section &force = message.section(PROJECTED_CONTROL_SECTION_FORCE_REFERENCE);
  const double *const versions = head + versions_;
  const auto is_missing = [&](const Section &table, int section) {
    return !table.there && !(versions[section] == last.versions[section]);
  };
  if (is_missing(motion, reference_section) || is_missing(force, force_reference_section))
    return refused(bad_size, "the letter has a new reference and does not bring its table");
  if (motion.there)
    if (Verdict v = check_table("reference", motion.reals(), motion.count, sizes.k, false);
        !v.accepted())
      return v;
  if (force.there)
    if (Verdict v = check_table("force reference", force.reals(), force.count, sizes.m, true);
        !v.accepted())
      return v;
  const Placed moves(last.reference, motion), presses(last.force_reference, force);
  sizes.motion = moves.count;
  sizes.force = presses.count;
  letter.assign(static_cast<size_t>(head_ + sizes.motion + sizes.force), 0.0);
  std::copy_n(head, head_, letter.begin());
  const auto l = parts(letter.data(), sizes);
  l.lengths[0] = static_cast<double>(sizes.motion);
  l.lengths[1] = static_cast<double>(sizes.force);
  moves.write(l.reference);
  presses.write(l.force_reference);
  return {};
}

Verdict Letters::read_load(const Message &message, Load &load) {
  const int64_t n = sizes_.n, bodies = n + 1;
  const auto is_there = [&](uint32_t id) { return message.section(id).there; };
  if (std::none_of(std::begin(load_sections), std::end(load_sections), is_there)) return {};
  const int64_t counts[] = {bodies, 3 * bodies, 9 * bodies, 3 * n + n * n};
  for (int i = 0; i < 4; ++i) {
    if (Verdict v = message.expect(load_sections[i], counts[i]); !v.accepted()) return v;
    const double *numbers = message.section(load_sections[i]).reals();
    if (!std::all_of(numbers, numbers + counts[i], [](double x) { return std::isfinite(x); }))
      return refused(bad_value, "a number of the arm's masses is not finite");
  }
  const auto of = [&](int i) { return message.section(load_sections[i]).reals(); };
  if (std::any_of(of(0), of(0) + bodies, [](double mass) { return mass < 0.0; }))
    return refused(bad_value, "a body has a negative mass");
  projected_control_arm_set_inertias(arm_, of(0), of(1), of(2));
  if (Verdict v = check_pass(arm_, of(3), n); !v.accepted()) return v;
  load.masses.assign(of(0), of(0) + counts[0]);
  load.centres.assign(of(1), of(1) + counts[1]);
  load.inertias.assign(of(2), of(2) + counts[2]);
  return {};
}

void Letters::send(std::vector<double> letter, const Sizes &sizes, Load load) {
  // What is still offered was not taken: it goes with this letter. From here on no cycle has it.
  Parcel *const waiting = offered_.exchange(nullptr, std::memory_order_acq_rel);
  const bool fits = sizes.motion == sizes_.motion && sizes.force == sizes_.force;
  if (!waiting && fits && load.masses.empty()) {
    publish_letter(letter.data(), mailbox_, static_cast<int64_t>(letter.size()), sizes);
  } else {
    auto parcel = std::make_unique<Parcel>();
    parcel->number = ++count_;
    const auto l = parts(letter.data(), sizes);
    parcel->mailbox = parcel->taken = letter;
    parcel->reference.assign(l.reference, l.reference + sizes.motion);
    parcel->force_reference.assign(l.force_reference, l.force_reference + sizes.force);
    parcel->load = load.masses.empty() && waiting ? std::move(waiting->load) : std::move(load);
    mailbox_ = parcel->mailbox.data();
    parcels_.push_back(std::move(parcel));
    offered_.store(parcels_.back().get(), std::memory_order_release);
  }
  sizes_ = sizes;
  last_ = std::move(letter);
  const int64_t in_use = in_use_.load(std::memory_order_acquire);
  parcels_.erase(
      std::remove_if(
          parcels_.begin(), parcels_.end(),
          [&](const std::unique_ptr<Parcel> &parcel) {
            return parcel.get() == waiting || parcel->number < in_use;
          }),
      parcels_.end());
}

// The thread that ticks

void Letters::take(
    bool silent, struct projected_control_tick &tick,
    struct projected_control_answer_silence &silence, projected_control_arm *arm) {
  tick.mailbox = silent ? tick.taken : current_;
  if (silent || !offered_.load(std::memory_order_relaxed)) return;
  Parcel *const parcel = offered_.exchange(nullptr, std::memory_order_acq_rel);
  if (!parcel) return;
  if (!parcel->load.masses.empty())
    projected_control_arm_set_inertias(
        arm, parcel->load.masses.data(), parcel->load.centres.data(),
        parcel->load.inertias.data());
  const double *const versions = parcel->taken.data() + versions_;
  double *const applied = parcel->taken.data() + 1;
  std::memcpy(applied, tick.taken + 1, static_cast<size_t>(applied_ - 1) * sizeof(double));
  // A table that is new is copied by the tick; one that stays is that in force.
  if (applied[reference_section] == versions[reference_section])
    move_table(tick.reference, parcel->reference.data());
  if (applied[force_reference_section] == versions[force_reference_section])
    move_table(tick.force_reference, parcel->force_reference.data());
  const auto count = static_cast<int64_t>(parcel->taken.size());
  tick.taken = tick.mailbox = parcel->taken.data();  // the letter is there already
  tick.taken_shape[0] = tick.mailbox_shape[0] = count;
  tick.reference = silence.reference = parcel->reference.data();
  tick.reference_shape[0] = silence.reference_shape[0] =
      static_cast<int64_t>(parcel->reference.size());
  tick.force_reference = silence.force_reference = parcel->force_reference.data();
  tick.force_reference_shape[0] = silence.force_reference_shape[0] =
      static_cast<int64_t>(parcel->force_reference.size());
  current_ = parcel->mailbox.data();
  in_use_.store(parcel->number, std::memory_order_release);
}

}  // namespace projected_control
