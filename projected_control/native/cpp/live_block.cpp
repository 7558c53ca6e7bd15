// Changes of a running loop's live block.

#include "live_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace projected_control {
namespace {

constexpr int64_t bad_size = PROJECTED_CONTROL_STATUS_SIZE;
constexpr int64_t bad_value = PROJECTED_CONTROL_STATUS_VALUE;

constexpr int bodies_slot = PROJECTED_CONTROL_SLOT_BODIES;
constexpr int reference_slot = PROJECTED_CONTROL_SLOT_REFERENCE;
constexpr int force_reference_slot = PROJECTED_CONTROL_SLOT_FORCE_REFERENCE;

projected_control_live_block parts(const double *block, const Sizes &s) {
  return projected_control_live_block_view(
      const_cast<double *>(block), s.n, s.m, s.k, PROJECTED_CONTROL_SLOTS, s.motion, s.force);
}

void set_bodies(projected_control_arm *arm, const double *bodies, int64_t n) {
  projected_control_arm_set_inertias(arm, bodies, bodies + (n + 1), bodies + 4 * (n + 1));
}

// A table as a block will have it: where it comes from, and long enough for it and for all before it.
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

// What a slot declares of its numbers.
Verdict check_numbers(
    const char *name, const double *numbers, int64_t count, double least, bool finite) {
  for (int64_t i = 0; i < count; ++i) {
    if (std::isnan(numbers[i])) return refused(bad_value, "a number of %s is not a number", name);
    if (finite && std::isinf(numbers[i]))
      return refused(bad_value, "a number of %s is not finite", name);
    if (numbers[i] < least)
      return refused(
          bad_value, "a number of %s is %g, the least is %g", name, numbers[i], least);
  }
  return {};
}

// Diagonals of stiffness, damping and inverse inertia, and the damping ratio.
Verdict check_impedance(const double *numbers, int64_t k) {
  for (int64_t which = 0; which < 3; ++which)
    for (int64_t i = 0; i < k; ++i)
      if (const double own = numbers[(which * k + i) * k + i]; own < 0.0)
        return refused(
            bad_value, "stiffness, damping or inertia of an impedance is negative: %g", own);
  if (const double ratio = numbers[3 * k * k]; ratio < 0.0)
    return refused(bad_value, "the damping ratio of an impedance is negative: %g", ratio);
  return {};
}

// Copies a block into the mailbox, for the tick to take whole: as control/live.py has it.
void publish(const double *block, double *mailbox, int64_t count, const Sizes &s) {
  volatile double *const box = mailbox;
  box[0] = block[0] - 1.0;  // odd: being written
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int64_t i = parts(block, s).versions - block; i < count; ++i) box[i] = block[i];
  std::atomic_thread_fence(std::memory_order_seq_cst);
  box[0] = block[0];
}

}  // namespace

Verdict check_block(const double *block, const double *before, const Sizes &s, double period) {
  const int64_t n = s.n, m = s.m, k = s.k;
  const auto l = parts(block, s);
  if (!is_whole(l.sequence[0], 0.0, 1e15) || std::fmod(l.sequence[0], 2.0) != 0.0)
    return refused(bad_value, "change number %g was still being written", l.sequence[0]);
  if (l.sequence[0] <= before[0])
    return refused(
        PROJECTED_CONTROL_STATUS_ORDER, "change %g came after change %g", l.sequence[0], before[0]);
  if (l.lengths[0] != static_cast<double>(s.motion) || l.lengths[1] != static_cast<double>(s.force))
    return refused(
        bad_size, "tables of %g and %g numbers, there is place for %ld and %ld", l.lengths[0],
        l.lengths[1], static_cast<long>(s.motion), static_cast<long>(s.force));
  constexpr int64_t slots = PROJECTED_CONTROL_SLOTS;
  if (Verdict v = check_numbers("versions", l.versions, slots, 0.0, true); !v.accepted()) return v;
  if (Verdict v = check_numbers("times to come into force", l.seconds, slots, 0.0, true);
      !v.accepted())
    return v;
#define PROJECTED_CONTROL_CHECK(name, count, least, finite)                          \
  if (Verdict v = check_numbers(#name, l.name, count, least, finite); !v.accepted()) \
    return v;
  PROJECTED_CONTROL_LIVE_SLOTS(PROJECTED_CONTROL_CHECK)
#undef PROJECTED_CONTROL_CHECK
  if (Verdict v = check_impedance(l.impedance, k); !v.accepted()) return v;
  // Version zero: they were never changed, and are not looked at.
  if (l.versions[PROJECTED_CONTROL_SLOT_LIMITS] != 0.0)
    if (Verdict v = check_limits(l.limits, n, k, period); !v.accepted()) return v;
  if (Verdict v = check_sensor(l.sensor, s); !v.accepted()) return v;
  if (Verdict v = check_table("reference", l.reference, s.motion, k, false); !v.accepted())
    return v;
  return check_table("force reference", l.force_reference, s.force, s.m, true);
}

LiveBlock::~LiveBlock() {
  if (arm_) projected_control_arm_destroy(arm_);
}

Verdict LiveBlock::begin(
    const Message &begin, const struct projected_control_tick &tick, const Sizes &sizes,
    double period) {
  sizes_ = sizes_in_use_ = sizes;
  period_ = period;
  mailbox_ = current_ = tick.mailbox;
  last_.assign(mailbox_, mailbox_ + tick.mailbox_shape[0]);
  head_ = parts(mailbox_, sizes_).reference - mailbox_;
  Verdict verdict;
  arm_ = arm_from(begin, sizes_.n, verdict);
  return verdict;
}

Verdict LiveBlock::post(const Message &message) {
  std::vector<double> block;
  Sizes sizes = sizes_;
  if (Verdict v = compose(message, block, sizes); !v.accepted()) return v;
  if (Verdict v = check_block(block.data(), last_.data(), sizes, period_); !v.accepted()) return v;
  const auto now = parts(block.data(), sizes), last = parts(last_.data(), sizes_);
  const bool new_bodies = now.versions[bodies_slot] != last.versions[bodies_slot];
  if (new_bodies || message.section(PROJECTED_CONTROL_SECTION_CHECK).there)
    if (Verdict v = check_bodies(message, now.bodies); !v.accepted()) return v;
  send(std::move(block), sizes, new_bodies);
  return {};
}

// The whole block: what the message has of it, and the last one's tables where these stay.
Verdict LiveBlock::compose(const Message &message, std::vector<double> &block, Sizes &sizes) const {
  if (Verdict v = message.expect(PROJECTED_CONTROL_SECTION_MAILBOX, head_); !v.accepted()) return v;
  const double *const head = message.section(PROJECTED_CONTROL_SECTION_MAILBOX).reals();
  const auto last = parts(last_.data(), sizes_);
  const Section &motion = message.section(PROJECTED_CONTROL_SECTION_REFERENCE);
  const Section &force = message.section(PROJECTED_CONTROL_SECTION_FORCE_REFERENCE);
  const double *const versions = parts(head, sizes_).versions;
  const auto is_missing = [&](const Section &table, int slot) {
    return !table.there && !(versions[slot] == last.versions[slot]);
  };
  if (is_missing(motion, reference_slot) || is_missing(force, force_reference_slot))
    return refused(bad_size, "the change has a new reference and does not bring its table");
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
  block.assign(static_cast<size_t>(head_ + sizes.motion + sizes.force), 0.0);
  std::copy_n(head, head_, block.begin());
  const auto l = parts(block.data(), sizes);
  l.lengths[0] = static_cast<double>(sizes.motion);
  l.lengths[1] = static_cast<double>(sizes.force);
  moves.write(l.reference);
  presses.write(l.force_reference);
  return {};
}

// Masses that Pinocchio takes, and with which it computes what it does in Python.
Verdict LiveBlock::check_bodies(const Message &message, const double *bodies) {
  const int64_t n = sizes_.n, count = 3 * n + n * n;
  if (Verdict v = message.expect(PROJECTED_CONTROL_SECTION_CHECK, count); !v.accepted()) return v;
  const double *const numbers = message.section(PROJECTED_CONTROL_SECTION_CHECK).reals();
  if (Verdict v = check_numbers("CHECK", numbers, count, -INFINITY, true); !v.accepted()) return v;
  if (Verdict v = check_numbers("the bodies' masses", bodies, n + 1, 0.0, true); !v.accepted())
    return v;
  set_bodies(arm_, bodies, n);
  return check_pass(arm_, numbers, n);
}

void LiveBlock::send(std::vector<double> block, const Sizes &sizes, bool new_bodies) {
  // What is still offered was not taken: it goes with this block. From here on no cycle has it.
  Spare *const waiting = offered_.exchange(nullptr, std::memory_order_acq_rel);
  const bool fits = sizes.motion == sizes_.motion && sizes.force == sizes_.force;
  if (!waiting && fits && !new_bodies) {
    publish(block.data(), mailbox_, static_cast<int64_t>(block.size()), sizes);
  } else {
    auto spare = std::make_unique<Spare>();
    spare->number = ++count_;
    const auto l = parts(block.data(), sizes);
    spare->mailbox = spare->taken = block;
    spare->reference.assign(l.reference, l.reference + sizes.motion);
    spare->force_reference.assign(l.force_reference, l.force_reference + sizes.force);
    mailbox_ = spare->mailbox.data();
    spares_.push_back(std::move(spare));
    offered_.store(spares_.back().get(), std::memory_order_release);
  }
  sizes_ = sizes;
  last_ = std::move(block);
  const int64_t in_use = in_use_.load(std::memory_order_acquire);
  spares_.erase(
      std::remove_if(
          spares_.begin(), spares_.end(),
          [&](const std::unique_ptr<Spare> &spare) {
            return spare.get() == waiting || spare->number < in_use;
          }),
      spares_.end());
}

// The thread that ticks

void LiveBlock::take(
    bool silent, struct projected_control_tick &tick,
    struct projected_control_answer_silence &silence, projected_control_arm *arm) {
  tick.mailbox = silent ? tick.taken : current_;
  if (silent || !offered_.load(std::memory_order_relaxed)) return;
  Spare *const spare = offered_.exchange(nullptr, std::memory_order_acq_rel);
  if (!spare) return;
  Sizes &sizes = sizes_in_use_;
  sizes.motion = static_cast<int64_t>(spare->reference.size());
  sizes.force = static_cast<int64_t>(spare->force_reference.size());
  const auto l = parts(spare->taken.data(), sizes);
  std::memcpy(l.applied, tick.taken + 1, PROJECTED_CONTROL_SLOTS * sizeof(double));
  const auto stays = [&](int slot) { return l.applied[slot] == l.versions[slot]; };
  // A table that is new is copied by the tick; one that stays is that in force.
  if (stays(reference_slot)) move_table(tick.reference, spare->reference.data());
  if (stays(force_reference_slot)) move_table(tick.force_reference, spare->force_reference.data());
  if (!stays(bodies_slot)) set_bodies(arm, l.bodies, sizes.n);
  const auto count = static_cast<int64_t>(spare->taken.size());
  tick.taken = tick.mailbox = spare->taken.data();  // the block is there already
  tick.taken_shape[0] = tick.mailbox_shape[0] = count;
  tick.reference = silence.reference = spare->reference.data();
  tick.reference_shape[0] = silence.reference_shape[0] = sizes.motion;
  tick.force_reference = silence.force_reference = spare->force_reference.data();
  tick.force_reference_shape[0] = silence.force_reference_shape[0] = sizes.force;
  current_ = spare->mailbox.data();
  in_use_.store(spare->number, std::memory_order_release);
}

}  // namespace projected_control
