// Access to an arm in Gazebo from the same process, within the physics step: a C interface, which
// Python calls through ctypes. A model that has the system `projected_control::ArmAccess` can be
// opened by its entity; reading and writing then touch Gazebo's entity-component manager directly,
// without a message and without another thread.
//
// All of it belongs in the thread that Gazebo calls its systems in, before a step (PreUpdate).

#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PROJECTED_CONTROL_ACCESS __attribute__((visibility("default")))

// Opens the joints of a model.
//   entity       of the model, as Gazebo numbers it
//   names        of the joints, `joints` of them, in the order of all vectors below
//   sensor       name of the joint whose wrench is measured; null for none
//   message      gets the reason where something is wrong, of at most `size` bytes
// Null where something is wrong.
PROJECTED_CONTROL_ACCESS void *projected_control_access_open(
    uint64_t entity, int64_t joints, const char *const *names, const char *sensor, char *message,
    int64_t size);

// Reads positions and velocities [rad or m, and per second], and the wrench of the last step that
// the sensor's joint passes from its parent to its child, force before moment, in that joint's axes
// [N, N m]. Zero where all is there, 1 where joints have no positions yet, 2 where there is no
// wrench yet (positions and velocities are).
PROJECTED_CONTROL_ACCESS int32_t projected_control_access_read(void *access, double *positions,
                                                               double *velocities, double *wrench);

// Applies efforts in the step to come [N m or N].
PROJECTED_CONTROL_ACCESS void projected_control_access_write(void *access, const double *efforts);

PROJECTED_CONTROL_ACCESS void projected_control_access_close(void *access);

#ifdef __cplusplus
}
#endif
