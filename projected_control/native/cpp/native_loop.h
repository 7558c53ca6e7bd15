/* The native loop of projected_control: Pinocchio's pass, the exported tick and the plant's step.
 *
 * Everything here is called from C, from Python through ctypes, or from a controller plugin. Only
 * the functions called create and destroy allocate. Workspaces belong to the caller; their structs
 * are those of projected_control_kernels.h.
 */
#ifndef PROJECTED_CONTROL_NATIVE_LOOP_H
#define PROJECTED_CONTROL_NATIVE_LOOP_H

#include "projected_control_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joints as Pinocchio has them: turning or sliding, along an axis of the joint or any other. */
enum {
  PROJECTED_CONTROL_REVOLUTE_X,
  PROJECTED_CONTROL_REVOLUTE_Y,
  PROJECTED_CONTROL_REVOLUTE_Z,
  PROJECTED_CONTROL_REVOLUTE,
  PROJECTED_CONTROL_PRISMATIC_X,
  PROJECTED_CONTROL_PRISMATIC_Y,
  PROJECTED_CONTROL_PRISMATIC_Z,
  PROJECTED_CONTROL_PRISMATIC
};

/* An arm as numbers. Lines with index i belong to joint i + 1; that of the world is joint 0. */
struct projected_control_description {
  int64_t joints;           /* n */
  const int64_t *kinds;     /* [n] */
  const int64_t *parents;   /* [n] joint that carries this one, 0 for the world */
  const double *axes;       /* [n, 3] in the joint's axes; read where the kind is not X, Y or Z */
  const double *rotations;  /* [n, 3, 3] of the joint in its parent's axes, by rows */
  const double *positions;  /* [n, 3] likewise [m] */
  const double *masses;     /* [n + 1] first what is fixed to the world [kg] */
  const double *centres;    /* [n + 1, 3] centre of mass in the joint's axes [m] */
  const double *inertias;   /* [n + 1, 3, 3] about the centre of mass [kg m2] */
  const double *armature;   /* [n] inertia of the rotors [kg m2 or kg] */
  double gravity[3];        /* [m/s2] */
};

/* What a pass leaves behind; it stays where it is. */
struct projected_control_pass {
  double *M;                 /* [n, n] both triangles, by columns */
  double *h;                 /* [n] */
  double *spatial_jacobian;  /* [6, n] by columns */
  double *placements;        /* [n + 1, width] of the joints in the world: rotation by columns, position */
  int64_t width;             /* numbers from one placement to the next */
  double *kinetic_energy;    /* [1] [J] */
  double *potential_energy;  /* [1] [J] */
};

struct projected_control_arm;

/* An arm, or NULL and the reason in message (at most size bytes with the final zero). */
struct projected_control_arm *projected_control_arm_create(
    const struct projected_control_description *description, char *message, int64_t size);
void projected_control_arm_destroy(struct projected_control_arm *arm);

/* M, h and all joints' placements for a state of finite numbers or not. */
void projected_control_arm_compute(
    struct projected_control_arm *arm, const double *q, const double *v);
struct projected_control_pass projected_control_arm_pass(struct projected_control_arm *arm);

/* Version of Pinocchio's headers, as the loop was built with: "4.1.0". */
const char *projected_control_pinocchio_version(void);

/* What does not fit between loop, library of kernels and Pinocchio; NULL where all does. */
const char *projected_control_native_mismatch(void);

#ifdef __cplusplus
}
#endif

#endif
