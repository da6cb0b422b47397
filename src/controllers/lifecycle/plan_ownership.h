#pragma once
// What ownership asks of an object: of a dependent whose owners go, and of an owner that goes. Pure
// (kubernetes-core E1).

#include <string>
#include <vector>

#include "controllers/runtime/controller.h"

namespace yard {

inline constexpr std::string_view kOrphanFinalizer = "orphan";
inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";

enum class OwnerState {
  Solid,
  WaitsForDependents,  // goes in the foreground: its dependents first
  Absent,              // not there, in another namespace, or another object of that name
  Unresolved,          // of a kind not served here: nobody can say
};

struct DependentWorld {
  ObjectKey key;
  std::string uid;
  Revision revision = 0;
  std::vector<std::string> finalizers;
  JsonArray owner_references;      // as stored
  std::vector<OwnerState> owners;  // of each of them
  bool has_dependents = false;
};
// Of an object that is not being deleted.
Plan plan_dependent(const DependentWorld& world);

struct OwnerWorld {
  ObjectKey key;
  std::string uid;
  Revision revision = 0;
  std::vector<std::string> finalizers;
  JsonArray owner_references;
  struct Dependent {
    ObjectKey key;
    std::string uid;
    Revision revision = 0;
    JsonArray owner_references;
  };
  std::vector<Dependent> dependents;  // to be orphaned; some of them where there are very many
  size_t blocking_dependents = 0;
  // It waits for objects that wait for it.
  bool waits_in_circle = false;
};
// Of an object that is being deleted and carries one of the two finalizers.
Plan plan_owner(const OwnerWorld& world);

}  // namespace yard
