// What tables, limits and a sensor must be before a tick may take them.

#include "tables.h"

#include <algorithm>
#include <cmath>

namespace projected_control {
namespace {

constexpr int64_t bad_value = PROJECTED_CONTROL_STATUS_VALUE;
constexpr double most = 1e9;  // no table has as many pieces

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

double *writable(const double *numbers) { return const_cast<double *>(numbers); }

}  // namespace

bool is_whole(double x, double least, double largest) {
  return x >= least && x <= largest && x == std::floor(x);
}

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
  const auto capacity = static_cast<int64_t>(table[1]), waves = static_cast<int64_t>(table[2]);
  if (projected_control_motion_terms_size(size, capacity, waves) != count)
    return refused(
        PROJECTED_CONTROL_STATUS_SIZE, "the %s is not as long as its header says", name);
  const double least = may_be_empty ? 0.0 : 1.0;
  if (!is_whole(table[3], least, table[1]) || !is_whole(table[4], 0.0, table[2]))
    return refused(
        bad_value, "the %s has %g pieces and %g sines, there is place for %ld and %ld; one that Python "
        "computes in every tick cannot be followed here", name, table[3], table[4],
        static_cast<long>(capacity), static_cast<long>(waves));
  const auto pieces = static_cast<int64_t>(table[3]), sines = static_cast<int64_t>(table[4]);
  const auto t = projected_control_motion_terms_view(writable(table), size, capacity, waves);
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
  const int64_t coefficients = capacity && size ? (t.waves - t.coefficients) / (capacity * size) : 0;
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
  const int64_t capacity = whole(source[1]);
  const int64_t coefficients = capacity && size ? (from.waves - from.coefficients) / (capacity * size) : 0;
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

Verdict check_sensor(const double *sensor, const Sizes &s) {
  std::vector<double> source(static_cast<size_t>(projected_control_source_terms_size(s.n, s.m)));
  const auto t = projected_control_source_terms_view(source.data(), s.n, s.m);
  const double joint = sensor[t.joint - t.sensor];
  if (!is_whole(joint, 0.0, static_cast<double>(s.places - 1)))
    return refused(
        bad_value, "the sensor sits on joint %g of %ld", joint, static_cast<long>(s.places - 1));
  return {};
}

}  // namespace projected_control
