// See arm_access.h.

#include "arm_access.h"

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gz/plugin/Register.hh>
#include <gz/sim/EntityComponentManager.hh>
#include <gz/sim/Model.hh>
#include <gz/sim/System.hh>
#include <gz/sim/components/JointForceCmd.hh>
#include <gz/sim/components/JointPosition.hh>
#include <gz/sim/components/JointTransmittedWrench.hh>
#include <gz/sim/components/JointVelocity.hh>

namespace sim = gz::sim;
namespace components = gz::sim::components;

namespace {

std::mutex guard;
std::map<sim::Entity, sim::EntityComponentManager *> managers;

struct Access
{
  sim::EntityComponentManager *manager;
  std::vector<sim::Entity> joints;
  sim::Entity sensor;
};

void *refuse(char *message, int64_t size, const std::string &reason)
{
  std::snprintf(message, static_cast<std::size_t>(size), "%s", reason.c_str());
  return nullptr;
}

template <typename Component>
void ensure(sim::EntityComponentManager &manager, sim::Entity entity)
{
  // Gazebo's physics fills these components where they are there.
  if (!manager.Component<Component>(entity)) {
    manager.CreateComponent(entity, Component());
  }
}

}  // namespace

namespace projected_control {

// Remembers where the model's entity-component manager is, which lives as long as the simulation.
class ArmAccess : public sim::System, public sim::ISystemConfigure
{
public:
  void Configure(const sim::Entity &entity, const std::shared_ptr<const sdf::Element> &,
                 sim::EntityComponentManager &manager, sim::EventManager &) override
  {
    const std::lock_guard<std::mutex> lock(guard);
    model = entity;
    managers[entity] = &manager;
  }

  ~ArmAccess() override
  {
    const std::lock_guard<std::mutex> lock(guard);
    managers.erase(model);
  }

private:
  sim::Entity model{sim::kNullEntity};
};

}  // namespace projected_control

GZ_ADD_PLUGIN(projected_control::ArmAccess, gz::sim::System,
              projected_control::ArmAccess::ISystemConfigure)
GZ_ADD_PLUGIN_ALIAS(projected_control::ArmAccess, "projected_control::ArmAccess")

void *projected_control_access_open(uint64_t entity, int64_t joints, const char *const *names,
                                    const char *sensor, char *message, int64_t size)
{
  const std::lock_guard<std::mutex> lock(guard);
  const auto found = managers.find(entity);
  if (found == managers.end()) {
    return refuse(message, size, "the model has no system projected_control::ArmAccess");
  }
  auto access = std::make_unique<Access>();
  access->manager = found->second;
  access->sensor = sim::kNullEntity;
  auto &manager = *access->manager;
  const sim::Model model(entity);
  for (int64_t i = 0; i < joints; ++i) {
    const auto joint = model.JointByName(manager, names[i]);
    if (joint == sim::kNullEntity) {
      return refuse(message, size, std::string("the model has no joint ") + names[i]);
    }
    ensure<components::JointPosition>(manager, joint);
    ensure<components::JointVelocity>(manager, joint);
    access->joints.push_back(joint);
  }
  if (sensor) {
    access->sensor = model.JointByName(manager, sensor);
    if (access->sensor == sim::kNullEntity) {
      return refuse(message, size, std::string("the model has no joint ") + sensor);
    }
    ensure<components::JointTransmittedWrench>(manager, access->sensor);
  }
  return access.release();
}

int32_t projected_control_access_read(void *access, double *positions, double *velocities,
                                      double *wrench)
{
  const auto &arm = *static_cast<const Access *>(access);
  const auto &manager = *arm.manager;
  for (std::size_t i = 0; i < arm.joints.size(); ++i) {
    const auto *position = manager.Component<components::JointPosition>(arm.joints[i]);
    const auto *velocity = manager.Component<components::JointVelocity>(arm.joints[i]);
    if (!position || !velocity || position->Data().empty() || velocity->Data().empty()) {
      return 1;
    }
    positions[i] = position->Data()[0];
    velocities[i] = velocity->Data()[0];
  }
  if (arm.sensor == sim::kNullEntity) {
    return 2;
  }
  const auto *passed = manager.Component<components::JointTransmittedWrench>(arm.sensor);
  if (!passed || !passed->Data().has_force()) {
    return 2;
  }
  const auto &force = passed->Data().force();
  const auto &torque = passed->Data().torque();
  const double numbers[6] = {force.x(), force.y(), force.z(), torque.x(), torque.y(), torque.z()};
  for (int i = 0; i < 6; ++i) {
    wrench[i] = numbers[i];
  }
  return 0;
}

void projected_control_access_write(void *access, const double *efforts)
{
  auto &arm = *static_cast<Access *>(access);
  for (std::size_t i = 0; i < arm.joints.size(); ++i) {
    auto *command = arm.manager->Component<components::JointForceCmd>(arm.joints[i]);
    if (command) {
      command->Data().assign(1, efforts[i]);
    } else {
      arm.manager->CreateComponent(arm.joints[i], components::JointForceCmd({efforts[i]}));
    }
  }
}

void projected_control_access_close(void *access) { delete static_cast<Access *>(access); }
