/* Whether tables of motions, limits and a sensor can be given to a tick. */
#ifndef PROJECTED_CONTROL_TABLES_H
#define PROJECTED_CONTROL_TABLES_H

#include "updates.h"

namespace projected_control {

/* How large a loop is. */
struct Sizes {
  int64_t n = 0, m = 0, k = 0, p = 0, frames = 0; /* joints, rows, coordinates, passive joints */
  int64_t motion = 0, force = 0;                  /* numbers of the two tables of references */
  int64_t places = 0;                             /* of joints in the world, that of the world too */
};

/* A table of a motion of so many numbers per instant. */
Verdict check_table(
    const char *name, const double *table, int64_t count, int64_t size, bool may_be_empty);

/* Puts the motion of one table into another that is long enough. Allocates nothing. */
void move_table(const double *source, double *target);

/* Limits as a guard has them, for a loop of this period [s]. */
Verdict check_limits(const double *limits, int64_t n, int64_t k, double period);

/* What is known of a force sensor. */
Verdict check_sensor(const double *sensor, const Sizes &s);

bool is_whole(double x, double least, double largest);

}  // namespace projected_control

#endif
