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

/* Joints as Pinocchio has them: turning or sliding, along an axis of the joint or any other. A
 * floating base is the first six lines, each FREE_FLYER: place, rotation vector, joints. */
enum {
  PROJECTED_CONTROL_REVOLUTE_X,
  PROJECTED_CONTROL_REVOLUTE_Y,
  PROJECTED_CONTROL_REVOLUTE_Z,
  PROJECTED_CONTROL_REVOLUTE,
  PROJECTED_CONTROL_PRISMATIC_X,
  PROJECTED_CONTROL_PRISMATIC_Y,
  PROJECTED_CONTROL_PRISMATIC_Z,
  PROJECTED_CONTROL_PRISMATIC,
  PROJECTED_CONTROL_FREE_FLYER
};

/* An arm as numbers. Lines with index i belong to joint i + 1; that of the world is joint 0. What a
 * floating base carries and where it is, says the last of its six lines. */
struct projected_control_description {
  int64_t joints;           /* n */
  const int64_t *kinds;     /* [n] */
  const int64_t *parents;   /* [n] joint that carries this one, 0 for the world */
  const double *axes;       /* [n, 3] in the joint's axes; read where the kind is not X, Y or Z */
  const double *rotations;  /* [n, 3, 3] of the joint in its parent's axes, by rows */
  const double *positions;  /* [n, 3] in the parent's axes [m] */
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
  double *placements;        /* [places, width] of the joints in the world: rotation by columns, position */
  int64_t places;            /* n + 1; five less where the base floats, which is one joint to Pinocchio */
  int64_t width;             /* numbers from one placement to the next */
  double *coriolis;          /* [n, n] by columns; left by compute_coriolis alone */
};

struct projected_control_arm;

/* An arm, or NULL and the reason in message (at most size bytes with the final zero). */
struct projected_control_arm *projected_control_arm_create(
    const struct projected_control_description *description, char *message, int64_t size);
void projected_control_arm_destroy(struct projected_control_arm *arm);

/* M, h and all joints' placements for a state of finite numbers or not. */
void projected_control_arm_compute(
    struct projected_control_arm *arm, const double *q, const double *v);
/* Kinetic and potential energy at the last pass [J]. */
double projected_control_arm_energy(struct projected_control_arm *arm);
/* The same and more, by Pinocchio's own computeAllTerms, for benches. */
void projected_control_arm_compute_all_terms(
    struct projected_control_arm *arm, const double *q, const double *v);
void projected_control_arm_compute_coriolis(
    struct projected_control_arm *arm, const double *q, const double *v);
struct projected_control_pass projected_control_arm_pass(struct projected_control_arm *arm);

/* Another load: all bodies' masses, centres and inertias anew, as in the description. Between two
 * passes; allocates nothing. */
void projected_control_arm_set_inertias(
    struct projected_control_arm *arm, const double *masses, const double *centres,
    const double *inertias);

/* Version of Pinocchio's headers, as the loop was built with: "4.1.0". */
const char *projected_control_pinocchio_version(void);

/* What does not fit between loop, library of kernels and Pinocchio; NULL where all does. */
const char *projected_control_native_mismatch(void);

/* A control loop: its calls' arrays stay where they are. */
struct projected_control_loop {
  struct projected_control_arm *arm;
  struct projected_control_tick *tick; /* M, h, spatial_jacobian, placements, coriolis: the arm's */
  double *effort;                      /* [n] what the guard released last */
  int64_t needs_coriolis;              /* whether the source of the force is the momentum */
};

/* From the state in the tick's q, v, wrench, stamp and wrench_age to the effort. The status is zero,
 * or the effort is. */
int32_t projected_control_answer(struct projected_control_loop *loop);

/* A loop on a simulated arm. */
struct projected_control_simulation {
  struct projected_control_loop loop;
  struct projected_control_arm *arm; /* the plant's */
  struct projected_control_observe_plant *observe;
  struct projected_control_sense_force *sense; /* NULL where no force is measured */
  struct projected_control_sense_joints *encode;
  struct projected_control_drive_motors *drive; /* its effort is what the loop sends */
  struct projected_control_begin_step *begin;
  struct projected_control_advance_step *advance;
  struct projected_control_put_tick *put; /* writes a row of every tick; NULL for none */
  struct projected_control_plant_terms plant;
  struct projected_control_terms plant_model;
  int64_t joints, rows;                       /* n, m of the plant */
  int64_t substeps;                           /* steps of the plant in a tick */
  int64_t final_events;                       /* a tick with any of these is the last */
  const double *noise;                        /* [ticks, m] of the force sensor, or NULL */
  const double *motor_noise;                  /* [ticks, n] of the motors, or NULL */
  int64_t done;                               /* ticks since simulate was called */
};

enum { PROJECTED_CONTROL_SIMULATED = 0, PROJECTED_CONTROL_KERNEL_FAILED = -1 };

/* Many ticks in one call. Zero, KERNEL_FAILED, or what advance_step said where the plant failed. */
int32_t projected_control_simulate(struct projected_control_simulation *simulation, int64_t ticks);

/* The three parts of a tick on the simulated arm. */
int32_t projected_control_observe(struct projected_control_simulation *simulation);
int32_t projected_control_move(struct projected_control_simulation *simulation);

/* Timing, for benches. */
int64_t projected_control_nanoseconds(void);
int64_t projected_control_clock_cost(void); /* what reading the clock adds to a time [ns] */

/* Answers to recorded states: rows of stamp, wrench age, q, v, wrench. For each the time of a tick
 * and that of Pinocchio's pass alone, on an arm of its own [ns]. */
int32_t projected_control_time_ticks(
    struct projected_control_loop *loop, struct projected_control_arm *alone, const double *states,
    int64_t count, int64_t *tick_ns, int64_t *pass_ns);

/* Steps of the simulated arm, and beside each the evaluation of a model of its own at the tick's state:
 * the pass of its arm, and a kernel whose frame holds the tick's q and v [ns]. */
int32_t projected_control_time_steps(
    struct projected_control_simulation *simulation, struct projected_control_arm *other,
    int32_t (*evaluate)(int64_t *), int64_t *frame, int64_t count, int64_t *step_ns,
    int64_t *model_ns);

/* A thread that wakes up every period. */
struct projected_control_deadlines {
  struct projected_control_simulation *simulation; /* NULL for a bare thread that does nothing */
  int64_t period_ns;
  int64_t warm_up; /* ticks before the first that is measured */
  int64_t ticks;
  int64_t priority;   /* of SCHED_FIFO; 0 for an ordinary thread */
  double *late_us;    /* [ticks] from when it should have woken up */
  double *cycle_us;   /* [ticks] from a state to its effort */
  int64_t granted;    /* results: 1 where the priority was granted or none was asked for */
  int64_t minor_faults, major_faults;
  int64_t allocations; /* -1 where they are not counted (see allocations.cpp) */
  int64_t failed;      /* ticks whose status was not zero */
};

/* Runs the thread to its end. */
int32_t projected_control_meet_deadlines(struct projected_control_deadlines *deadlines);

#ifdef __cplusplus
}
#endif

#endif
