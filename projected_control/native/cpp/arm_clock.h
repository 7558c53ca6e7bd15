/* An arm's own clock, believed as long as it does not run ahead of ours. */
#ifndef PROJECTED_CONTROL_ARM_CLOCK_H
#define PROJECTED_CONTROL_ARM_CLOCK_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace projected_control {

class ArmClock {
 public:
  /* Seconds since the first reading. NaN where there is none, or where more time has passed than by
   * our clock: a glitch, or another unit. A reference must not run away with it. */
  double since_first(double arm_seconds, int64_t now_ns) {
    constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(arm_seconds)) return unknown;
    if (std::isnan(first_)) {
      first_ = last_ = arm_seconds;
      last_ns_ = now_ns;
    }
    if (arm_seconds < last_) return arm_seconds - first_;  // the guard answers; nothing to go by
    const double ours = std::max(1e-9 * static_cast<double>(now_ns - last_ns_), 0.0);
    const double ahead = ahead_ + arm_seconds - last_ - (1.0 + drift) * ours;
    if (ahead > tolerance) return unknown;
    ahead_ = std::max(ahead, -catching_up);
    last_ = arm_seconds;
    last_ns_ = now_ns;
    return arm_seconds - first_;
  }

 private:
  static constexpr double tolerance = 0.02;   /* by which it may be ahead: late cycles [s] */
  static constexpr double drift = 1e-3;       /* two clocks are never the same */
  static constexpr double catching_up = 1.0;  /* what came late may come at once [s] */

  double first_ = std::numeric_limits<double>::quiet_NaN(), last_ = 0.0, ahead_ = 0.0;
  int64_t last_ns_ = 0;
};

}  // namespace projected_control

#endif
