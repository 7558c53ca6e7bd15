/* Whether letters and tables of motions can be given to a tick. */
#ifndef PROJECTED_CONTROL_TABLES_H
#define PROJECTED_CONTROL_TABLES_H

#include "updates.h"

namespace projected_control {

/* How large a loop is. */
struct Sizes {
  int64_t n = 0, m = 0, k = 0, p = 0, frames = 0; /* joints, rows, coordinates, passive joints */
  int64_t motion = 0, force = 0;                  /* numbers of the two tables of references */
};

/* A table of a motion of so many numbers per instant. */
Verdict check_table(
    const char *name, const double *table, int64_t count, int64_t size, bool may_be_empty);

/* Puts the motion of one table into another that has room for it. Allocates nothing. */
void move_table(const double *source, double *target);

/* Limits as a guard has them, for a loop of this period [s]. */
Verdict check_limits(const double *limits, int64_t n, int64_t k, double period);

/* A letter of the right length, against the one that it follows. */
Verdict check_letter(const double *letter, const double *before, const Sizes &s, double period);

/* Copies a letter into the mailbox, for the tick to take whole: as control/mailbox.py has it. */
void publish_letter(const double *letter, double *mailbox, int64_t count, const Sizes &s);

}  // namespace projected_control

#endif
