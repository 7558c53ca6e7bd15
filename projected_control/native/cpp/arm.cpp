// Pinocchio's pass behind a C interface.
//
// Built against the very library that is loaded already: a process must not have two Pinocchios.
// Never with -march=native: that changes the alignment in Eigen, and with it sizeof(Data).

#include "native_loop.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>

#include <pinocchio/algorithm/compute-all-terms.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/rnea.hpp>

using pinocchio::Data;
using pinocchio::JointIndex;
using pinocchio::JointModel;
using pinocchio::Model;
using pinocchio::SE3;

namespace {

using RowMatrix3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
using State = Eigen::Map<const Eigen::VectorXd>;

constexpr size_t margin = 1 << 16;
constexpr unsigned char untouched = 0xA5;

JointModel joint_model(int64_t kind, const Eigen::Vector3d &axis) {
  switch (kind) {
    case PROJECTED_CONTROL_REVOLUTE_X: return pinocchio::JointModelRX();
    case PROJECTED_CONTROL_REVOLUTE_Y: return pinocchio::JointModelRY();
    case PROJECTED_CONTROL_REVOLUTE_Z: return pinocchio::JointModelRZ();
    case PROJECTED_CONTROL_REVOLUTE: return pinocchio::JointModelRevoluteUnaligned(axis);
    case PROJECTED_CONTROL_PRISMATIC_X: return pinocchio::JointModelPX();
    case PROJECTED_CONTROL_PRISMATIC_Y: return pinocchio::JointModelPY();
    case PROJECTED_CONTROL_PRISMATIC_Z: return pinocchio::JointModelPZ();
    case PROJECTED_CONTROL_PRISMATIC: return pinocchio::JointModelPrismaticUnaligned(axis);
    case PROJECTED_CONTROL_FREE_FLYER: return pinocchio::JointModelFreeFlyer();
    default: throw std::invalid_argument("a joint is of no known kind");
  }
}

constexpr int64_t base_size = 6;

// By how many lines a joint's own comes after its number: a floating base takes six.
int64_t shift(const Model &model) { return model.nv - (model.njoints - 1); }

void set_inertias(
    Model &model, const double *masses, const double *centres, const double *inertias) {
  for (int64_t joint = 0; joint < model.njoints; ++joint) {
    const int64_t body = joint + (joint > 0 ? shift(model) : 0);
    const Eigen::Matrix3d about_centre = Eigen::Map<const RowMatrix3>(inertias + 9 * body);
    model.inertias[static_cast<size_t>(joint)] = pinocchio::Inertia(
        masses[body], Eigen::Map<const Eigen::Vector3d>(centres + 3 * body),
        pinocchio::Symmetric3(about_centre));
  }
}

void fill_model(Model &model, const projected_control_description &d) {
  int64_t base = 0;
  while (base < d.joints && d.kinds[base] == PROJECTED_CONTROL_FREE_FLYER) ++base;
  if (base != 0 && base != base_size)
    throw std::invalid_argument("a floating base is not six joints");
  for (int64_t i = base ? base - 1 : 0; i < d.joints; ++i) {
    const SE3 placement(
        Eigen::Matrix3d(Eigen::Map<const RowMatrix3>(d.rotations + 9 * i)),
        Eigen::Vector3d(Eigen::Map<const Eigen::Vector3d>(d.positions + 3 * i)));
    const Eigen::Vector3d axis = Eigen::Map<const Eigen::Vector3d>(d.axes + 3 * i);
    if (d.parents[i] < 0 || d.parents[i] > i)
      throw std::invalid_argument("a joint is carried by one that comes after it");
    if (i >= base_size && d.kinds[i] == PROJECTED_CONTROL_FREE_FLYER)
      throw std::invalid_argument("a floating base is not the first joint");
    if (base && d.parents[i] > 0 && d.parents[i] < base)
      throw std::invalid_argument("a joint is carried by a part of the base");
    const int64_t parent = d.parents[i] > 0 && base ? d.parents[i] - base + 1 : d.parents[i];
    model.addJoint(
        static_cast<JointIndex>(parent), joint_model(d.kinds[i], axis), placement,
        "joint_" + std::to_string(i));
  }
  set_inertias(model, d.masses, d.centres, d.inertias);
  model.armature = Eigen::Map<const Eigen::VectorXd>(d.armature, d.joints);
  model.gravity.linear() = Eigen::Map<const Eigen::Vector3d>(d.gravity);
}

// What the library's own constructor makes of memory that is larger than ours says it needs: where
// it writes beyond, headers and library were compiled differently.
template <typename Thing, typename... Arguments>
bool fits_its_size(const Arguments &...arguments) {
  const size_t size = sizeof(Thing), whole = size + margin;
  std::unique_ptr<unsigned char[]> memory(new unsigned char[whole + 64]);
  unsigned char *start = memory.get() + 64 - reinterpret_cast<uintptr_t>(memory.get()) % 64;
  std::memset(start, untouched, whole);
  Thing *thing = new (start) Thing(arguments...);
  bool good = true;
  for (size_t i = size; i < whole; ++i) good = good && start[i] == untouched;
  if (good) thing->~Thing();
  else memory.release();  // whatever lies there, it cannot be taken down
  return good;
}

// What the loop needs of Pinocchio's computeAllTerms, line by line as there and so to the same last bit (NativeArm
// compares them): M, nle, J and the joints' placements, without centres of mass, momenta and rates, which
// are two thirds of its work.
struct Outwards : pinocchio::fusion::JointUnaryVisitorBase<Outwards> {
  using ArgsType = boost::fusion::vector<const Model &, Data &, const State &, const State &>;

  template <typename Joint>
  static void algo(
      const pinocchio::JointModelBase<Joint> &joint,
      pinocchio::JointDataBase<typename Joint::JointDataDerived> &found, const Model &model, Data &data,
      const State &q, const State &v) {
    const JointIndex i = joint.id(), parent = model.parents[i];
    joint.calc(found.derived(), q, v);
    data.liMi[i] = model.jointPlacements[i] * found.M();
    data.v[i] = found.v();
    if (parent > 0) {
      data.oMi[i] = data.oMi[parent] * data.liMi[i];
      data.v[i] += data.liMi[i].actInv(data.v[parent]);
    } else {
      data.oMi[i] = data.liMi[i];
    }
    data.oYcrb[i] = data.oMi[i].act(model.inertias[i]);
    joint.jointCols(data.J) = data.oMi[i].act(found.S());
    data.a_gf[i] = found.c() + (data.v[i] ^ found.v());
    data.a_gf[i] += data.liMi[i].actInv(data.a_gf[parent]);
    data.h[i] = model.inertias[i] * data.v[i];
    data.f[i] = model.inertias[i] * data.a_gf[i] + data.v[i].cross(data.h[i]);
  }
};

struct Inwards : pinocchio::fusion::JointUnaryVisitorBase<Inwards> {
  using ArgsType = boost::fusion::vector<const Model &, Data &>;

  template <typename Joint>
  static void algo(
      const pinocchio::JointModelBase<Joint> &joint,
      pinocchio::JointDataBase<typename Joint::JointDataDerived> &found, const Model &model, Data &data) {
    const JointIndex i = joint.id(), parent = model.parents[i];
    const Eigen::Index first = joint.idx_v(), count = data.nvSubtree[i];
    auto jacobian = joint.jointCols(data.J), momentum = joint.jointCols(data.Ag);
    pinocchio::motionSet::inertiaAction(data.oYcrb[i], jacobian, momentum);
    data.M.block(first, first, joint.nv(), count).noalias() =
        jacobian.transpose() * data.Ag.middleCols(first, count);
    joint.jointVelocitySelector(data.nle) = found.S().transpose() * data.f[i];
    if (parent > 0) {
      data.oYcrb[parent] += data.oYcrb[i];
      data.f[parent] += data.liMi[i].act(data.f[i]);
    }
  }
};

}  // namespace

struct projected_control_arm {
  Model model;
  std::unique_ptr<Data> data, coriolis;
  Eigen::VectorXd longer;  // Pinocchio's q of a floating base

  State lengthened(const double *q) {
    if (model.nq == model.nv) return State(q, model.nv);
    struct projected_control_to_pinocchio call{};
    call.q = const_cast<double *>(q);
    call.q_shape[0] = model.nv;
    call.longer = longer.data();
    call.longer_shape[0] = model.nq;
    if (projected_control_to_pinocchio(&call) != 0) longer.setConstant(NAN);
    return State(longer.data(), model.nq);
  }
};

extern "C" {

projected_control_arm *projected_control_arm_create(
    const projected_control_description *description, char *message, int64_t size) {
  try {
    auto arm = std::make_unique<projected_control_arm>();
    fill_model(arm->model, *description);
    arm->longer.setZero(arm->model.nq);
    arm->data = std::make_unique<Data>(arm->model);
    arm->coriolis = std::make_unique<Data>(arm->model);
    return arm.release();
  } catch (const std::exception &error) {
    std::snprintf(message, static_cast<size_t>(size), "%s", error.what());
    return nullptr;
  }
}

void projected_control_arm_destroy(projected_control_arm *arm) { delete arm; }

void projected_control_arm_compute(projected_control_arm *arm, const double *q, const double *v) {
  const Model &model = arm->model;
  const Eigen::Index n = model.nv;
  const State at = arm->lengthened(q), velocity(v, n);
  Data &data = *arm->data;
  data.v[0].setZero();
  data.a_gf[0] = -model.gravity;
  const JointIndex joints = static_cast<JointIndex>(model.njoints);
  for (JointIndex i = 1; i < joints; ++i)
    Outwards::run(model.joints[i], data.joints[i], Outwards::ArgsType(model, data, at, velocity));
  for (JointIndex i = joints - 1; i > 0; --i)
    Inwards::run(model.joints[i], data.joints[i], Inwards::ArgsType(model, data));
  data.M.diagonal() += model.armature;
  // Pinocchio fills the upper triangle; its Python bindings mirror it, and so do we.
  for (Eigen::Index column = 0; column < n; ++column)
    for (Eigen::Index row = column + 1; row < n; ++row) data.M(row, column) = data.M(column, row);
}

void projected_control_arm_compute_all_terms(
    projected_control_arm *arm, const double *q, const double *v) {
  const Eigen::Index n = arm->model.nv;
  pinocchio::computeAllTerms(arm->model, *arm->data, arm->lengthened(q), State(v, n));
}

double projected_control_arm_energy(projected_control_arm *arm) {
  return pinocchio::computeMechanicalEnergy(arm->model, *arm->data);
}

void projected_control_arm_compute_coriolis(
    projected_control_arm *arm, const double *q, const double *v) {
  const Eigen::Index n = arm->model.nv;
  pinocchio::computeCoriolisMatrix(
      arm->model, *arm->coriolis, arm->lengthened(q), State(v, n));
}

projected_control_pass projected_control_arm_pass(projected_control_arm *arm) {
  Data &data = *arm->data;
  static_assert(sizeof(SE3) % sizeof(double) == 0, "placements are numbers");
  return {data.M.data(),
          data.nle.data(),
          data.J.data(),
          data.oMi[0].rotation().data(),
          static_cast<int64_t>(data.oMi.size()),
          static_cast<int64_t>(sizeof(SE3) / sizeof(double)),
          arm->coriolis->C.data()};
}

void projected_control_arm_set_inertias(
    projected_control_arm *arm, const double *masses, const double *centres,
    const double *inertias) {
  set_inertias(arm->model, masses, centres, inertias);
}

const char *projected_control_pinocchio_version(void) { return PINOCCHIO_VERSION; }

const char *projected_control_native_mismatch(void) {
  if (const char *kernels = projected_control_mismatch()) return kernels;
  Model model;
  model.addJoint(0, pinocchio::JointModelRZ(), SE3::Identity(), "joint");
  if (!fits_its_size<Model>()) return "Pinocchio's Model is larger than its headers say";
  if (!fits_its_size<Data>(model)) return "Pinocchio's Data is larger than its headers say";
  return nullptr;
}

}  // extern "C"
