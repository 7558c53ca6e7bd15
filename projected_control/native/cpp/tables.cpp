// What a letter must be before a tick may take it.

#include "tables.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace projected_control {
namespace {

constexpr int64_t bad_value = PROJECTED_CONTROL_STATUS_VALUE;
constexpr double most = 1e9;  // no table has as many pieces

bool is_whole(double x, double least, double largest) {
  return x >= least && x <= largest && x == std::floor(x);
}

bool all_finite(const double *begin, const double *end) {
  for (; begin < end; ++begin)
    if (!std::isfinite(*begin)) return false;
  return true;
}

bool any_nan(const double *begin, const double *end) {
  for (; begin < end; ++begin)
    if (std::isnan(*begin)) return true;
  return false;
}

// Where a sensor's numbers say which joint carries it.
int64_t joint_in_sensor(const Sizes &s) {
  std::vector<double> room(static_cast<size_t>(projected_control_source_terms_size(s.n, s.m)));
  const auto source = projected_control_source_terms_view(room.data(), s.n, s.m);
  return source.joint - source.sensor;
}

double *writable(const double *numbers) { return const_cast<double *>(numbers); }

}  // namespace

Verdict check_table(
    const char *name, const double *table, int64_t count, int64_t size, bool may_be_empty) {
  constexpr int64_t header = 5;
  if (count < header)
    return refused(PROJECTED_CONTROL_STATUS_SIZE, "the %s is shorter than a header", name);
  if (table[0] != static_cast<double>(size))
    return refused(bad_value, "the %s has %g numbers, expected were %ld", name, table[0],
                   static_cast<long>(size));
  if (!is_whole(table[1], 0.0, most) || !is_whole(table[2], 0.0, most))
    return refused(bad_value, "the %s does not say how long it is", name);
  const auto room = static_cast<int64_t>(table[1]), waves = static_cast<int64_t>(table[2]);
  if (projected_control_motion_terms_size(size, room, waves) != count)
    return refused(
        PROJECTED_CONTROL_STATUS_SIZE, "the %s is not as long as its header says", name);
  const double least = may_be_empty ? 0.0 : 1.0;
  if (!is_whole(table[3], least, table[1]) || !is_whole(table[4], 0.0, table[2]))
    return refused(
        bad_value, "the %s has %g pieces and %g sines, room is for %ld and %ld; one that Python "
        "computes in every tick cannot be followed here", name, table[3], table[4],
        static_cast<long>(room), static_cast<long>(waves));
  const auto pieces = static_cast<int64_t>(table[3]), sines = static_cast<int64_t>(table[4]);
  const auto t = projected_control_motion_terms_view(writable(table), size, room, waves);
  for (int64_t i = 0; i < pieces; ++i) {
    const bool starts = i == 0 ? t.begin[0] < INFINITY : t.begin[i] > t.begin[i - 1];
    if (!starts || t.begin[i] == INFINITY)
      return refused(bad_value, "piece %ld of the %s does not begin after the one before",
                     static_cast<long>(i), name);
    if (!is_whole(t.first_sine[i], 0.0, table[4]) || t.first_sine[i + 1] < t.first_sine[i] ||
        !is_whole(t.first_sine[i + 1], 0.0, table[4]))
      return refused(bad_value, "the sines of the %s are not in order", name);
  }
  if (!all_finite(t.origin, t.origin + pieces * size))
    return refused(bad_value, "an origin of the %s is not finite", name);
  const int64_t coefficients = room && size ? (t.waves - t.coefficients) / (room * size) : 0;
  if (!all_finite(t.coefficients, t.coefficients + pieces * size * coefficients))
    return refused(bad_value, "a coefficient of the %s is not finite", name);
  for (int64_t i = 0; i < sines; ++i)
    if (!is_whole(t.waves[4 * i], 0.0, static_cast<double>(size - 1)) ||
        !all_finite(t.waves + 4 * i, t.waves + 4 * i + 4))
      return refused(bad_value, "a sine of the %s is not finite", name);
  return {};
}

void move_table(const double *source, double *target) {
  const auto whole = [](double number) { return static_cast<int64_t>(number); };
  const int64_t size = whole(source[0]), pieces = whole(source[3]), sines = whole(source[4]);
  const auto view = [size, whole](double *table) {
    return projected_control_motion_terms_view(table, size, whole(table[1]), whole(table[2]));
  };
  const auto from = view(writable(source)), to = view(target);
  const int64_t room = whole(source[1]);
  const int64_t coefficients = room && size ? (from.waves - from.coefficients) / (room * size) : 0;
  target[3] = source[3];
  target[4] = source[4];
  std::copy_n(from.begin, pieces, to.begin);
  std::copy_n(from.first_sine, pieces + 1, to.first_sine);
  std::copy_n(from.origin, pieces * size, to.origin);
  std::copy_n(from.coefficients, pieces * size * coefficients, to.coefficients);
  std::copy_n(from.waves, 4 * sines, to.waves);
}

Verdict check_limits(const double *limits, int64_t n, int64_t k, double period) {
  const auto g = projected_control_guard_terms_view(writable(limits), n, k);
  if (any_nan(g.limits, g.stamp)) return refused(bad_value, "a limit is not a number");
  for (const double *number = g.limits; number < g.lower; ++number)
    if (*number < 0.0) return refused(bad_value, "a limit is negative: %g", *number);
  for (int64_t i = 0; i < n; ++i)
    if (g.lower[i] > g.upper[i])
      return refused(
          bad_value, "joint %ld may not be above %g and not below %g", static_cast<long>(i),
          g.upper[i], g.lower[i]);
  if (std::fabs(g.period[0] - period) > 1e-6 * period)
    return refused(
        PROJECTED_CONTROL_STATUS_PERIOD, "limits for a period of %g s, the loop has %g s",
        g.period[0], period);
  return {};
}

Verdict check_letter(const double *letter, const double *before, const Sizes &s, double period) {
  const auto l =
      projected_control_letter_terms_view(writable(letter), s.n, s.k, s.motion, s.force);
  if (!is_whole(l.sequence[0], 0.0, 1e15) || std::fmod(l.sequence[0], 2.0) != 0.0)
    return refused(bad_value, "letter number %g was still being written", l.sequence[0]);
  if (l.sequence[0] <= before[0])
    return refused(
        PROJECTED_CONTROL_STATUS_ORDER, "letter %g came after letter %g", l.sequence[0], before[0]);
  if (l.lengths[0] != static_cast<double>(s.motion) || l.lengths[1] != static_cast<double>(s.force))
    return refused(
        PROJECTED_CONTROL_STATUS_SIZE, "tables of %g and %g numbers, room is for %ld and %ld",
        l.lengths[0], l.lengths[1], static_cast<long>(s.motion), static_cast<long>(s.force));
  if (any_nan(l.versions, l.reference))
    return refused(bad_value, "a gain, limit or number of the sensor is not a number");
  if (!all_finite(l.versions, l.gains_seconds) || !all_finite(l.force_gains, l.force_gains + 3))
    return refused(bad_value, "a gain is not finite");
  if (!all_finite(l.impedance, l.limits)) return refused(bad_value, "an impedance is not finite");
  for (int64_t which = 0; which < 3; ++which)
    for (int64_t i = 0; i < s.k; ++i)
      if (const double own = l.impedance[(which * s.k + i) * s.k + i]; own < 0.0)
        return refused(bad_value, "stiffness, damping or inertia of an impedance is negative: %g", own);
  if (l.impedance[3 * s.k * s.k] < 0.0 || l.impedance[3 * s.k * s.k + 1] < 0.0)
    return refused(bad_value, "damping ratio or time of an impedance is negative");
  for (const double *number = l.friction; number < l.reference; ++number)
    if (*number < 0.0)
      return refused(bad_value, "a number of friction or disturbance is negative: %g", *number);
  if (!(l.gains_seconds[0] >= 0.0 && l.force_seconds[0] >= 0.0))
    return refused(bad_value, "a time in which gains come into force is negative");
  // Zero: they were never changed, and are not looked at.
  if (l.versions[PROJECTED_CONTROL_LETTER_SECTION_LIMITS] != 0.0)
    if (Verdict v = check_limits(l.limits, s.n, s.k, period); !v.accepted()) return v;
  const double joint = l.sensor[joint_in_sensor(s)];
  if (!is_whole(joint, 0.0, static_cast<double>(s.n)))
    return refused(
        bad_value, "the sensor sits on joint %g of %ld", joint, static_cast<long>(s.n));
  if (Verdict v = check_table("reference", l.reference, s.motion, s.k, false); !v.accepted())
    return v;
  return check_table("force reference", l.force_reference, s.force, s.m, true);
}

void publish_letter(const double *letter, double *mailbox, int64_t count, const Sizes &s) {
  const auto l =
      projected_control_letter_terms_view(writable(letter), s.n, s.k, s.motion, s.force);
  volatile double *const box = mailbox;
  box[0] = letter[0] - 1.0;  // odd: being written
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (int64_t i = l.versions - letter; i < count; ++i) box[i] = letter[i];
  std::atomic_thread_fence(std::memory_order_seq_cst);
  box[0] = letter[0];
}

}  // namespace projected_control
