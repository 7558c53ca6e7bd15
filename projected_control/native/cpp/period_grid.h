/* Times of cycles on a grid of periods: what a wake-up adds does not count. */
#ifndef PROJECTED_CONTROL_PERIOD_GRID_H
#define PROJECTED_CONTROL_PERIOD_GRID_H

#include <cstdint>

namespace projected_control {

class PeriodGrid {
 public:
  explicit PeriodGrid(int64_t period_ns = 1) : period_(period_ns) {}

  /* The first cycle: the grid begins here. */
  void begin(int64_t now_ns) {
    at_ = now_ns;
    behind_ = 0;
  }

  /* How many periods this cycle is after the last one. One, however late the wake-up; more where
   * cycles were missed; and where the grid stayed behind after that, the missing one follows. */
  int64_t advance(int64_t now_ns) {
    const int64_t elapsed = now_ns - at_;
    int64_t periods = 1;
    if (elapsed > 2 * period_) periods = (elapsed + period_ / 2) / period_;
    else if (elapsed <= period_ + period_ / 2) behind_ = 0;
    else if (++behind_ >= patience) periods = 2;
    if (periods > 1) behind_ = 0;
    at_ += periods * period_;
    return periods;
  }

  int64_t at() const { return at_; }

 private:
  static constexpr int patience = 20; /* cycles */

  int64_t period_, at_ = 0;
  int behind_ = 0;
};

}  // namespace projected_control

#endif
