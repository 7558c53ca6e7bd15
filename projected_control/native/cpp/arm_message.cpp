// Arms, names and arrays out of messages.

#include "arm_message.h"

#include <cmath>
#include <cstring>

namespace projected_control {
namespace {

constexpr double agreement = 1e-9;  // of Pinocchio here with Pinocchio there, relative

bool agree(const double *ours, const double *theirs, int64_t count) {
  double largest = 0.0, difference = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    largest = std::fmax(largest, std::fabs(theirs[i]));
    difference = std::fmax(difference, std::fabs(ours[i] - theirs[i]));
  }
  return difference <= agreement * largest;
}

Verdict describe(const Message &message, int64_t n, projected_control_description &description) {
  description.joints = n;
  bool good = true;
#define PROJECTED_CONTROL_TAKE(id, field, type, dimensions, number)       \
  if (Verdict v = message.expect(id, number); !v.accepted()) return v;    \
  description.field = static_cast<const type *>(message.section(id).data); \
  for (int64_t i = 0; i < message.section(id).count; ++i)                 \
    good = good && std::isfinite(static_cast<double>(description.field[i]));
  PROJECTED_CONTROL_ARM_SECTIONS(PROJECTED_CONTROL_TAKE)
#undef PROJECTED_CONTROL_TAKE
  if (Verdict v = message.expect(PROJECTED_CONTROL_SECTION_GRAVITY, 3); !v.accepted()) return v;
  const double *gravity = message.section(PROJECTED_CONTROL_SECTION_GRAVITY).reals();
  for (int i = 0; i < 3; ++i) {
    description.gravity[i] = gravity[i];
    good = good && std::isfinite(gravity[i]);
  }
  if (!good) return refused(PROJECTED_CONTROL_STATUS_VALUE, "a number of the arm is not finite");
  return {};
}

}  // namespace

projected_control_arm *arm_from(const Message &message, int64_t n, Verdict &verdict) {
  projected_control_description description{};
  verdict = describe(message, n, description);
  if (!verdict.accepted()) return nullptr;
  char reason[300] = "";
  projected_control_arm *arm = projected_control_arm_create(&description, reason, sizeof reason);
  if (!arm) verdict = refused(PROJECTED_CONTROL_STATUS_VALUE, "the arm is refused: %s", reason);
  return arm;
}

Verdict check_pass(projected_control_arm *arm, const double *check, int64_t n) {
  projected_control_arm_compute(arm, check, check + n);
  const projected_control_pass pass = projected_control_arm_pass(arm);
  if (agree(pass.M, check + 2 * n, n * n) && agree(pass.h, check + 2 * n + n * n, n)) return {};
  return refused(
      PROJECTED_CONTROL_STATUS_PINOCCHIO,
      "Pinocchio %s gives another M or h here than where the message was made",
      projected_control_pinocchio_version());
}

std::vector<std::string> names_in(const Section &section) {
  std::vector<std::string> names(1);
  for (int64_t i = 0; i < section.count; ++i)
    if (section.text()[i] == '\0') names.emplace_back();
    else names.back().push_back(section.text()[i]);
  return names;
}

double *Kept::keep(const double *data, int64_t count) {
  reals_.emplace_back(new double[static_cast<size_t>(count) + 1]);
  if (count) std::memcpy(reals_.back().get(), data, static_cast<size_t>(count) * sizeof(double));
  return reals_.back().get();
}

int64_t *Kept::keep(const int64_t *data, int64_t count) {
  wholes_.emplace_back(new int64_t[static_cast<size_t>(count) + 1]);
  if (count) std::memcpy(wholes_.back().get(), data, static_cast<size_t>(count) * sizeof(int64_t));
  return wholes_.back().get();
}

}  // namespace projected_control
