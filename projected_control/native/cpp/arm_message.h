/* What loops and plants take from messages alike. */
#ifndef PROJECTED_CONTROL_ARM_MESSAGE_H
#define PROJECTED_CONTROL_ARM_MESSAGE_H

#include <memory>
#include <string>
#include <vector>

#include "native_loop.h"
#include "updates.h"

namespace projected_control {

constexpr int64_t most_joints = 64; /* and rows, coordinates, frames: no arm that is known has more */

/* The arm of a message, for so many joints, or NULL and why not. */
projected_control_arm *arm_from(const Message &message, int64_t n, Verdict &verdict);

/* Refused where Pinocchio does not give here what it gave where a message was made: q, v, M, h. */
Verdict check_pass(projected_control_arm *arm, const double *check, int64_t n);

/* Names with zeros between them. */
std::vector<std::string> names_in(const Section &section);

/* Memory for arrays that were in a message; it stays where it is. */
class Kept {
 public:
  double *keep(const double *data, int64_t count);
  int64_t *keep(const int64_t *data, int64_t count);

 private:
  std::vector<std::unique_ptr<double[]>> reals_;
  std::vector<std::unique_ptr<int64_t[]>> wholes_;
};

/* Lets the members of a call that belong to Pinocchio's pass be those of an arm. */
template <typename Call>
void use_pass(projected_control_arm *arm, int64_t n, Call &call) {
  const projected_control_pass pass = projected_control_arm_pass(arm);
  call.M = pass.M;
  call.M_shape[0] = call.M_shape[1] = n;
  call.h = pass.h;
  call.h_shape[0] = n;
  call.spatial_jacobian = pass.spatial_jacobian;
  call.spatial_jacobian_shape[0] = 6;
  call.spatial_jacobian_shape[1] = n;
  call.placements = pass.placements;
  call.placements_shape[0] = pass.places;
  call.placements_shape[1] = pass.width;
}

/* Where a list of sections belongs: into the members of a call of the same names. To be expanded
 * with n, memory and message in scope, and with PROJECTED_CONTROL_TABLE as any_length. */
constexpr int64_t any_length = -1;
#define PROJECTED_CONTROL_BIND(call, id, field, type, dimensions, number)                       \
  {                                                                                             \
    const Section &section = message.section(id);                                               \
    const int64_t wanted = number;                                                              \
    if (Verdict v = message.expect(id, wanted == any_length ? section.count : wanted);          \
        !v.accepted())                                                                          \
      return v;                                                                                 \
    call.field = memory.keep(static_cast<const type *>(section.data), section.count);           \
    int64_t *const shape = call.field##_shape;                                                  \
    shape[0] = dimensions == 2 ? section.count / n : section.count;                             \
    if (dimensions == 2) shape[dimensions - 1] = n;                                             \
  }

}  // namespace projected_control

#endif
