#pragma once
// An ordinary user may make the other namespaces only as root of a user namespace. One is made by
// each shim, or joined where the keeper of the pods' network has made it before.

#include <string>

namespace shim {

struct Identity {
  unsigned uid = 0, gid = 0;
};

// Makes a user namespace in which the caller, and nobody else, is `seen_as`. Only the own ids can
// be mapped without help: every other file of the machine belongs to nobody there.
std::string enter_user_namespace(const Identity& seen_as);
// Joins the one that `descriptor` is open on. Its maker must have been the same user.
std::string join_user_namespace(int descriptor);
// Whether one of the two was done in this process or its parent.
bool in_user_namespace();

}  // namespace shim
